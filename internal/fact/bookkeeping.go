package fact

import (
	"encoding/json"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Facts that only the agent and its stores read.
type (
	// Configured is the configuration of the run, recorded at each prompt. A resumed run
	// continues with it, even if the program's tools and flags have changed.
	Configured struct {
		event.Bookkeeping
		Model       string              `json:"model"`
		Fallbacks   []string            `json:"fallbacks,omitempty"`
		Models      map[string]llm.Info `json:"models,omitempty"` // windows and prices by name
		System      string              `json:"system,omitempty"`
		Tools       []Tool              `json:"tools,omitempty"`
		Mode        permission.Mode     `json:"mode"`
		Dir         string              `json:"dir,omitempty"`   // working directory at the start
		Roots       []string            `json:"roots,omitempty"` // folders that the agent works in
		MaxTokens   int                 `json:"max_tokens,omitempty"`
		Temperature *float64            `json:"temperature,omitempty"`
		ToolChoice  llm.ToolChoice      `json:"tool_choice,omitzero"`
		Stop        []string            `json:"stop,omitempty"` // stop sequences
		Thinking    llm.Thought         `json:"thinking,omitzero"`
		Cache       llm.Cache           `json:"cache,omitzero"`
		Limits      Limits              `json:"limits,omitzero"`
		Small       string              `json:"small,omitempty"`       // model that digests results
		Compaction  *Compaction         `json:"compaction,omitempty"`  // nil: all of it as usual
		Loop        *event.Loop         `json:"loop,omitempty"`        // nil: the defaults
		Retries     int                 `json:"retries"`               // further tries of a failed call
		Parallel    int                 `json:"parallel"`              // read-only calls at a time
		Checkpoints bool                `json:"checkpoints,omitempty"` // files are kept before a prompt changes some
		Hooks       []hook.Event        `json:"hooks,omitempty"`       // events that there are hooks for
		Start       event.Start         `json:"start,omitempty"`       // with the first prompt in a program
		Awaits      bool                `json:"awaits,omitempty"`      // the run does not end while agents work in the background
		Program     string              `json:"program,omitempty"`     // that the host says it is
		Agent       string              `json:"agent,omitempty"`       // the agent's kind, if it works for another
		Output      *Output             `json:"output,omitempty"`      // the schema of the answer; nil: any
		Prompt      *PromptOptions      `json:"prompt,omitempty"`      // options of this prompt alone; nil: none
	}
	// Delivered means that queued messages are now part of the conversation.
	Delivered struct {
		event.Bookkeeping
		IDs []string `json:"ids"`
	}
	// Retracted means that queued messages were taken back before their delivery.
	Retracted struct {
		event.Bookkeeping
		IDs []string `json:"ids"`
	}
	// ModelStart is recorded before a model is called: for the next answer, to digest
	// the result of a call, or to summarise the conversation.
	ModelStart struct {
		event.Bookkeeping
		Key         string        `json:"key"`
		Call        string        `json:"call,omitempty"`     // whose result is digested
		Compacts    event.Trigger `json:"compacts,omitempty"` // the call is for the summary of a compaction
		Model       string        `json:"model"`
		MaxTokens   int           `json:"max_tokens,omitempty"`
		ReservedUSD float64       `json:"reserved_usd,omitempty"` // the most that the call can cost
	}
	// CompactionRequested asks for a compaction of the conversation. It happens before the
	// next model call of the run in progress, else in a run that does nothing else.
	CompactionRequested struct {
		event.Bookkeeping
		ID           string `json:"id"` // the caller's; one that is known is ignored
		Instructions string `json:"instructions,omitempty"`
	}
	// Waited means that the time of a wait has come.
	Waited struct {
		event.Bookkeeping
		Key string `json:"key"`
	}
	// Authorized is the decision of rules, hooks, mode and callback about a call, with the
	// effects that the call is going to have.
	Authorized struct {
		event.Bookkeeping
		Key      string              `json:"key"`
		Call     string              `json:"call"`
		Decision permission.Decision `json:"decision"`
		Class    tool.Traits         `json:"class"`
		Invalid  string              `json:"invalid,omitempty"` // the mistake in the input; no decision was made then
		Stop     string              `json:"stop,omitempty"`    // why a hook stops the run
	}
	// Answered settles a call that had to be asked about. Class is set when the
	// answer changed the input.
	Answered struct {
		event.Bookkeeping
		Key      string              `json:"key"`
		Call     string              `json:"call"`
		Decision permission.Decision `json:"decision"`
		Class    *tool.Traits        `json:"class,omitempty"`
	}
	// Checkpointed means that the files were recorded before the first call of a prompt
	// that may change some, or says why they could not be. Without a key they were recorded
	// before files were rewound.
	Checkpointed struct {
		event.Bookkeeping
		Key      string        `json:"key"`
		Prompt   int64         `json:"prompt"`       // number of the prompt's fact, 0 without a key
		ID       string        `json:"id,omitempty"` // of the checkpoint; "" if there is none
		Error    string        `json:"error,omitempty"`
		Duration time.Duration `json:"duration,omitempty"`
	}
	// ToolDone is the result of a tool that is not final yet: a person must answer a
	// question, the small model digest it, or hooks see it.
	ToolDone struct {
		event.Bookkeeping
		Key      string        `json:"key"`
		Call     string        `json:"call"`
		Cause    event.Cause   `json:"cause,omitempty"`
		Digest   string        `json:"digest,omitempty"` // the question to the small model about it
		Result   tool.Result   `json:"result"`
		Fault    toolrun.Fault `json:"fault,omitempty"` // "timeout", "panic", "invalid_input", "stuck" or "denied": the tool gave no answer
		Duration time.Duration `json:"duration,omitempty"`
	}
	// ToolAmended replaces the result of a tool: by a person's answers, or by the small
	// model's digest, with its cost.
	ToolAmended struct {
		event.Bookkeeping
		Key     string      `json:"key"`
		Call    string      `json:"call"`
		Result  tool.Result `json:"result"`
		Model   string      `json:"model,omitempty"`
		Usage   llm.Usage   `json:"usage,omitzero"`
		CostUSD *float64    `json:"cost_usd,omitempty"`
	}
	// ToolChanged is another tool in the place of the one of its name, from now on.
	ToolChanged struct {
		event.Bookkeeping
		Tool Tool `json:"tool"`
	}
	// ToolsChanged is a new list of tools, with the system prompt that belongs to it: a
	// tool set has changed during the run.
	ToolsChanged struct {
		event.Bookkeeping
		Tools  []Tool `json:"tools"`
		System string `json:"system,omitempty"`
	}
	// FallbacksChanged is another list of fallback models, from the next model call on.
	FallbacksChanged struct {
		event.Bookkeeping
		Fallbacks []string            `json:"fallbacks,omitempty"`
		Models    map[string]llm.Info `json:"models,omitempty"` // of those models, by name
	}
	// BudgetChanged replaces the budget of the run in progress. Past usage counts. If less
	// is left than running agents may use, their limits shrink.
	BudgetChanged struct {
		event.Bookkeeping
		Limits Limits `json:"limits"`
	}
	// CallbackChanged means that from now on another callback, or none, decides about
	// calls. The callback itself cannot be recorded, and it ends with its program.
	CallbackChanged struct {
		event.Bookkeeping
		Set bool `json:"set"` // there is one
	}
	// Stopped means that the run is to end: nothing new is started, every open
	// call still gets its result. With the reason suspended, the answer to a question was
	// deferred, and open calls wait. Cleared are the queued messages that were dropped.
	Stopped struct {
		event.Bookkeeping
		Reason  event.EndReason `json:"reason"`
		Message string          `json:"message,omitempty"`
		Cleared []string        `json:"cleared,omitempty"`
	}
	// Hooked holds the answers of the hooks of an event. Those about a call are in the
	// facts of the call.
	Hooked struct {
		event.Bookkeeping
		Key     string     `json:"key"`
		Event   hook.Event `json:"event"`
		Message string     `json:"message,omitempty"` // id of the user message, with UserPromptSubmit
		Block   string     `json:"block,omitempty"`   // why the message is kept away, or the run continues
		Stop    string     `json:"stop,omitempty"`    // why the run is stopped
		// Instructions, with PreCompact, are for the summary.
		Instructions string `json:"instructions,omitempty"`
	}
	// OutputChecked says whether an answer satisfies the schema of the prompt.
	OutputChecked struct {
		event.Bookkeeping
		Key     string          `json:"key"`
		Call    string          `json:"call,omitempty"`    // that holds the answer; "": it is the text
		Output  json.RawMessage `json:"output,omitempty"`  // it does; this is it
		Problem string          `json:"problem,omitempty"` // it does not, in the words of the model
		Found   bool            `json:"found,omitempty"`   // the output stood among other words
	}
	// AgentSuspended says that an agent waits for a decision that was deferred. The call
	// that waits for the agent is made again when the run is resumed.
	AgentSuspended struct {
		event.Bookkeeping
		Key     string `json:"key"` // of its piece of work
		Call    string `json:"call"`
		Session string `json:"session"`
		Agent   string `json:"agent"`
	}
)

// A Tool holds the run's data about a tool.
type Tool struct {
	llm.Tool
	Aliases    []string `json:"aliases,omitempty"`
	Replaces   []string `json:"replaces,omitempty"` // tools in whose place it is offered
	ReadOnly   bool     `json:"read_only,omitempty"`
	Deferred   bool     `json:"deferred,omitempty"`
	Idempotent bool     `json:"idempotent,omitempty"`
	Barrier    bool     `json:"barrier,omitempty"`
	Batch      bool     `json:"batch,omitempty"`
	State      string   `json:"state,omitempty"`
}

// Output is the schema that the answer to a prompt must fit.
type Output struct {
	Schema      json.RawMessage `json:"schema"`                // of type object
	Corrections int             `json:"corrections,omitempty"` // that the model may make
	Tool        bool            `json:"tool,omitempty"`        // the schema has no form that every provider takes: by a tool
}

// PromptOptions are the options of one prompt alone. They do not hold for the next one.
type PromptOptions struct {
	Model  string `json:"model,omitempty"` // as the caller named it; "": the agent's
	Limits Limits `json:"limits,omitzero"` // as asked for; those in force are in Configured
	// Tools are lists of names. The prompt has only tools that are in each of them. There is
	// more than one list if an agent works for another one whose prompt has a list.
	Tools [][]string `json:"tools,omitempty"`
	// Mode is the prompt's permission mode; "" is that of the session. SessionMode, with
	// Mode, is the mode of later prompts.
	Mode        permission.Mode `json:"mode,omitempty"`
	SessionMode permission.Mode `json:"session_mode,omitempty"`
}

// Limits bound one prompt. Zero means no limit.
type Limits struct {
	Turns      int           `json:"turns,omitempty"`     // of the run and all agents below it
	OwnTurns   int           `json:"own_turns,omitempty"` // of the run alone: for an agent below another
	ModelCalls int           `json:"model_calls,omitempty"`
	USD        float64       `json:"usd,omitempty"`
	Time       time.Duration `json:"time,omitempty"`
}

// Compaction says when and how a conversation is made shorter. Zero fields are the
// defaults.
type Compaction struct {
	Off     bool    `json:"off,omitempty"`     // only by hand
	At      float64 `json:"at,omitempty"`      // share of the window from which on, if that is earlier
	Reserve int     `json:"reserve,omitempty"` // tokens of the window to keep free
	Keep    int     `json:"keep,omitempty"`    // tokens at the end that a summary leaves
	Protect int     `json:"protect,omitempty"` // newest tokens of results that are not cleared
	Model   string  `json:"model,omitempty"`   // that writes summaries; "": the one in use
}

// Package event defines everything that happens in a session. Facts are recorded: a
// session is its list of facts, and replaying them restores it exactly. Signals are only
// shown: losing one loses nothing.
//
//	for e, err := range a.Stream(ctx, "Why does the build fail?") {
//		switch d := e.Data.(type) {
//		case event.TextDelta: // a signal
//			fmt.Print(d.Text)
//		case event.RunEnd: // a fact
//			fmt.Println(d.Reason)
//		}
//	}
package event

import (
	"encoding/json"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An Event is one thing that happened.
type Event struct {
	Seq     int64     // position in the session, from 1; 0 for signals
	Prev    int64     // the fact that this one follows; 0 for the first and for signals
	Time    time.Time // UTC
	Session string    // the session that it happened in
	Data    Data
	// Call is the call that the event is about, in a stream of a running prompt. It is nil if
	// the event is about none, or was read from a store. It is not part of the JSON.
	Call *Call
}

// A Call is a call of a tool, for the reader of a stream.
type Call struct {
	Tool  string          // name of the tool
	ID    string          // the provider's id of the call
	Input json.RawMessage // the input that the tool runs with; do not change it
}

// Data is a [Fact] or a [Signal].
type Data interface{ data() }

// A Fact changes the state of a session. It is recorded before it is
// shown and before anything is done about it.
type Fact interface {
	Data
	fact()
}

// A Signal reports progress. It is shown and forgotten.
type Signal interface {
	Data
	signal()
}

// A Delivery says when a [UserMessage] reaches the model.
type Delivery string

const (
	AsPrompt   Delivery = "prompt"    // starts a run
	AsSteer    Delivery = "steer"     // after the current batch of tools
	AsFollowUp Delivery = "follow_up" // when the run would stop
	AsNotice   Delivery = "notice"    // written by the program: a background command ended; like a steer
	AsHook     Delivery = "hook"      // context that a hook has added; like a steer
	AsContext  Delivery = "context"   // a note to the agent about the place it works in; like a steer, and before a prompt
	AsContinue Delivery = "continue"  // written by the engine: the answer was cut at max_tokens, or a Stop hook makes the run go on
)

// A Start says how a session began in the program that uses it.
type Start string

const (
	StartNew    Start = "startup" // it is new
	StartResume Start = "resume"  // it was there before
	StartFork   Start = "fork"    // it shares the past of another one
)

// An EndReason says why a run ended.
type EndReason string

const (
	Completed       EndReason = "completed"
	ToolEnded       EndReason = "tool_ended" // a tool's result ended the run
	MaxTokens       EndReason = "max_tokens" // the answer was still cut off after three continuations
	MaxTurns        EndReason = "max_turns"  //
	MaxModelCalls   EndReason = "max_model_calls"
	MaxBudget       EndReason = "max_budget" // the next call would not fit the USD left
	TimedOut        EndReason = "timeout"    // the wall time of the budget
	Interrupted     EndReason = "interrupted"
	Refused         EndReason = "refused" // by the model
	HookStopped     EndReason = "hook_stopped"
	DoomLoop        EndReason = "doom_loop" // the same call again and again
	ContextOverflow EndReason = "context_overflow"
	ModelError      EndReason = "model_error"
	OutputInvalid   EndReason = "output_invalid" // the answer does not satisfy the prompt's schema
	Suspended       EndReason = "suspended"      // a permission question was deferred; Resume continues
	Internal        EndReason = "internal"       // a fault of the program, such as a panic
)

// Facts.
type (
	// Configured is the configuration of the run, recorded at each prompt. A resumed run
	// continues with it, even if the program's tools and flags have changed.
	Configured struct {
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
		Loop        *Loop               `json:"loop,omitempty"`        // nil: the defaults
		Retries     int                 `json:"retries"`               // further tries of a failed call
		Parallel    int                 `json:"parallel"`              // read-only calls at a time
		Checkpoints bool                `json:"checkpoints,omitempty"` // files are kept before a prompt changes some
		Hooks       []hook.Event        `json:"hooks,omitempty"`       // events that there are hooks for
		Start       Start               `json:"start,omitempty"`       // with the first prompt in a program
		Awaits      bool                `json:"awaits,omitempty"`      // the run does not end while agents work in the background
		Program     string              `json:"program,omitempty"`     // that the host says it is
		Agent       string              `json:"agent,omitempty"`       // the agent's kind, if it works for another
		Output      *Output             `json:"output,omitempty"`      // the schema of the answer; nil: any
		Prompt      *PromptOptions      `json:"prompt,omitempty"`      // options of this prompt alone; nil: none
	}
	// UserMessage is a message from the user (or, as a notice or continuation,
	// from the program). ID is the caller's; a prompt with a known ID is ignored.
	UserMessage struct {
		ID       string      `json:"id"`
		Delivery Delivery    `json:"delivery"`
		Message  llm.Message `json:"message"`
		// Expansion, of a prompt, is the command that the message was made of.
		Expansion *tool.Expansion `json:"expansion,omitempty"`
		// Instructions are the files that context is made of.
		Instructions []Instructions `json:"instructions,omitempty"`
	}
	// Delivered means that queued messages are now part of the conversation.
	Delivered struct {
		IDs []string `json:"ids"`
	}
	// ModelStart is recorded before a model is called: for the next answer, to digest
	// the result of a call, or to summarise the conversation.
	ModelStart struct {
		Key         string  `json:"key"`
		Call        string  `json:"call,omitempty"`     // whose result is digested
		Compacts    Trigger `json:"compacts,omitempty"` // the call is for the summary of a compaction
		Model       string  `json:"model"`
		MaxTokens   int     `json:"max_tokens,omitempty"`
		ReservedUSD float64 `json:"reserved_usd,omitempty"` // the most that the call can cost
	}
	// AssistantMessage is a complete answer of the model.
	AssistantMessage struct {
		Key      string        `json:"key"`
		Model    string        `json:"model"` // as configured; Response.Model is as answered
		Response llm.Response  `json:"response"`
		CostUSD  *float64      `json:"cost_usd"` // nil: the price is not known
		Duration time.Duration `json:"duration,omitempty"`
		First    time.Duration `json:"first,omitempty"` // time to the first delta
	}
	// ModelFailed means that a call to a model came to nothing. Text that was
	// streamed by it is withdrawn.
	ModelFailed struct {
		Key       string        `json:"key"`
		Model     string        `json:"model"`
		Class     llm.Class     `json:"class"`
		Status    int           `json:"status,omitempty"`
		Message   string        `json:"message"`
		RequestID string        `json:"request_id,omitempty"`
		Partial   string        `json:"partial,omitempty"` // text that was already shown
		Usage     llm.Usage     `json:"usage,omitzero"`    // estimated, when something had been streamed
		CostUSD   *float64      `json:"cost_usd"`
		Retry     bool          `json:"retry,omitempty"`   // the same call may succeed later,
		RetryAt   time.Time     `json:"retry_at,omitzero"` // from this time on
		Duration  time.Duration `json:"duration,omitempty"`
	}
	// CompactionRequested asks for a compaction of the conversation. It happens before the
	// next model call of the run in progress, else in a run that does nothing else.
	CompactionRequested struct {
		ID           string `json:"id"` // the caller's; one that is known is ignored
		Instructions string `json:"instructions,omitempty"`
	}
	// Compacted makes the conversation shorter from now on, in one step: old results of
	// tools are cleared, or a summary replaces the messages before it. The journal keeps
	// all of them.
	Compacted struct {
		Key          string  `json:"key"`
		Trigger      Trigger `json:"trigger"`
		Instructions string  `json:"instructions,omitempty"` // for the summary, with Manual
		Failed       string  `json:"failed,omitempty"`       // why nothing has changed
		// Before and After are the tokens of a request: Before by the provider's count, as far
		// as there is one, After estimated in the same measure.
		Before  int       `json:"before"`
		After   int       `json:"after"`
		Cleared []Cleared `json:"cleared,omitempty"`
		// TooLarge names the message that did not fit and that the run ends for. It is one
		// of the cleared messages.
		TooLarge string `json:"too_large,omitempty"`
		// Until is the number of the fact up to which messages are replaced; 0 without a
		// summary. Kept are the earlier facts whose messages stay: the user's present
		// requests and notes about the place.
		Until   int64   `json:"until,omitempty"`
		Kept    []int64 `json:"kept,omitempty"`
		Summary string  `json:"summary,omitempty"`
		Cut     bool    `json:"cut,omitempty"` // the summary was cut off at max_tokens
		// Memory are decisions, constraints and preferences, those of earlier compactions
		// included. Notes say how things stand: the list of steps, files, skills.
		Memory   []string      `json:"memory,omitempty"`
		Notes    string        `json:"notes,omitempty"`
		Model    string        `json:"model,omitempty"` // that has written the summary
		Usage    llm.Usage     `json:"usage,omitzero"`
		CostUSD  *float64      `json:"cost_usd,omitempty"`
		Duration time.Duration `json:"duration,omitempty"`
	}
	// Waited means that the time of a wait has come.
	Waited struct {
		Key string `json:"key"`
	}
	// Authorized is the decision of rules, hooks, mode and callback about a call, with the
	// effects that the call is going to have.
	Authorized struct {
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
		Key      string              `json:"key"`
		Call     string              `json:"call"`
		Decision permission.Decision `json:"decision"`
		Class    *tool.Traits        `json:"class,omitempty"`
	}
	// ToolStart is recorded before a tool runs, so that a resumed run knows
	// which calls may have had an effect already.
	ToolStart struct {
		Key  string          `json:"key"`
		Call string          `json:"call"`
		Mode permission.Mode `json:"mode,omitempty"`
		Dir  string          `json:"dir,omitempty"`
	}
	// Checkpointed means that the files were recorded before the first call of a prompt
	// that may change some, or says why they could not be. Without a key they were recorded
	// before files were rewound.
	Checkpointed struct {
		Key      string        `json:"key"`
		Prompt   int64         `json:"prompt"`       // number of the prompt's fact, 0 without a key
		ID       string        `json:"id,omitempty"` // of the checkpoint; "" if there is none
		Error    string        `json:"error,omitempty"`
		Duration time.Duration `json:"duration,omitempty"`
	}
	// ToolDone is the result of a tool that is not final yet: a person must answer a
	// question, the small model digest it, or hooks see it.
	ToolDone struct {
		Key      string        `json:"key"`
		Call     string        `json:"call"`
		Cause    Cause         `json:"cause,omitempty"`
		Digest   string        `json:"digest,omitempty"` // the question to the small model about it
		Result   tool.Result   `json:"result"`
		Fault    toolrun.Fault `json:"fault,omitempty"` // "timeout", "panic", "invalid_input", "stuck" or "denied": the tool gave no answer
		Duration time.Duration `json:"duration,omitempty"`
	}
	// ToolAmended replaces the result of a tool: by a person's answers, or by the small
	// model's digest, with its cost.
	ToolAmended struct {
		Key     string      `json:"key"`
		Call    string      `json:"call"`
		Result  tool.Result `json:"result"`
		Model   string      `json:"model,omitempty"`
		Usage   llm.Usage   `json:"usage,omitzero"`
		CostUSD *float64    `json:"cost_usd,omitempty"`
	}
	// ToolResult is the one result of a call that the model sees.
	ToolResult struct {
		Key      string        `json:"key"`
		Call     string        `json:"call"`
		Cause    Cause         `json:"cause,omitempty"`
		Result   tool.Result   `json:"result"`
		Fault    toolrun.Fault `json:"fault,omitempty"` // "timeout", "panic", "invalid_input", "stuck" or "denied": the tool gave no answer
		Duration time.Duration `json:"duration,omitempty"`
		Stop     string        `json:"stop,omitempty"` // why a hook stops the run
	}
	// ToolChanged is another tool in the place of the one of its name, from now on.
	ToolChanged struct {
		Tool Tool `json:"tool"`
	}
	// ToolsChanged is a new list of tools, with the system prompt that belongs to it: a
	// tool set has changed during the run.
	ToolsChanged struct {
		Tools  []Tool `json:"tools"`
		System string `json:"system,omitempty"`
	}
	// ModeChanged is a new permission mode, from now on.
	ModeChanged struct {
		Mode permission.Mode `json:"mode"`
		// Lasts: it is the mode of later prompts as well, although the prompt has a mode of
		// its own.
		Lasts bool `json:"lasts,omitempty"`
	}
	// ModelChanged is a new model or thinking budget, from the next model call on.
	ModelChanged struct {
		Model     string      `json:"model"`
		Info      llm.Info    `json:"info,omitzero"`
		Thinking  llm.Thought `json:"thinking,omitzero"`
		MaxTokens int         `json:"max_tokens,omitempty"` // of an answer, from now on; 0: as before
	}
	// FallbacksChanged is another list of fallback models, from the next model call on.
	FallbacksChanged struct {
		Fallbacks []string            `json:"fallbacks,omitempty"`
		Models    map[string]llm.Info `json:"models,omitempty"` // of those models, by name
	}
	// BudgetChanged replaces the budget of the run in progress. Past usage counts. If less
	// is left than running agents may use, their limits shrink.
	BudgetChanged struct {
		Limits Limits `json:"limits"`
	}
	// CallbackChanged means that from now on another callback, or none, decides about
	// calls. The callback itself cannot be recorded, and it ends with its program.
	CallbackChanged struct {
		Set bool `json:"set"` // there is one
	}
	// Stopped means that the run is to end: nothing new is started, every open
	// call still gets its result. Cleared are the queued messages that were dropped.
	Stopped struct {
		Reason  EndReason `json:"reason"`
		Message string    `json:"message,omitempty"`
		Cleared []string  `json:"cleared,omitempty"`
	}
	// Rewound means that the conversation continues from an earlier fact: this fact's Prev.
	// The facts between stay on record and no longer count.
	Rewound struct{}
	// SessionNamed is the new title of the session for people, "" for none. It changes
	// nothing for the model.
	SessionNamed struct {
		Title string `json:"title,omitempty"`
		Tag   string `json:"tag,omitempty"`
	}
	// Resumed means that a run continues: after a crash, or after it was suspended.
	Resumed struct {
		Hooks []hook.Event `json:"hooks,omitempty"` // events that there are hooks for now
		Start Start        `json:"start,omitempty"` // with the first run in a program
	}
	// Hooked holds the answers of the hooks of an event. Those about a call are in the
	// facts of the call.
	Hooked struct {
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
		Key     string          `json:"key"`
		Call    string          `json:"call,omitempty"`    // that holds the answer; "": it is the text
		Output  json.RawMessage `json:"output,omitempty"`  // it does; this is it
		Problem string          `json:"problem,omitempty"` // it does not, in the words of the model
		Found   bool            `json:"found,omitempty"`   // the output stood among other words
	}
	// PermissionsChanged adds rules to the agent's, or takes added ones away, for the rest
	// of the session.
	PermissionsChanged struct {
		Updates []hook.Update `json:"updates"`
	}
	// AgentStart is recorded before an agent is started under the run: by a call,
	// or again by a message. Its share of the budget is reserved.
	AgentStart struct {
		Key         string  `json:"key"`     // of this piece of work
		Call        string  `json:"call"`    // the call that has started the agent
		Session     string  `json:"session"` // the agent's own
		Agent       string  `json:"agent"`   // its name
		Background  bool    `json:"background,omitempty"`
		ReservedUSD float64 `json:"reserved_usd,omitempty"`
		ModelCalls  int     `json:"model_calls,omitempty"` // that it may make; 0: any number
		Turns       int     `json:"turns,omitempty"`       // that it may have; 0: any number
	}
	// AgentSuspended says that an agent waits for a decision that was deferred. The call
	// that waits for the agent is made again when the run is resumed.
	AgentSuspended struct {
		Key     string `json:"key"` // of its piece of work
		Call    string `json:"call"`
		Session string `json:"session"`
		Agent   string `json:"agent"`
	}
	// AgentEnd is the result of an agent's work: the end of its run, or that the program
	// died if no end is on record.
	AgentEnd struct {
		Key        string              `json:"key"`
		Session    string              `json:"session"`
		Agent      string              `json:"agent"`
		Reason     EndReason           `json:"reason"`
		Message    string              `json:"message,omitempty"` // the error
		Turns      int                 `json:"turns,omitempty"`
		AgentTurns int                 `json:"agent_turns,omitempty"` // of agents below it
		ModelCalls int                 `json:"model_calls,omitempty"`
		Usage      llm.Usage           `json:"usage,omitzero"`
		CostUSD    *float64            `json:"cost_usd"` // nil: a price is not known
		LostUSD    float64             `json:"lost_usd,omitempty"`
		Models     map[string]Spending `json:"models,omitempty"`
		Duration   time.Duration       `json:"duration,omitempty"`
	}
	// RunEnd is the end of a run, always its last fact.
	RunEnd struct {
		Reason  EndReason `json:"reason"`
		Message string    `json:"message,omitempty"` // the error, in words
		Class   llm.Class `json:"class,omitempty"`   // with ModelError, ContextOverflow
		Status  int       `json:"status,omitempty"`  // HTTP status, with Class
		// RequestID is the provider's id of the request that failed, with Class.
		RequestID string          `json:"request_id,omitempty"`
		Text      string          `json:"text,omitempty"`    // the final text, all parts of it
		Output    json.RawMessage `json:"output,omitempty"`  // the answer to a prompt with a schema, which it satisfies
		Partial   string          `json:"partial,omitempty"` // text of an answer that was broken off
		Turns     int             `json:"turns"`
		// AgentTurns are the turns of agents below the run, which count to its limit.
		AgentTurns int                 `json:"agent_turns,omitempty"`
		Usage      llm.Usage           `json:"usage"`
		CostUSD    *float64            `json:"cost_usd"`         // nil: a price is not known
		Models     map[string]Spending `json:"models,omitempty"` // sub-agents of the run included
		Agents     map[string]Spending `json:"agents,omitempty"` // usage of the run's sub-agents, by name
		// LostUSD is the most that calls which were cut short can have cost beyond CostUSD.
		LostUSD    float64            `json:"lost_usd,omitempty"`
		ModelCalls int                `json:"model_calls,omitempty"`
		Denials    []Denial           `json:"denials,omitempty"`
		Queued     []string           `json:"queued,omitempty"` // messages that wait for the next prompt
		Tools      map[string]ToolUse `json:"tools,omitempty"`  // calls of tools, by name
		// Duration is the wall time of the run, without the time for which it was suspended
		// or had no program. API is the part of it spent in model calls.
		Duration time.Duration `json:"duration"`
		API      time.Duration `json:"api,omitempty"`
		First    time.Duration `json:"first,omitempty"` // from the prompt to the first delta
	}
)

// A Cause says where a [ToolResult] comes from.
type Cause string

const (
	ByTool      Cause = ""             // the tool ran
	ByDenial    Cause = "denied"       // permission was refused
	ByCancel    Cause = "cancelled"    // the run was stopped: while the call ran, or before it
	ByCrash     Cause = "unknown"      // the program died while the call ran; whether it took effect is not known
	ByAbsence   Cause = "unknown_tool" // there is no such tool
	ByTruncated Cause = "cut_off"      // the model's answer ended inside the call
)

// Instructions is a file of instructions that the model was told, in the words of the
// hooks of InstructionsLoaded.
type Instructions struct {
	File   string `json:"file"`
	Type   string `json:"type"`   // User, Project or Local
	Reason string `json:"reason"` // session_start, nested_traversal or include
}

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

// A Trigger says why a conversation is compacted.
type Trigger string

const (
	Auto     Trigger = "auto"     // it comes near the end of the context window
	Manual   Trigger = "manual"   // a user or a program asked for it
	Overflow Trigger = "overflow" // the provider finds it too long
)

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

// A Loop says when the loop guard asks a person about a call of a tool, because the model
// goes round in circles. If nobody can be asked, the run ends. The zero Loop has the
// defaults. Times and durations in results do not count as differences.
type Loop struct {
	Off bool `json:"off,omitempty"` // no call is asked about
	// Repeats is in how many answers in a row a call may have the same result. A further
	// call is asked about. A call with another result counts from one again. 0: 2.
	Repeats int `json:"repeats,omitempty"`
	// Failures is how often a call may fail in the same way before the tool succeeds again,
	// also with other calls in between. A failure is a timeout, a panic, an invalid input or
	// a denial, not an error that the tool reports itself. 0: 3.
	Failures int `json:"failures,omitempty"`
}

// A Cleared result of a call, or message, is no longer sent to the model, or only in part.
type Cleared struct {
	Call  string `json:"call,omitempty"`
	File  string `json:"file,omitempty"`  // holds the whole of it
	Fact  int64  `json:"fact,omitempty"`  // without a call: by which the message came into the conversation
	Index int    `json:"index,omitempty"` // among the messages of that fact
	Keep  int    `json:"keep,omitempty"`  // bytes that stay, of the beginning and the end of its text; 0: none
}

// Spending is the usage of one model in a run.
type Spending struct {
	Usage   llm.Usage `json:"usage"`
	CostUSD *float64  `json:"cost_usd"` // nil: the price is not known
}

// ToolUse counts the calls of a tool that ran.
type ToolUse struct {
	Calls    int           `json:"calls"`
	Failures int           `json:"failures,omitempty"`
	Time     time.Duration `json:"time"`
}

// A Denial is a call that was refused.
type Denial struct {
	Call   string            `json:"call"`
	ToolID string            `json:"tool_id"` // the provider's id of the call
	Tool   string            `json:"tool"`
	Reason string            `json:"reason"`
	Rule   string            `json:"rule,omitempty"`
	Origin string            `json:"origin,omitempty"` // where the rule was written
	Source permission.Source `json:"source,omitempty"`
	By     string            `json:"by,omitempty"`     // who refused it, if the decision says so
	Nobody bool              `json:"nobody,omitempty"` // a question was due, but no person was there
}

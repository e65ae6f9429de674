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
	Data    Data      // what happened: one of the types of this package
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

// Bookkeeping is in each fact that only the agent and its stores read. A program that meets
// such a fact ignores it, see [Event.IsBookkeeping].
type Bookkeeping struct{}

func (Bookkeeping) bookkeeping() {}

// IsBookkeeping reports whether e is a fact that only the agent and its stores read, or
// such a fact of a sub-agent. Those facts hold the system prompt, prices and reservations:
// do not send them to users. What remains still names folders, costs and models.
func (e Event) IsBookkeeping() bool {
	if a, ok := e.Data.(AgentEvent); ok && a.Event != nil {
		return a.Event.IsBookkeeping()
	}
	_, is := e.Data.(interface{ bookkeeping() })
	return is
}

// A Signal reports progress. It is shown and forgotten.
type Signal interface {
	Data
	signal()
}

// A Delivery says when a [UserMessage] reaches the model:
//
//   - "prompt": it starts a run
//   - "steer": after the current batch of tools
//   - "follow_up": when the run would stop
//   - "notice": like "steer"; the program has written it, because a background command ended
//   - "hook": like "steer"; a hook has added it
//   - "context": before a prompt, or like "steer"; it describes the place that the agent works in
//   - "continue": the engine has written it, because the answer was cut at max_tokens or a Stop hook
//     makes the run continue
type Delivery string

// A Start says how a session began in the program that uses it:
//
//   - "startup": it is new
//   - "resume": it was there before
//   - "fork": it shares the past of another one
type Start string

// An EndReason says why a run ended.
type EndReason string

const (
	Completed       EndReason = "completed"        // the model has given its answer
	ToolEnded       EndReason = "tool_ended"       // a tool's result ended the run
	MaxTokens       EndReason = "max_tokens"       // the answer was still cut off after three continuations
	MaxTurns        EndReason = "max_turns"        //
	MaxModelCalls   EndReason = "max_model_calls"  // Budget.ModelCalls is used up
	MaxBudget       EndReason = "max_budget"       // the next call would not fit the USD left
	TimedOut        EndReason = "timeout"          // the wall time of the budget
	Interrupted     EndReason = "interrupted"      // the program or a person ended the run
	Refused         EndReason = "refused"          // by the model
	HookStopped     EndReason = "hook_stopped"     // a hook ended the run
	DoomLoop        EndReason = "doom_loop"        // the same call again and again
	ContextOverflow EndReason = "context_overflow" // the conversation does not fit into the model's window
	ModelError      EndReason = "model_error"      // the model cannot be reached or failed
	OutputInvalid   EndReason = "output_invalid"   // the answer does not satisfy the prompt's schema
	Suspended       EndReason = "suspended"        // a permission question was deferred; Resume continues
	Internal        EndReason = "internal"         // a fault of the program, such as a panic
)

// Facts.
type (
	// UserMessage is a message from the user (or, as a notice or continuation,
	// from the program). ID is the caller's; a prompt with a known ID is ignored.
	UserMessage struct {
		ID       string      `json:"id"`
		Delivery Delivery    `json:"delivery"` // how it came into the conversation
		Message  llm.Message `json:"message"`  // as the model gets it
		// Expansion, of a prompt, is the command that the message was made of.
		Expansion *tool.Expansion `json:"expansion,omitempty"`
		// Instructions are the files that context is made of.
		Instructions []Instructions `json:"instructions,omitempty"`
	}
	// AssistantMessage is a complete answer of the model.
	AssistantMessage struct {
		Key      string        `json:"key"`   // of the model call
		Model    string        `json:"model"` // as configured; Response.Model is as answered
		Response llm.Response  `json:"response"`
		CostUSD  *float64      `json:"cost_usd"`           // nil: the price is not known
		Duration time.Duration `json:"duration,omitempty"` // of the model call
		First    time.Duration `json:"first,omitempty"`    // time to the first delta
	}
	// ModelFailed means that a call to a model came to nothing. Text that was
	// streamed by it is withdrawn.
	ModelFailed struct {
		Key       string        `json:"key"`                  // of the model call
		Model     string        `json:"model"`                // its name
		Class     llm.Class     `json:"class"`                // what went wrong
		Status    int           `json:"status,omitempty"`     // of HTTP; 0: none
		Message   string        `json:"message"`              // in words
		RequestID string        `json:"request_id,omitempty"` // the provider's name of the request
		Partial   string        `json:"partial,omitempty"`    // text that was already shown
		Usage     llm.Usage     `json:"usage,omitzero"`       // estimated, when something had been streamed
		CostUSD   *float64      `json:"cost_usd"`             // of what was streamed; nil: not known
		Retry     bool          `json:"retry,omitempty"`      // the same call may succeed later,
		RetryAt   time.Time     `json:"retry_at,omitzero"`    // from this time on
		Duration  time.Duration `json:"duration,omitempty"`   // of the attempt
	}
	// Compacted makes the conversation shorter from now on, in one step: old results of
	// tools are cleared, or a summary replaces the messages before it. The journal keeps
	// all of them.
	Compacted struct {
		Key          string  `json:"key"`                    // of the effect
		Trigger      Trigger `json:"trigger"`                // what caused it
		Instructions string  `json:"instructions,omitempty"` // for the summary, with Manual
		Failed       string  `json:"failed,omitempty"`       // why nothing has changed
		// Before and After are the tokens of a request: Before by the provider's count, as far
		// as there is one, After estimated in the same measure.
		Before  int       `json:"before"`
		After   int       `json:"after"`
		Cleared []Cleared `json:"cleared,omitempty"` // results that were cut or removed
		// TooLarge names the message that did not fit and that the run ends for. It is one
		// of the cleared messages.
		TooLarge string `json:"too_large,omitempty"`
		// Until is the number of the fact up to which messages are replaced; 0 without a
		// summary. Kept are the earlier facts whose messages stay: the user's present
		// requests and notes about the place.
		Until   int64   `json:"until,omitempty"`
		Kept    []int64 `json:"kept,omitempty"`
		Summary string  `json:"summary,omitempty"` // takes the place of the older messages
		Cut     bool    `json:"cut,omitempty"`     // the summary was cut off at max_tokens
		// Memory are decisions, constraints and preferences, those of earlier compactions
		// included. Notes say how things stand: the list of steps, files, skills.
		Memory   []string      `json:"memory,omitempty"`
		Notes    string        `json:"notes,omitempty"`
		Model    string        `json:"model,omitempty"`    // that has written the summary
		Usage    llm.Usage     `json:"usage,omitzero"`     // tokens of the summary
		CostUSD  *float64      `json:"cost_usd,omitempty"` // of the summary; nil: its price is not known
		Duration time.Duration `json:"duration,omitempty"` // of the whole
	}
	// ToolStart is recorded before a tool runs, so that a resumed run knows
	// which calls may have had an effect already.
	ToolStart struct {
		Key  string          `json:"key"`            // of the effect
		Call string          `json:"call"`           // its id
		Mode permission.Mode `json:"mode,omitempty"` // the permission mode in force
		Dir  string          `json:"dir,omitempty"`  // the working folder
	}
	// ToolResult is the one result of a call that the model sees.
	ToolResult struct {
		Key      string        `json:"key"`                // of the effect
		Call     string        `json:"call"`               // its id
		Cause    Cause         `json:"cause,omitempty"`    // why there is a result; "": the tool returned it
		Result   tool.Result   `json:"result"`             // what the model gets
		Fault    string        `json:"fault,omitempty"`    // "timeout", "panic", "invalid_input", "stuck" or "denied": the tool gave no answer
		Duration time.Duration `json:"duration,omitempty"` // of the call
		Stop     string        `json:"stop,omitempty"`     // why a hook stops the run
	}
	// ModeChanged is a new permission mode, from now on.
	ModeChanged struct {
		Mode permission.Mode `json:"mode"` // in force from now on
		// Lasts: it is the mode of later prompts as well, although the prompt has a mode of
		// its own.
		Lasts bool `json:"lasts,omitempty"`
	}
	// ModelChanged is a new model or thinking budget, from the next model call on.
	ModelChanged struct {
		Model     string      `json:"model"`                // its name
		Info      llm.Info    `json:"info,omitzero"`        // of the new model
		Thinking  llm.Thought `json:"thinking,omitzero"`    // in force from now on
		MaxTokens int         `json:"max_tokens,omitempty"` // of an answer, from now on; 0: as before
	}
	// Rewound means that the conversation continues from an earlier fact: this fact's Prev.
	// The facts between stay on record and no longer count.
	Rewound struct{}
	// SessionNamed is the new title of the session for people, "" for none. It changes
	// nothing for the model.
	SessionNamed struct {
		Title string `json:"title,omitempty"` // "": no change
		Tag   string `json:"tag,omitempty"`   // "": no change
	}
	// Resumed means that a run continues: after a crash, or after it was suspended.
	Resumed struct {
		Hooks []hook.Event `json:"hooks,omitempty"` // events that there are hooks for now
		Start Start        `json:"start,omitempty"` // with the first run in a program
	}
	// PermissionsChanged adds rules to the agent's, or takes added ones away, for the rest
	// of the session.
	PermissionsChanged struct {
		Updates []hook.Update `json:"updates"` // in order
	}
	// AgentStart is recorded before an agent is started under the run: by a call,
	// or again by a message. Its share of the budget is reserved.
	AgentStart struct {
		Key         string  `json:"key"`                    // of this piece of work
		Call        string  `json:"call"`                   // the call that has started the agent
		Session     string  `json:"session"`                // the agent's own
		Agent       string  `json:"agent"`                  // its name
		Background  bool    `json:"background,omitempty"`   // the caller does not wait for it
		ReservedUSD float64 `json:"reserved_usd,omitempty"` // the part of the budget that is kept for it
		ModelCalls  int     `json:"model_calls,omitempty"`  // that it may make; 0: any number
		Turns       int     `json:"turns,omitempty"`        // that it may have; 0: any number
	}
	// AgentEnd is the result of an agent's work: the end of its run, or that the program
	// died if no end is on record.
	AgentEnd struct {
		Key        string              `json:"key"`                   // of the effect that ran the agent
		Session    string              `json:"session"`               // the agent's own session
		Agent      string              `json:"agent"`                 // its name
		Reason     EndReason           `json:"reason"`                // why its run ended
		Message    string              `json:"message,omitempty"`     // the error
		Turns      int                 `json:"turns,omitempty"`       // of its run
		AgentTurns int                 `json:"agent_turns,omitempty"` // of agents below it
		ModelCalls int                 `json:"model_calls,omitempty"` // of its run, those that failed included
		Usage      llm.Usage           `json:"usage,omitzero"`        // the tokens of its run
		CostUSD    *float64            `json:"cost_usd"`              // nil: a price is not known
		LostUSD    float64             `json:"lost_usd,omitempty"`    // what calls that broke off may have cost at most
		Models     map[string]Spending `json:"models,omitempty"`      // the spending by name of the model
		Duration   time.Duration       `json:"duration,omitempty"`    // from its start
	}
	// RunEnd is the end of a run and its last fact. A run that ended as [Suspended] may be
	// resumed: it continues with [Resumed], and its next RunEnd is about all of it.
	RunEnd struct {
		Reason  EndReason `json:"reason"`            // why the run ended
		Message string    `json:"message,omitempty"` // the error, in words
		Class   llm.Class `json:"class,omitempty"`   // with ModelError, ContextOverflow
		Status  int       `json:"status,omitempty"`  // HTTP status, with Class
		// RequestID is the provider's id of the request that failed, with Class.
		RequestID string          `json:"request_id,omitempty"`
		Text      string          `json:"text,omitempty"`    // the final text, all parts of it
		Output    json.RawMessage `json:"output,omitempty"`  // the answer to a prompt with a schema, which it satisfies
		Partial   string          `json:"partial,omitempty"` // text of an answer that was broken off
		Turns     int             `json:"turns"`             // answers of the model
		// AgentTurns are the turns of agents below the run, which count to its limit.
		AgentTurns int                 `json:"agent_turns,omitempty"`
		Usage      llm.Usage           `json:"usage"`            // tokens, those of sub-agents included
		CostUSD    *float64            `json:"cost_usd"`         // nil: a price is not known
		Models     map[string]Spending `json:"models,omitempty"` // sub-agents of the run included
		Agents     map[string]Spending `json:"agents,omitempty"` // usage of the run's sub-agents, by name
		// LostUSD is the most that calls which were cut short can have cost beyond CostUSD.
		LostUSD    float64            `json:"lost_usd,omitempty"`
		ModelCalls int                `json:"model_calls,omitempty"` // those that failed and those of sub-agents included
		Denials    []Denial           `json:"denials,omitempty"`     // calls that were not allowed
		Queued     []string           `json:"queued,omitempty"`      // messages that wait for the next prompt
		Tools      map[string]ToolUse `json:"tools,omitempty"`       // calls of tools, by name
		// Duration is the wall time of the run, without the time for which it was suspended
		// or had no program. API is the part of it spent in model calls.
		Duration time.Duration `json:"duration"`
		API      time.Duration `json:"api,omitempty"`
		First    time.Duration `json:"first,omitempty"` // from the prompt to the first delta
	}
)

// A Cause says where a [ToolResult] comes from:
//
//   - "": the tool ran
//   - "denied": permission was refused
//   - "cancelled": the run was stopped, while the call ran or before it
//   - "unknown": the program died while the call ran; whether it took effect is not known
//   - "unknown_tool": there is no such tool
//   - "cut_off": the model's answer ended inside the call
type Cause string

// Instructions is a file of instructions that the model was told, in the words of the
// hooks of InstructionsLoaded.
type Instructions struct {
	File   string `json:"file"`   // its path
	Type   string `json:"type"`   // User, Project or Local
	Reason string `json:"reason"` // session_start, nested_traversal or include
}

// A Trigger says why a conversation is compacted:
//
//   - "auto": it comes near the end of the context window
//   - "manual": a user or a program asked for it
//   - "overflow": the provider finds it too long
type Trigger string

// A Loop says when the loop guard asks a person about a call of a tool, because the model
// goes round in circles. If nobody can be asked, the run ends. The zero Loop has the
// defaults. Times and durations in results do not count as differences.
type Loop struct {
	Off bool `json:"off,omitempty"` // no call is asked about
	// Repeats is in how many answers in a row a call may have the same result. A further
	// call is asked about. A call with another result counts from one again, and so do all
	// calls of an answer in which one call is new or has another result. 0: 2.
	Repeats int `json:"repeats,omitempty"`
	// Failures is how often a call may fail in the same way before the tool succeeds again,
	// also with other calls in between. A failure is a timeout, a panic, an invalid input or
	// a denial, not an error that the tool reports itself. 0: 3.
	Failures int `json:"failures,omitempty"`
}

// A Cleared result of a call, or message, is no longer sent to the model, or only in part.
type Cleared struct {
	Call  string `json:"call,omitempty"`  // whose result was cleared
	File  string `json:"file,omitempty"`  // holds the whole of it
	Fact  int64  `json:"fact,omitempty"`  // without a call: by which the message came into the conversation
	Index int    `json:"index,omitempty"` // among the messages of that fact
	Keep  int    `json:"keep,omitempty"`  // bytes that stay, of the beginning and the end of its text; 0: none
}

// Spending is the usage of one model in a run.
type Spending struct {
	Usage   llm.Usage `json:"usage"`    // tokens
	CostUSD *float64  `json:"cost_usd"` // nil: the price is not known
}

// ToolUse counts the calls of a tool that ran.
type ToolUse struct {
	Calls    int           `json:"calls"`              // of the tool
	Failures int           `json:"failures,omitempty"` // of these calls
	Time     time.Duration `json:"time"`               // of all calls together
}

// A Denial is a call that was refused.
type Denial struct {
	Call   string            `json:"call"`             // its id
	ToolID string            `json:"tool_id"`          // the provider's id of the call
	Tool   string            `json:"tool"`             // its name
	Reason string            `json:"reason"`           // in words
	Rule   string            `json:"rule,omitempty"`   // that denied; may be empty
	Origin string            `json:"origin,omitempty"` // where the rule was written
	Source permission.Source `json:"source,omitempty"` // what denied
	By     string            `json:"by,omitempty"`     // who refused it, if the decision says so
	Nobody bool              `json:"nobody,omitempty"` // a question was due, but no person was there
}

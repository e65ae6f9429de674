package event

import (
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A ToolPhase is how far a call is, as people are shown it: "waiting" while the input is
// being written, then "doing", at last "success" or "error".
type ToolPhase string

// A CacheCause is the reason why a provider's prompt cache was lost:
//
//   - "model": another model was called
//   - "expired": it was not used for longer than it is kept
//   - "tools": a tool was added, taken away or described otherwise
//   - "system": the system prompt changed
//   - "settings": thinking or tool choice changed
//   - "messages": the conversation changed, as by a compaction
//   - "lost": nothing changed: the provider did not find it
type CacheCause string

// Signals.
type (
	// TextDelta is a piece of text of the answer being written. Key tells the
	// attempt: text of an attempt that failed is withdrawn.
	TextDelta struct {
		Key  string `json:"key"`
		Text string `json:"text"`
		// Restart: Text is not a piece, but all of the attempt's text so far. A watcher gets
		// it who joins during an answer, and after [Missed]. It replaces what you have.
		Restart bool `json:"restart,omitempty"`
	}
	// ThinkingDelta is a piece of the model's reasoning.
	ThinkingDelta struct {
		Key  string `json:"key"`  // of the model call
		Text string `json:"text"` // that is added
	}
	// ToolInputDelta is a piece of the input of a tool call being written. ID is
	// the provider's id of the call.
	ToolInputDelta struct {
		Key  string `json:"key"` // of the model call
		ID   string `json:"id"`
		Tool string `json:"tool"` // its name
		Text string `json:"text"` // that is added to the input's JSON
	}
	// ToolProgress is the status of a call: a whole snapshot, in which everything
	// reported so far is merged. Seq grows from one snapshot to the next, so that a
	// late one can be told.
	ToolProgress struct {
		Call    string        `json:"call,omitempty"` // "" while the input is being written
		ID      string        `json:"id"`             // the provider's id of the call
		Tool    string        `json:"tool"`           // its name
		Seq     int64         `json:"seq"`
		Phase   ToolPhase     `json:"phase"`             // what happens to the call now
		Status  tool.Status   `json:"status"`            // what the tool reports
		Error   string        `json:"error,omitempty"`   // with ToolFailed
		Elapsed time.Duration `json:"elapsed,omitempty"` // since the tool was started
	}
	// PermissionRequest means that the run waits for someone's decision.
	PermissionRequest struct {
		Call        tool.Call         `json:"call"`                  // that is asked about
		Reason      string            `json:"reason,omitempty"`      // why a person is asked
		Suggestions []permission.Rule `json:"suggestions,omitempty"` // rules that would allow it from now on
		Preview     string            `json:"preview,omitempty"`     // a diff, for edits
		// Widths are rules that allow less or more than the Suggestions, which are
		// among them, the narrowest first.
		Widths []permission.Suggestion `json:"widths,omitempty"`
		// Expires, unless zero, is when the call is denied if nobody has answered.
		Expires time.Time `json:"expires,omitzero"`
		// Questions, of a list of open questions only, are those of the call's tool: the call
		// is permitted, and the tool waits for answers.
		Questions []tool.Question `json:"questions,omitempty"`
	}
	// CacheBroken means that the provider's prompt cache held more of a conversation than
	// the answered request could use, and says why. It comes after the answer, if anyone
	// reads the stream.
	CacheBroken struct {
		Key     string     `json:"key"`                // of the model call
		Model   string     `json:"model"`              // its name
		Cause   CacheCause `json:"cause"`              // what changed
		Text    string     `json:"text"`               // the cause, in words
		Held    int        `json:"held"`               // tokens that the cache held
		Read    int        `json:"read"`               // and those that were read of it
		CostUSD *float64   `json:"cost_usd,omitempty"` // of the difference; nil: not known
		// The change is the Tool, or the Message (-1: none, 0: the first) and the block in it.
		// Byte is the first byte of its text that differs, Was and Is the texts there.
		Tool    string `json:"tool,omitempty"`
		Message int    `json:"message"`
		Block   int    `json:"block,omitempty"` // the index of the first block of it that differs
		Byte    int    `json:"byte,omitempty"`
		Was     string `json:"was,omitempty"`
		Is      string `json:"is,omitempty"`
	}
	// JournalCut means that the session's journal ended in an unfinished record, as after a
	// crash, and that this record was cut off when the session was opened. It is not part
	// of the session; its bytes are stored beside the journal.
	JournalCut struct {
		Bytes int64 `json:"bytes"` // that were cut off
	}
	// HookStarted means that a hook is being called. ID is the same in the signals that
	// follow.
	HookStarted struct {
		ID    string     `json:"id"`
		Event hook.Event `json:"event"`          // that runs the hook
		Name  string     `json:"name"`           // of the hook
		Call  string     `json:"call,omitempty"` // that it is about; may be empty
	}
	// HookProgress is a line that a hook has written in the meantime.
	HookProgress struct {
		ID    string     `json:"id"`    // of the run of the hook
		Event hook.Event `json:"event"` // that runs the hook
		Line  string     `json:"line"`  // of its output
	}
	// HookResponse is the answer of a hook.
	HookResponse struct {
		ID           string        `json:"id"`                     // of the run of the hook
		Event        hook.Event    `json:"event"`                  // that ran the hook
		Name         string        `json:"name"`                   // of the hook
		Call         string        `json:"call,omitempty"`         // that it is about; may be empty
		Blocks       bool          `json:"blocks,omitempty"`       // it forbids what was to happen
		Reason       string        `json:"reason,omitempty"`       // why
		Message      string        `json:"message,omitempty"`      // for people
		Notification *hook.Notice  `json:"notification,omitempty"` // for the person; may be nil
		Error        string        `json:"error,omitempty"`        // it failed
		Duration     time.Duration `json:"duration,omitempty"`     // of its run
	}
	// AgentEvent is an event of a sub-agent of the run: a fact of its own session, a
	// signal, or an AgentEvent of a sub-agent of that.
	AgentEvent struct {
		Call  string `json:"call"`            // the call that has started the agent
		ID    string `json:"id"`              // the provider's id of the call
		Agent string `json:"agent"`           // its name
		Event *Event `json:"event,omitempty"` // of the agent's session
	}
	// RateLimitWait means that a request waits before it is sent, so that the provider
	// does not refuse it.
	RateLimitWait struct {
		Key    string        `json:"key"`             // of the model call
		Model  string        `json:"model"`           // its name
		Reason string        `json:"reason"`          // requests, input_tokens, output_tokens, tokens, retry_after, concurrent or first_reply
		Ahead  int           `json:"ahead,omitempty"` // requests that are served first
		Least  time.Duration `json:"least,omitempty"` // that it takes, as far as it is known
	}
	// BudgetWarning means that four fifths of a limit in USD are spent. The session whose
	// call crossed them shows it, at the end of that call. Like all signals it is not on
	// record.
	BudgetWarning struct {
		Account  string  `json:"account,omitempty"` // key of the quota; "": the prompt's own budget
		SpentUSD float64 `json:"spent_usd"`         // in the period of the quota
		LimitUSD float64 `json:"limit_usd"`         // of the period
	}
	// UserQuestion means that the run waits for a person's answers.
	UserQuestion struct {
		Call      tool.Call       `json:"call"`      // of the tool that asks
		Questions []tool.Question `json:"questions"` // in order
	}
	// Missed means that a watcher was too slow, and that so many events were dropped here.
	// The next [TextDelta] of an answer is a restart, with all of its text so far. A watcher
	// of a session misses no facts.
	Missed struct {
		Signals int64 `json:"signals,omitempty"`
		Facts   int64 `json:"facts,omitempty"` // that this watcher was not shown
	}
	// SessionBegan means that the first run of a session begins in this program. Only those
	// who watch an agent get it.
	SessionBegan struct {
		Start  Start  `json:"start"`            // "startup" or "resume"
		Parent string `json:"parent,omitempty"` // the session that the agent works for
		Call   string `json:"call,omitempty"`   // the call that has started the agent
		Agent  string `json:"agent,omitempty"`  // its name
	}
	// SessionEnded means that a session that began was closed in this program. It may go on
	// later.
	SessionEnded struct{}
)

package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// An Effect is work that the run wants done. It names its inputs and carries no bodies. A
// driver starts each key once, after recording its Intent, and reports the outcome as a
// fact with that key.
type Effect interface {
	// Key is unique in the session and an idempotency key for the effect.
	Key() string
	// Intent is the fact to record before the effect starts; nil if none.
	Intent() event.Fact
}

type (
	// Record wants the facts recorded as they are: conclusions of the engine.
	Record struct {
		key   string
		Facts []event.Fact
	}
	// CallModel wants an [event.AssistantMessage] or [event.ModelFailed].
	CallModel struct {
		key         string
		Model       string
		MaxTokens   int // 0: the model's default
		ReservedUSD float64
		Tries       int // failures with this model so far
	}
	// Wait wants an [fact.Waited] at the given time.
	Wait struct {
		key   string
		Until time.Time
	}
	// Authorize wants an [fact.Authorized] from hooks, rules, mode and callback.
	Authorize struct {
		key, Call string
		Mode      permission.Mode
		Dir       string
		Guard     string // why the user must be asked about the call, even if the rules allow it
	}
	// Ask wants an [fact.Answered] from a person. One question is open at a time.
	Ask struct{ key, Call string }
	// RunTool wants an [event.ToolResult], or an [fact.ToolDone] when hooks want to see it.
	RunTool struct {
		key, Call string
		Mode      permission.Mode
		Dir       string
	}
	// TakeCheckpoint wants an [fact.Checkpointed] before the first call of a prompt
	// that may change files.
	TakeCheckpoint struct {
		key    string
		Prompt int64 // number of the prompt's fact
		Dir    string
	}
	// AskPerson wants an [fact.ToolAmended] with a person's answers. It counts as
	// a question: one is open at a time.
	AskPerson struct{ key, Call string }
	// Digest wants an [fact.ToolAmended] from the small model.
	Digest struct {
		key, Call   string
		Model       string
		MaxTokens   int
		ReservedUSD float64
	}
	// Compact wants an [event.Compacted] with a summary, or an [event.ModelFailed].
	// [Transcript.Shorten] selects the messages to summarise.
	Compact struct {
		key          string
		Trigger      event.Trigger
		Instructions string // of who wants it
		Wishes       string // of hooks
		Model        string
		Thinking     llm.Thought
		MaxTokens    int
		ReservedUSD  float64
		Tries        int     // failures so far
		Pending      bool    // a prompt is being worked on
		Before       int     // tokens of a request
		Fixed        int     // of system prompt and tools
		Scale        float64 // the provider's count for each estimated token
		Keep         int     // tokens of the newest messages to leave as they are
		Most         int     // tokens that these may have in any case
		Again        bool    // the last summary was cut off: this one is taken as it comes
		Less         int     // 0: the whole conversation is summarised, as it is
		Room         int     // tokens that its messages may have, else
	}
	// Cut wants an [event.Compacted] that truncates the parts too large for the window, see
	// [Transcript.Cut].
	Cut struct {
		key    string
		Target int     // tokens that all messages may have, as estimated
		Bytes  bool    // it is their bytes that are too many
		First  bool    // a summary may do in its place
		Last   bool    // the run ends with it
		Before int     // tokens of the request
		Fixed  int     // of system prompt and tools
		Scale  float64 // the provider's count for each estimated token
		Room   int     // tokens that a request may have
		files  []result
	}
	// RunHooks wants an [event.ToolResult] made of the recorded ToolDone.
	RunHooks struct{ key, Call string }
	// CallHooks wants an [fact.Hooked] from the hooks of an event.
	CallHooks struct {
		key     string
		Event   hook.Event
		Call    string            // of events about one
		Message string            // id of the user message, with UserPromptSubmit
		Active  bool              // with Stop and SubagentStop: the run continues because of Stop hooks
		Fields  map[string]string // texts of the hooks' input, by their names in JSON
	}
	// GatherResults wants an [event.ToolResult] made of those of the calls that a
	// batch made, see [Transcript.Gather].
	GatherResults struct{ key, Call string }
	// CheckOutput wants an [fact.OutputChecked]: whether an answer satisfies the schema.
	CheckOutput struct {
		key  string
		Call string // the call that holds the answer; "": it is [State.Answer]
	}
)

// result is one that can be cleared.
type result struct {
	call   string
	file   string // that holds it as a whole
	tokens int
}

// effectTable lists all effects. A new effect is a struct above and a row here.
var effectTable = []Effect{
	Record{}, CallModel{}, Wait{}, Authorize{}, Ask{}, RunTool{}, TakeCheckpoint{}, AskPerson{}, Digest{},
	Compact{}, Cut{}, RunHooks{}, CallHooks{}, GatherResults{}, CheckOutput{},
}

// EffectTypes returns the zero value of every effect, so that a test can check that a
// driver handles all of them.
func EffectTypes() []Effect { return slices.Clone(effectTable) }

func (e Record) Key() string    { return e.key }
func (e CallModel) Key() string { return e.key }
func (e Wait) Key() string      { return e.key }
func (e Authorize) Key() string { return e.key }
func (e Ask) Key() string       { return e.key }
func (e RunTool) Key() string   { return e.key }
func (e AskPerson) Key() string { return e.key }
func (e Digest) Key() string    { return e.key }
func (e RunHooks) Key() string  { return e.key }
func (e Compact) Key() string   { return e.key }
func (e Cut) Key() string       { return e.key }

func (e GatherResults) Key() string { return e.key }

func (e CheckOutput) Key() string        { return e.key }
func (e CheckOutput) Intent() event.Fact { return nil }

func (e CallHooks) Key() string        { return e.key }
func (e CallHooks) Intent() event.Fact { return nil }

func (e TakeCheckpoint) Key() string        { return e.key }
func (e TakeCheckpoint) Intent() event.Fact { return nil }

func (e Record) Intent() event.Fact    { return nil }
func (e Wait) Intent() event.Fact      { return nil }
func (e Authorize) Intent() event.Fact { return nil }
func (e Ask) Intent() event.Fact       { return nil }
func (e AskPerson) Intent() event.Fact { return nil }
func (e RunHooks) Intent() event.Fact  { return nil }
func (e Cut) Intent() event.Fact       { return nil }

func (e GatherResults) Intent() event.Fact { return nil }

// Intent is an [fact.ModelStart].
func (e Digest) Intent() event.Fact {
	return fact.ModelStart{Key: e.key, Call: e.Call, Model: e.Model, MaxTokens: e.MaxTokens, ReservedUSD: e.ReservedUSD}
}

// Intent is an [fact.ModelStart].
func (e Compact) Intent() event.Fact {
	return fact.ModelStart{Key: e.key, Compacts: e.Trigger, Model: e.Model, MaxTokens: e.MaxTokens, ReservedUSD: e.ReservedUSD}
}

// Intent is an [fact.ModelStart].
func (e CallModel) Intent() event.Fact {
	return fact.ModelStart{Key: e.key, Model: e.Model, MaxTokens: e.MaxTokens, ReservedUSD: e.ReservedUSD}
}

// Intent is an [event.ToolStart].
func (e RunTool) Intent() event.Fact {
	return event.ToolStart{Key: e.key, Call: e.Call, Mode: e.Mode, Dir: e.Dir}
}

// key makes an effect's key: its kind, the fact that caused it, its place among
// the effects of that fact, and the attempt. It is unique in its session.
func key(kind string, cause int64, index, attempt int) string {
	b := append(make([]byte, 0, 40), kind...)
	b = strconv.AppendInt(append(b, '/'), cause, 10)
	b = strconv.AppendInt(append(b, '.'), int64(index), 10)
	b = strconv.AppendInt(append(b, '/'), int64(attempt), 10)
	return string(b)
}

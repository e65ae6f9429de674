package engine

import (
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An Effect is something that the run wants done. It names what its doing
// takes and carries no bodies. A driver starts each key once, after recording
// its Intent, and reports what came of it as a fact with that key.
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
	// Wait wants an [event.Waited] at the given time.
	Wait struct {
		key   string
		Until time.Time
	}
	// Authorize wants an [event.Authorized] from hooks, rules, mode and callback.
	Authorize struct {
		key, Call string
		Mode      permission.Mode
		Dir       string
		Guard     string // why the call has to be asked about whatever the rules say
	}
	// Ask wants an [event.Answered] from a person. One question is open at a time.
	Ask struct{ key, Call string }
	// RunTool wants an [event.ToolResult], or an [event.ToolDone] when hooks want to see it.
	RunTool struct {
		key, Call string
		Mode      permission.Mode
		Dir       string
	}
	// TakeCheckpoint wants an [event.Checkpointed] before the first call of a prompt
	// that may change files.
	TakeCheckpoint struct {
		key    string
		Prompt int64 // number of the prompt's fact
		Dir    string
	}
	// AskPerson wants an [event.ToolAmended] with a person's answers. It counts as
	// a question: one is open at a time.
	AskPerson struct{ key, Call string }
	// Digest wants an [event.ToolAmended] from the small model.
	Digest struct {
		key, Call   string
		Model       string
		MaxTokens   int
		ReservedUSD float64
	}
	// Compact wants an [event.Compacted] with a summary, or an [event.ModelFailed]. What
	// is to be summarised is for [Transcript.Shorten] to say.
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
		Scale        float64 // what the provider counts for each token that is estimated
		Keep         int     // tokens of the newest messages to leave as they are
		Most         int     // tokens that these may have in any case
		Again        bool    // the last summary was cut off: this one is taken as it comes
		Less         int     // 0: the whole conversation is summarised, as it is
		Room         int     // tokens that its messages may have, else
	}
	// Cut wants an [event.Compacted] by which what is too large for the window is no
	// longer sent whole, see [Transcript.Cut].
	Cut struct {
		key    string
		Target int     // tokens that all messages may have, as estimated
		Bytes  bool    // it is their bytes that are too many
		First  bool    // a summary may do in its place
		Last   bool    // the run ends with it
		Before int     // tokens of the request
		Fixed  int     // of system prompt and tools
		Scale  float64 // what the provider counts for each token that is estimated
		Room   int     // tokens that a request may have
		files  []result
	}
	// RunHooks wants an [event.ToolResult] made of the recorded ToolDone.
	RunHooks struct{ key, Call string }
	// CallHooks wants an [event.Hooked] from the hooks of an event.
	CallHooks struct {
		key     string
		Event   hook.Event
		Call    string            // of events about one
		Message string            // id of the user message, with UserPromptSubmit
		Active  bool              // with Stop and SubagentStop: the run goes on because of Stop hooks
		Fields  map[string]string // texts of the hooks' input, by their names in JSON
	}
	// GatherResults wants an [event.ToolResult] made of those of the calls that a
	// batch made, see [Transcript.Gather].
	GatherResults struct{ key, Call string }
	// CheckOutput wants an [event.OutputChecked]: whether an answer satisfies the schema.
	CheckOutput struct {
		key  string
		Call string // the call that holds the answer; "": it is [State.Answer]
	}
)

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

// Intent is an [event.ModelStart].
func (e Digest) Intent() event.Fact {
	return event.ModelStart{Key: e.key, Call: e.Call, Model: e.Model, MaxTokens: e.MaxTokens, ReservedUSD: e.ReservedUSD}
}

// Intent is an [event.ModelStart].
func (e Compact) Intent() event.Fact {
	return event.ModelStart{Key: e.key, Compacts: e.Trigger, Model: e.Model, MaxTokens: e.MaxTokens, ReservedUSD: e.ReservedUSD}
}

// Intent is an [event.ModelStart].
func (e CallModel) Intent() event.Fact {
	return event.ModelStart{Key: e.key, Model: e.Model, MaxTokens: e.MaxTokens, ReservedUSD: e.ReservedUSD}
}

// Intent is an [event.ToolStart].
func (e RunTool) Intent() event.Fact {
	return event.ToolStart{Key: e.key, Call: e.Call, Mode: e.Mode, Dir: e.Dir}
}

// Effects returns what the state wants done, in a fixed order. A [Record]
// comes alone. A run that is open always wants something. The slice is valid until
// the next call.
func (s *State) Effects() []Effect {
	switch {
	case !s.open:
		return nil
	case s.stop != nil:
		s.wanted = s.stopEffects(s.wanted[:0])
	default:
		s.wanted = s.runEffects(s.wanted[:0])
	}
	return s.wanted
}

func (s *State) runEffects(effects []Effect) []Effect {
	if s.cfg.Limits.Time > 0 && !s.run.rang {
		effects = append(effects, Wait{s.alarmKey(), s.run.began.Add(s.cfg.Limits.Time)})
	}
	if len(s.hookCalls) > 0 {
		effects = append(effects, s.hookCalls[0])
		if slices.ContainsFunc(s.hookCalls, func(f CallHooks) bool { return f.Event == hook.SessionStart }) {
			return effects // a run that is resumed may have calls, which come after it
		}
	}
	switch {
	case len(s.calls) > 0:
		if wanted := s.callEffects(effects); len(wanted) > 0 {
			return wanted
		}
		return append(effects, s.await()) // a question was deferred, and agents are at work
	case len(s.hookCalls) > 0:
		return effects
	}
	return s.nextEffects(effects)
}

// nextEffects goes on with the conversation when no call is open.
func (s *State) nextEffects(effects []Effect) []Effect {
	if c := s.compact; c != nil && c.doing != "" {
		effects, _ = s.compacting(effects)
		return effects
	}
	if s.need.kind == needModel && !s.model.calling && s.model.wait == nil {
		if reason := s.limit(); reason != "" {
			return s.finish(effects, reason, need{})
		}
	}
	if ids := s.deliverable(); len(ids) > 0 {
		if f, ok := s.unchecked(ids); ok {
			return append(effects, f)
		}
		return record(event.Delivered{IDs: ids})
	}
	if wanted, ok := s.compacting(effects); ok {
		return wanted
	}
	switch s.need.kind {
	case needEnd:
		if s.awaits() && !s.run.compacts {
			return append(effects, s.await())
		}
		if s.need.reason == event.Completed && len(s.Waiting()) > 0 {
			return s.finish(effects, event.Suspended, need{msg: "an agent waits for a decision that was deferred"})
		}
		if s.unjudged() {
			return append(effects, s.checkOutput())
		}
		return s.finish(effects, s.need.reason, s.need)
	case needContinue:
		if s.need.msg != "" {
			return record(s.goOn())
		}
		return record(s.continuation())
	}
	if s.model.calling {
		return append(effects, s.callModel())
	}
	if w := s.model.wait; w != nil {
		return append(effects, Wait{w.key, w.until})
	}
	return append(effects, s.callModel())
}

// await waits for agents.
func (s *State) await() Effect {
	return Wait{key("await", s.model.cause, 0, 0), s.run.began.AddDate(10, 0, 0)}
}

// deliverable returns the queued messages whose time has come: all but the
// follow-ups before a model call, the first follow-up before the end, and then no
// context of hooks.
func (s *State) deliverable() []string {
	if s.model.calling || s.model.wait != nil || s.need.kind == needContinue || s.compact != nil && s.compact.doing != "" {
		return nil
	}
	if s.need.kind == needEnd && s.need.reason != event.Completed {
		return nil
	}
	var ids []string
	followUp := ""
	for _, q := range s.queue {
		if (q.delivery == event.AsHook || q.delivery == event.AsContext) && s.need.kind == needEnd {
			continue // context is for whoever goes on, and no reason to
		}
		if q.delivery == event.AsNotice && s.run.compacts && s.need.kind == needEnd {
			continue // nor is news for a run that only compacts
		}
		if q.delivery != event.AsFollowUp {
			ids = append(ids, q.id)
		} else if followUp == "" {
			followUp = q.id
		}
	}
	if len(ids) == 0 && followUp != "" && s.need.kind == needEnd {
		ids = []string{followUp}
	}
	return ids
}

// stopEffects settles what a stopped run has left open, then ends it.
func (s *State) stopEffects(effects []Effect) []Effect {
	suspend := s.stop.Reason == event.Suspended
	var facts []event.Fact
	for i := range s.calls {
		c := &s.calls[i]
		switch {
		case c.phase == running:
			effects = append(effects, s.runTool(c))
		case c.phase == digesting:
			effects = append(effects, s.digest(c))
		case c.phase == done:
			effects = append(effects, RunHooks{c.key("hooks"), c.id})
		case c.phase == gathering && s.gathered(c):
			effects = append(effects, GatherResults{c.key("gather"), c.id})
		case c.phase == refused:
			facts = append(facts, c.refusal())
		case (c.phase < running || c.phase == waiting || c.phase == parked) && !suspend:
			facts = append(facts, event.ToolResult{Key: c.key("result"), Call: c.id, Cause: event.ByCancel,
				Result: *tool.Errorf("%s: the run was stopped (%s)", c.left(), s.stop.Reason)})
		}
	}
	if len(s.hookCalls) > 0 {
		effects = append(effects, s.hookCalls[0])
	}
	switch {
	case len(facts) > 0:
		return record(facts...)
	case s.model.calling:
		return append(effects, s.callModel())
	case s.compact != nil && s.compact.calling:
		e, _ := s.summarise(s.compact.doing)
		return append(effects, e)
	case len(effects) > 0:
		return effects
	}
	return s.finish(effects, s.stop.Reason, need{msg: s.stop.Message})
}

func record(facts ...event.Fact) []Effect { return []Effect{Record{"record", facts}} }

func (s *State) alarmKey() string { return key("alarm", s.run.seq, 0, s.run.alarms) }

func (s *State) continuation() event.Fact {
	return event.UserMessage{ID: key("continue", s.model.cause, 0, s.model.attempt), Delivery: event.AsContinue, Message: llm.UserText(ContinueText)}
}

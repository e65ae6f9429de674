package engine

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// A run is a prompt and its consequences.
type run struct {
	seq      int64 // of the prompt
	began    time.Time
	last     time.Time // of the latest fact
	rang     bool      // the time limit was reached
	alarms   int       // how often the time limit was changed
	kept     bool      // the files are, as they were before this prompt
	compacts bool      // it began only to compact the conversation
	denials  []event.Denial
	bill
	reply
	ending
}

// A reply is the model's answer.
type reply struct {
	text          string // of the last answer, with the parts that it continues
	partial       string
	continuing    bool
	continuations int
	pauses        int
	toolText      string  // of the result that ended the run
	answer        *answer // nil: the prompt has no schema
}

// An ending is how a run comes to its end.
type ending struct {
	end         event.EndReason
	endMessage  string // why, with DoomLoop
	stops       int    // how often Stop hooks made it go on, in a row
	ends        int    // how often it has come to an end
	told        bool   // Stop hooks were called for this end
	failureTold bool   // StopFailure hooks were
}

// setBack moves the times of the run when a fact is older than the one before: the clock
// was set back, for example between a crash and the resumption. Without this the run would
// seem longer. It returns by how much.
func (r *run) setBack(now time.Time) time.Duration {
	back := max(0, r.last.Sub(now))
	r.began = r.began.Add(-back)
	return back
}

// notCounted leaves the time since the latest fact out of the run's time: no program ran it
// until it is resumed now.
func (r *run) notCounted(now time.Time) {
	if idle := now.Sub(r.last); idle > 0 {
		r.began, r.last = r.began.Add(idle), now
	}
}

func (r *run) alarmKey() string { return key("alarm", r.seq, 0, r.alarms) }

func (r *run) checkpointKey() string { return key("checkpoint", r.seq, 0, 0) }

// checkpointed takes in that the files were kept.
func (r *run) checkpointed(f fact.Checkpointed) bool {
	if r.kept || f.Key != r.checkpointKey() {
		return false
	}
	r.kept = true
	return true
}

// endFact makes the last fact of a run.
func (r *run) endFact(reason event.EndReason, n need, queued []string) event.RunEnd {
	f := event.RunEnd{Reason: reason, Message: n.msg, Class: n.class, Status: n.status, RequestID: n.id, Text: r.text, Partial: r.partial,
		Turns: r.turns, AgentTurns: r.below, Usage: r.usage, Models: r.models.byName(), Agents: r.agents.byName(), LostUSD: r.lost,
		ModelCalls: r.modelCalls, Tools: r.tools.byName(), Denials: r.denials, Queued: queued, Duration: r.last.Sub(r.began), API: r.api, First: r.first}
	if a := r.answer; a != nil {
		f.Output = a.output
	}
	if !r.unknown {
		f.CostUSD = new(r.cost)
	}
	switch reason {
	case event.ToolEnded:
		f.Text = r.toolText
	case event.MaxTurns:
		f.Message = "the limit of turns is reached"
	case event.MaxModelCalls:
		f.Message = "the limit of model calls is reached"
	case event.MaxBudget:
		if n.class == "" { // it is the run's own budget
			f.Message = "the next call of the model would not fit the USD left of the budget"
		}
	}
	return f
}

// key is the key of something that the run's end wants done. cause is that of the last
// model call.
func (e *ending) key(kind string, cause int64) string { return key(kind, cause, e.ends, 0) }

// reopen lets the hooks of a run's end be called again at its next one.
func (e *ending) reopen() {
	if e.told || e.failureTold {
		e.told, e.failureTold = false, false
		e.ends++
	}
}

// stopRepeatedCall lets the run end when a call that should be asked about is refused
// without a person: the model would continue with it for ever.
func (e *ending) stopRepeatedCall(guard, why string) {
	if guard != "" {
		e.end, e.endMessage = event.DoomLoop, guard+": "+why
	}
}

// goOn is the message by which Stop hooks, or a schema, make the run go on.
func (e *ending) goOn(cause int64, msg string) event.Fact {
	return event.UserMessage{ID: e.key("goon", cause), Delivery: fact.AsContinue, Message: llm.UserText(msg)}
}

// need is the next step of the conversation when no call is open.
type need struct {
	kind   needKind
	reason event.EndReason // with needEnd
	msg    string
	class  llm.Class
	status int
	id     string // the provider's, of the request that failed
}

type needKind int

const (
	needModel    needKind = iota // an answer
	needContinue                 // the request to continue with a cut answer
	needEnd                      // the end of the run
)

// A modelCall is the next or current call of the model.
type modelCall struct {
	cause    int64 // the fact that made it wanted
	attempt  int   // how often it was started
	tries    int   // how often it failed with the current model
	calling  bool  // started and not yet settled
	changed  bool  // and another model is wanted since
	reserved reservation
	wait     *wait
	last     callKey // the key made last, to be used again
}

// A callKey is the key of a model call.
type callKey struct {
	cause   int64
	attempt int
	key     string
}

type wait struct {
	key   string
	until time.Time
}

func (m *modelCall) key() string {
	if k := &m.last; k.key == "" || k.cause != m.cause || k.attempt != m.attempt {
		*k = callKey{m.cause, m.attempt, key("model", m.cause, 0, m.attempt)}
	}
	return m.last.key
}

// busy reports whether the call was started, or waits for its next attempt.
func (m *modelCall) busy() bool { return m.calling || m.wait != nil }

// want makes a new call wanted.
//
//go:noinline // called from many places: every program stays smaller
func (m *modelCall) want(cause int64) { *m = modelCall{cause: cause, reserved: m.reserved} }

// dropped handles a change of the model while a call of the old one is pending.
func (m *modelCall) dropped(is bool) {
	if is {
		m.tries, m.changed = 0, m.calling
	}
}

// ContinueText is the message to the model after an answer cut off at max_tokens.
const ContinueText = "Please continue from where you left off."

// continuation is the message that asks for the rest of an answer.
func (m *modelCall) continuation() event.Fact {
	return event.UserMessage{ID: key("continue", m.cause, 0, m.attempt), Delivery: fact.AsContinue, Message: llm.UserText(ContinueText)}
}

// Package engine is the agent loop as a pure state machine.
//
// A [State] is the fold of a session's facts. [State.Effects] returns the work to do next.
// A driver does it, records the outcome as a fact, and applies the fact. The engine does no
// I/O, starts no goroutine, reads no clock and draws no random number, so the same facts
// always lead to the same state and effects: a crash, a fork and a test are all just a
// replay of facts.
//
//	for s.Running() {
//		for _, e := range s.Effects() { start(e) } // those that are not pending
//		s.Apply(<-facts)
//	}
package engine

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A State decides the next steps of a run. It holds ids, phases and counters; the
// conversation itself is in the [Transcript]. The zero State is a session in which nothing
// has happened.
type State struct {
	settings settings
	inbox    inbox
	context  contextState
	hooks    hookQueue
	calls    callList
	agents   Subagents
	model    modelCall

	open bool // a run is in progress
	run  run
	stop *fact.Stopped
	need need

	wanted []Effect // the last result of Effects; reused
}

// Running reports whether a run is in progress.
func (s *State) Running() bool { return s.open }

// Pending reports whether the last run left calls without a result, as a suspended run
// does, or background agents that wait for a decision.
//
//go:noinline // called from many places: every program stays smaller
func (s *State) Pending() bool { return len(s.calls.list) > 0 || len(s.agents.Waiting()) > 0 }

// Stopping reports whether pending effects should be cancelled.
func (s *State) Stopping() bool {
	return s.open && s.stop != nil && s.stop.Reason != event.Suspended
}

// Mode returns the permission mode in force.
func (s *State) Mode() permission.Mode { return s.settings.mode }

// SessionMode returns the mode of later prompts. It is not [State.Mode] if the prompt has a
// mode of its own.
func (s *State) SessionMode() permission.Mode { return s.settings.modeOfSession() }

// Dir returns the working directory in force.
func (s *State) Dir() string { return s.settings.dir }

// Model returns the name of the model that the next call goes to.
func (s *State) Model() string { return s.settings.model() }

// Config returns the configuration of the run, without the system prompt and the facts
// about models, see [State.Info].
func (s *State) Config() fact.Configured { return s.settings.cfg }

// Info returns the facts about a model, the zero Info if none are known.
func (s *State) Info(model string) llm.Info { return s.settings.info(model) }

// Models returns all models that were told about, by name.
func (s *State) Models() map[string]llm.Info {
	all := make(map[string]llm.Info, len(s.settings.models))
	for _, m := range s.settings.models {
		all[m.name] = m.info
	}
	return all
}

// Rules returns the rules that hooks have added to the agent's.
func (s *State) Rules() permission.Policy {
	if s.settings.rules == nil {
		return permission.Policy{}
	}
	return *s.settings.rules
}

// Scopes returns the skills in force, the innermost last.
func (s *State) Scopes() []skillscope.Scope {
	if len(s.settings.scopes) == 0 {
		return nil
	}
	out := make([]skillscope.Scope, len(s.settings.scopes))
	for i := range s.settings.scopes {
		out[i] = s.settings.scopes[i].Scope
	}
	return out
}

// Restriction returns the tools that the skills in force allow, nil for all. It is a new value
// whenever that changes.
func (s *State) Restriction() *permission.Restriction { return s.settings.bound }

// Agents returns the agents below the session. It changes with the state.
func (s *State) Agents() *Subagents { return &s.agents }

// A CallStatus is how far a call of the last answer has come.
type CallStatus struct {
	Open       bool                // it has no result yet
	Traits     tool.Traits         // the effects that it is going to have
	Decision   permission.Decision // the latest about it
	Repeatable bool                // a second call does not repeat its effects
	Question   string              // key of the question about it that waits, also in a run that is suspended; "" for none
	Asks       bool                // the question is one of the call's tool, which waits for answers
	Approved   int64               // the fact that answered its question; 0: there was none
	Begun      int64               // the fact of its first start since it was approved; 0: none
}

// Call returns the status of a call, the zero CallStatus if there is no such call.
func (s *State) Call(id string) CallStatus {
	c := s.calls.find(id)
	if c == nil {
		return CallStatus{}
	}
	status := CallStatus{Open: c.phase != settled, Traits: c.class, Decision: c.decision, Repeatable: c.class.ReadOnly || c.spec.Idempotent, Approved: c.approved, Begun: c.begun}
	if s.takesAnswers() {
		status.Question, status.Asks = c.question(), c.phase == waiting
	}
	return status
}

// Asking returns the calls that wait for someone's decision or for answers to their tools'
// questions, in order.
func (s *State) Asking() []string {
	var ids []string
	for _, c := range s.calls.list {
		if c.asks() {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// SoFar returns the interim result of an open run, for a run whose end cannot be recorded.
func (s *State) SoFar() (event.RunEnd, bool) {
	end := s.run.endFact(event.Internal, need{}, s.inbox.cancellable())
	if s.model.calling {
		end.LostUSD = plus(end.LostUSD, s.model.reserved.usd)
	}
	if s.context.compact != nil && s.context.compact.calling {
		end.LostUSD = plus(end.LostUSD, s.context.compact.reserved.usd)
	}
	return end, s.open
}

// SpentUSD returns what counts against the run's limit in USD, without reservations.
func (s *State) SpentUSD() float64 { return plus(s.run.cost, s.run.lost) }

// Turns returns how many answers the model has given in this run.
func (s *State) Turns() int { return s.run.turns }

// Queued returns the ids of the messages that wait for their delivery and are of no
// use once the run is stopped: all but notices, which the next run delivers.
func (s *State) Queued() []string { return s.inbox.cancellable() }

// Known reports whether a user message with this id is on record.
func (s *State) Known(id string) bool { return s.inbox.known[id] }

// Share returns the largest budget of an agent that an open call starts now. The rest of
// the budget is divided among the run itself and the calls of the same tool without a
// result. The time is not divided. A zero limit means no limit; ok is false when nothing is
// left.
func (s *State) Share(call string, now time.Time) (share fact.Limits, ok bool) {
	return s.budget().share(call, now)
}

// Answer returns the final text of the run, and the part of it that came last.
func (s *State) Answer() (text, last string) {
	if s.need.reason == event.ToolEnded {
		return s.run.toolText, s.run.toolText
	}
	if s.run.answer == nil {
		return s.run.text, s.run.text
	}
	return s.run.text, s.run.answer.part
}

// Output returns the schema that the answer to the prompt must fit, nil for any answer.
func (s *State) Output() *fact.Output {
	if s.run.answer == nil {
		return nil
	}
	return &s.run.answer.want
}

// Formats reports whether the provider enforces the schema of the next answer. If not, it
// also reports whether the model must be made to call [OutputTool].
func (s *State) Formats() (native, force bool) {
	a := s.run.answer
	if a == nil {
		return false, false
	}
	if !a.want.Tool && s.settings.info(s.settings.model()).Formats {
		return true, false
	}
	return false, !s.settings.cfg.Thinking.On() && (len(s.settings.cfg.Tools) == 0 || a.corrections > 0)
}

//go:noinline // called from many places: every program stays smaller
func (s *State) budget() budget {
	b := budget{settings: &s.settings, run: &s.run, agents: &s.agents, calls: &s.calls}
	if c := s.context.compact; c != nil && c.calling {
		b.summary = c.reserved.usd
	}
	return b
}

//go:noinline // called from many places: every program stays smaller
func (s *State) compactor() compactor {
	return compactor{&s.context, s.budget(), s.need, s.model.cause}
}

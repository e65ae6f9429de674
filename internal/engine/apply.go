package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// Apply takes a fact into the state. It reports whether the fact counted: those
// that the state does not wait for, such as a second result of one effect, are
// ignored.
func (s *State) Apply(e event.Event) bool {
	if s.inbox.known == nil {
		s.inbox.known = map[string]bool{}
	}
	waiting := s.model.wait
	counted, _ := s.apply(e)
	if counted && s.open {
		if back := s.run.setBack(e.Time); back > 0 && waiting != nil && waiting == s.model.wait {
			s.model.wait = &wait{waiting.key, waiting.until.Add(-back)}
		}
		s.run.last = e.Time
		s.calls.pickQuestion()
		if p := (planner{s: s}); p.idle() {
			s.stop = suspended()
		}
	}
	return counted
}

// apply changes the state by one fact. A fact that the switch does not list is not known.
func (s *State) apply(e event.Event) (counted, known bool) {
	switch f := e.Data.(type) {
	case fact.Configured:
		return s.configure(f), true
	case event.UserMessage:
		return s.message(e, f), true
	case fact.Delivered:
		return s.deliver(e.Seq, f), true
	case fact.Retracted:
		return s.inbox.drop(f.IDs), true
	case fact.ModelStart:
		return s.modelStart(f), true
	case event.AssistantMessage:
		return s.answered(e.Seq, f), true
	case event.ModelFailed:
		return s.modelFailed(e.Seq, f), true
	case fact.CompactionRequested:
		return s.compactionRequested(e, f), true
	case event.Compacted:
		return s.compacted(e.Seq, f), true
	case fact.Waited:
		return s.waited(f), true
	case fact.Authorized:
		return s.authorized(f), true
	case fact.Answered:
		return s.personAnswered(e.Seq, f), true
	case fact.Checkpointed:
		return s.open && s.stop == nil && s.run.checkpointed(f), true
	case event.ToolStart:
		return s.open && s.stop == nil && s.calls.started(e.Seq, f), true
	case fact.ToolDone:
		return s.toolDone(f), true
	case fact.ToolAmended:
		return s.toolAmended(e.Time, f), true
	case event.ToolResult:
		return s.toolResult(e.Seq, f), true
	case event.ModeChanged:
		s.settings.modeChanged(f)
		return true, true
	case event.ModelChanged:
		return s.modelChanged(f), true
	case fact.FallbacksChanged:
		s.model.dropped(s.settings.fallbacksChanged(f))
		return true, true
	case fact.BudgetChanged:
		return s.budgetChanged(f), true
	case fact.CallbackChanged:
		return true, true
	case fact.ToolChanged:
		return s.context.toolChanged(&s.settings, f), true
	case fact.ToolsChanged:
		return s.open && s.context.toolsChanged(&s.settings, f), true
	case fact.Stopped:
		return s.stopped(f), true
	case event.Resumed:
		return s.resumed(e, f), true
	case fact.Hooked:
		return s.hooked(f), true
	case fact.OutputChecked:
		return s.outputChecked(f), true
	case event.PermissionsChanged:
		return s.settings.permissionsChanged(f), true
	case event.AgentStart:
		return s.agents.started(f), true
	case fact.AgentSuspended:
		return s.agents.suspended(f, &s.calls), true
	case event.AgentEnd:
		return s.agentEnd(f), true
	case event.RunEnd:
		return s.runEnded(f), true
	case event.Rewound:
		return true, true
	case event.SessionNamed: // changes nothing for the run
		return false, true
	}
	return false, false
}

func (s *State) configure(f fact.Configured) bool {
	if s.open {
		return false
	}
	if f.Model != s.settings.cfg.Model || !equal(f.Compaction, s.settings.cfg.Compaction) {
		s.context.reconsider()
	}
	s.context.configured(&f)
	s.hooks.added = s.settings.configure(&f)
	return true
}

func (s *State) message(e event.Event, f event.UserMessage) bool {
	if s.inbox.known[f.ID] {
		return false
	}
	tokens := contentTokens(f.Message.Content)
	switch f.Delivery {
	case fact.AsPrompt:
		if s.open || len(s.calls.list) > 0 {
			return false
		}
		s.begin(e)
		s.wantModel(e.Seq)
		s.hooks.forPrompt(&s.settings, e.Seq, &f)
		s.hooks.loaded = nil
		if x := f.Expansion; x != nil && x.Scope != nil {
			s.settings.beginScope(*x.Scope, true)
		}
	case fact.AsContinue:
		if !s.open || s.need.kind != needContinue {
			return false
		}
		s.run.continuing = s.need.msg == ""
		s.wantModel(e.Seq)
	default:
		s.inbox.known[f.ID] = true
		s.hooks.loaded = append(s.hooks.loaded, f.Instructions...)
		if s.open {
			s.hooks.forLoaded(&s.settings, e.Seq, 0)
		}
		s.inbox.queue = append(s.inbox.queue, queued{id: f.ID, delivery: f.Delivery, tokens: tokens, seq: e.Seq})
		return true
	}
	s.inbox.known[f.ID] = true
	s.context.size.add(tokens)
	return true
}

// begin opens a run.
func (s *State) begin(e event.Event) {
	s.open, s.stop, s.need = true, nil, need{}
	s.run = run{seq: e.Seq, began: e.Time, last: e.Time}
	if s.settings.cfg.Output != nil {
		s.run.answer = &answer{want: *s.settings.cfg.Output}
	}
	for _, f := range s.agents.late {
		s.run.agentEnded(f)
	}
	s.agents.late = nil
	s.calls.guard.reset()
	s.hooks.due = s.hooks.due[:0]
	s.settings.endScopes()
	s.settings.fallback = 0 // also the one that a skill has left
	s.context.begin()
}

func (s *State) deliver(seq int64, f fact.Delivered) bool {
	delivered := false
	s.inbox.remove(func(q *queued) bool {
		if !slices.Contains(f.IDs, q.id) {
			return false
		}
		s.context.size.add(q.tokens)
		if q.delivery == fact.AsFollowUp {
			s.settings.endScopes() // the user's earlier request is done
		}
		delivered = true
		return true
	})
	if delivered {
		s.run.continuing, s.run.compacts = false, false
		s.wantModel(seq)
	}
	return delivered
}

func (s *State) stopped(f fact.Stopped) bool {
	if !s.open && len(s.calls.list) == 0 {
		return false
	}
	cleared := s.inbox.drop(f.Cleared)
	if s.stop != nil && s.stop.Reason != event.Suspended {
		return cleared
	}
	if !s.open {
		s.run.reopen()
	}
	s.open, s.stop = true, &f
	return true
}

// resumed continues after a crash or a suspension. It decides about the calls that were
// pending when the program died: a model call is made again, a call that only reads or is
// idempotent is repeated, any other is reported to the model as unknown.
func (s *State) resumed(e event.Event, f event.Resumed) bool {
	if !s.open && !s.Pending() {
		return false
	}
	if !s.open {
		if s.open = true; s.stop != nil && s.stop.Reason != event.Interrupted { // a denial since then interrupts it
			s.stop = nil
		}
		s.run.reopen()
	}
	s.settleBroken(e.Time)
	s.run.notCounted(e.Time)
	s.agents.goOn()
	s.settings.cfg.Hooks = f.Hooks
	s.hooks.keep(func(p CallHooks) bool { return s.settings.fires(p.Event) })
	s.hooks.forStart(&s.settings, key("hook", e.Seq, 0, 0), f.Start)
	if s.stop != nil && s.stop.Reason == event.Suspended {
		s.stop = nil
	}
	if s.model.calling {
		s.model.calling = false
		s.model.attempt++
	}
	if c := s.context.compact; c != nil && c.calling {
		c.calling = false
		c.attempt++
	}
	for i := range s.calls.list {
		s.calls.list[i].resumed()
	}
	return true
}

func (s *State) runEnded(f event.RunEnd) bool {
	if !s.open {
		return false
	}
	if f.Reason != event.Suspended && (s.stop == nil || s.stop.Reason != event.Suspended) {
		s.calls.list = s.calls.list[:0]
	}
	s.open, s.stop, s.hooks.due = false, nil, s.hooks.due[:0]
	s.model.calling, s.model.wait = false, nil
	s.context.end(f.Reason)
	return true
}

func (s *State) agentEnd(f event.AgentEnd) bool {
	ended, ok := s.agents.ended(f)
	switch {
	case !ok:
		return false
	case s.open:
		s.run.agentEnded(ended)
	default:
		s.agents.late = append(s.agents.late, ended)
	}
	return true
}

// Facts that change the configuration of the run.

func (s *State) modelChanged(f event.ModelChanged) bool {
	if f.Model != s.settings.cfg.Model {
		s.context.reconsider()
	}
	s.settings.modelChanged(f)
	s.model.tries = 0
	s.model.changed = s.model.calling // the pending model call is the other model's
	return true
}

// budgetChanged replaces the budget. Running agents share the rest: agents without a limit
// get a part, and parts larger than the rest shrink.
func (s *State) budgetChanged(f fact.BudgetChanged) bool {
	if !s.open {
		return false
	}
	l := f.Limits
	if l.Time != s.settings.cfg.Limits.Time {
		s.run.alarms++
	}
	s.settings.cfg.Limits = l
	s.agents.shareUSD(l.USD-s.run.cost-s.run.lost, l.USD)
	s.agents.share(l.ModelCalls-s.run.modelCalls, l.ModelCalls, func(a *event.AgentStart) *int { return &a.ModelCalls })
	s.agents.share(l.Turns-s.run.turns-s.run.below, l.Turns, func(a *event.AgentStart) *int { return &a.Turns })
	return true
}

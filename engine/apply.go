package engine

import (
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/tool"
)

// Apply takes a fact into the state. It reports whether the fact counted: those
// that the state does not wait for, such as a second result of one effect, are
// ignored.
func (s *State) Apply(e event.Event) bool {
	if s.known == nil {
		s.known = map[string]bool{}
	}
	waiting := s.model.wait
	counted, _ := s.apply(e)
	if counted && s.open {
		s.adjustForClockSkew(e.Time, waiting)
		s.run.last = e.Time
		s.pickQuestion()
		s.suspendIdle()
	}
	return counted
}

// adjustForClockSkew moves what the run has of times when a fact is older than the one
// before: the clock was set back, as can be between a crash and the resumption.
// Without this a run would wait, and last, longer by as much. waiting is the wait
// from before the fact.
func (s *State) adjustForClockSkew(now time.Time, waiting *wait) {
	back := s.run.last.Sub(now)
	if back <= 0 {
		return
	}
	s.run.began = s.run.began.Add(-back)
	if waiting != nil && waiting == s.model.wait {
		s.model.wait = &wait{waiting.key, waiting.until.Add(-back)}
	}
}

// notCounted takes the time since the latest fact out of the run's: nobody worked on
// the run until now, when it is resumed.
func (s *State) notCounted(now time.Time) {
	if idle := now.Sub(s.run.last); idle > 0 {
		s.run.began, s.run.last = s.run.began.Add(idle), now
	}
}

// apply changes the state by one fact. A fact that the switch does not list is not known.
func (s *State) apply(e event.Event) (counted, known bool) {
	switch f := e.Data.(type) {
	case event.Configured:
		return s.configure(f), true
	case event.UserMessage:
		return s.message(e, f), true
	case event.Delivered:
		return s.deliver(e.Seq, f), true
	case event.ModelStart:
		return s.modelStart(f), true
	case event.AssistantMessage:
		return s.answered(e.Seq, f), true
	case event.ModelFailed:
		return s.modelFailed(e.Seq, f), true
	case event.CompactionRequested:
		return s.compactionRequested(e, f), true
	case event.Compacted:
		return s.compacted(e.Seq, f), true
	case event.Waited:
		return s.waited(f), true
	case event.Authorized:
		return s.authorized(f), true
	case event.Answered:
		return s.personAnswered(f), true
	case event.Checkpointed:
		return s.checkpointed(f), true
	case event.ToolStart:
		return s.toolStart(f), true
	case event.ToolDone:
		return s.toolDone(f), true
	case event.ToolAmended:
		return s.toolAmended(f), true
	case event.ToolResult:
		return s.toolResult(e.Seq, f), true
	case event.ModeChanged:
		s.mode = f.Mode
		return true, true
	case event.ModelChanged:
		return s.modelChanged(f), true
	case event.FallbacksChanged:
		return s.fallbacksChanged(f), true
	case event.BudgetChanged:
		return s.budgetChanged(f), true
	case event.CallbackChanged:
		return true, true
	case event.ToolChanged:
		return s.toolChanged(f), true
	case event.ToolsChanged:
		return s.toolsChanged(f), true
	case event.Stopped:
		return s.stopped(f), true
	case event.Resumed:
		return s.resumed(e, f), true
	case event.Hooked:
		return s.hooked(f), true
	case event.OutputChecked:
		return s.outputChecked(f), true
	case event.PermissionsChanged:
		return s.permissionsChanged(f), true
	case event.AgentStart:
		return s.agentStart(f), true
	case event.AgentSuspended:
		return s.agentSuspended(f), true
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

func (s *State) configure(f event.Configured) bool {
	if s.open {
		return false
	}
	s.added = nil
	for _, dir := range f.Roots {
		if len(s.cfg.Roots) > 0 && !slices.Contains(s.cfg.Roots, dir) {
			s.added = append(s.added, dir)
		}
	}
	same := f.Program != "" && f.Program == s.cfg.Program
	if f.Start != "" && s.rules != nil && !same { // what was allowed was allowed to another program
		s.rules.Allow = nil
	}
	fixed := textTokens(f.System)
	if f.Output != nil {
		fixed += textTokens(f.Output.Schema)
	}
	s.found = nil
	for i := range f.Tools {
		t := &f.Tools[i]
		tokens := specTokens(t)
		if !t.Deferred {
			fixed += tokens
			continue
		}
		if s.found == nil {
			s.found = map[string]int{}
		}
		s.found[t.Name] = tokens
	}
	s.size.configured(fixed)
	if c := s.compact; c != nil && (f.Model != s.cfg.Model || !equal(f.Compaction, s.cfg.Compaction)) {
		c.misses = 0
	}
	s.knowOnly(f.Models)
	f.System, f.Models = "", nil
	s.cfg, s.mode, s.dir = f, f.Mode, f.Dir
	return true
}

func (s *State) message(e event.Event, f event.UserMessage) bool {
	if s.known[f.ID] {
		return false
	}
	tokens := contentTokens(f.Message.Content)
	switch f.Delivery {
	case event.AsPrompt:
		if s.open || len(s.calls) > 0 {
			return false
		}
		s.begin(e)
		s.wantModel(e.Seq)
		s.beginPoints(e.Seq, &f)
		s.loaded = nil
		if x := f.Expansion; x != nil && x.Scope != nil {
			s.beginScope(*x.Scope, true)
		}
	case event.AsContinue:
		if !s.open || s.need.kind != needContinue {
			return false
		}
		s.run.continuing = s.need.msg == ""
		s.wantModel(e.Seq)
	default:
		s.known[f.ID] = true
		s.loaded = append(s.loaded, f.Instructions...)
		if s.open {
			s.loadedPoints(e.Seq, 0)
		}
		s.queue = append(s.queue, queued{id: f.ID, delivery: f.Delivery, tokens: tokens, seq: e.Seq})
		return true
	}
	s.known[f.ID] = true
	s.size.add(tokens)
	return true
}

// begin opens a run.
func (s *State) begin(e event.Event) {
	s.open, s.stop, s.need = true, nil, need{}
	s.run = run{seq: e.Seq, began: e.Time, last: e.Time}
	if s.cfg.Output != nil {
		s.run.answer = &answer{want: *s.cfg.Output}
	}
	s.settleOwed()
	s.model.fallback = 0
	s.repeats, s.faults = nil, nil
	s.hookCalls = s.hookCalls[:0]
	s.endScopes()
	s.over = nil
	if c := s.compact; c != nil {
		c.skip = 0
	}
}

func (s *State) deliver(seq int64, f event.Delivered) bool {
	delivered := false
	s.queue = slices.DeleteFunc(s.queue, func(q queued) bool {
		if !slices.Contains(f.IDs, q.id) {
			return false
		}
		s.size.add(q.tokens)
		if q.delivery == event.AsFollowUp {
			s.endScopes() // what the user asked for before is done
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

func (s *State) stopped(f event.Stopped) bool {
	if !s.open && len(s.calls) == 0 {
		return false
	}
	waiting := len(s.queue)
	s.queue = slices.DeleteFunc(s.queue, func(q queued) bool { return slices.Contains(f.Cleared, q.id) })
	if s.stop != nil && s.stop.Reason != event.Suspended {
		return len(s.queue) < waiting
	}
	if !s.open {
		s.anew()
	}
	s.open, s.stop = true, &f
	return true
}

// resumed goes on after a crash or a suspension. What was under way when the
// program died is settled: a model call is made again, a call that only reads
// or is idempotent is repeated, any other is reported to the model as unknown.
func (s *State) resumed(e event.Event, f event.Resumed) bool {
	if !s.open && !s.Pending() {
		return false
	}
	if !s.open {
		s.open, s.stop = true, nil
		s.anew()
	}
	s.notCounted(e.Time)
	s.agentsGoOn()
	s.cfg.Hooks = f.Hooks
	s.hookCalls = slices.DeleteFunc(s.hookCalls, func(p CallHooks) bool { return !s.fires(p.Event) })
	s.startPoint(key("hook", e.Seq, 0, 0), f.Start)
	if s.stop != nil && s.stop.Reason == event.Suspended {
		s.stop = nil
	}
	if s.model.calling {
		s.model.calling = false
		s.model.attempt++
		s.lose(s.model.reserved)
	}
	if c := s.compact; c != nil && c.calling {
		c.calling = false
		c.attempt++
		s.lose(c.reserved)
	}
	for i := range s.calls {
		c := &s.calls[i]
		switch {
		case c.phase == running:
			c.interrupted()
		case c.phase == parked:
			c.phase = allowed
			c.attempt++
		case c.phase == asking, c.phase == waiting:
			c.attempt++
			c.deferred = false
		case c.phase == digesting && c.started:
			s.lose(c.reserved)
			c.started = false
			c.attempt++
		}
	}
	return true
}

// interrupted settles a call that ran when the program died: one that only reads or is
// idempotent is repeated, [maxRepeats] times at most, because it may be what kills the
// program. An agent's work is not bounded here: the agent counts its own calls.
func (c *call) interrupted() {
	c.crashes++
	switch {
	case !c.class.ReadOnly && !c.spec.Idempotent:
		c.refuse(event.ByCrash, tool.NoFault, "The program was cut short while this call ran. Whether it took effect is not known: check before you do it again.")
	case c.crashes > maxRepeats && !c.class.RunsSubagents:
		c.refuse(event.ByCrash, tool.NoFault, "The program was cut short %d times while this call ran, so it is not made again: the call may be what ends the program. Its result is not known.", c.crashes)
	default:
		c.phase = allowed
		c.attempt++
	}
}

func (s *State) runEnded(f event.RunEnd) bool {
	if !s.open {
		return false
	}
	if f.Reason != event.Suspended && (s.stop == nil || s.stop.Reason != event.Suspended) {
		s.calls = s.calls[:0]
	}
	s.open, s.stop, s.hookCalls = false, nil, s.hookCalls[:0]
	s.model.calling, s.model.wait = false, nil
	s.over = nil
	if c := s.compact; c != nil {
		if c.settled(); f.Reason != event.Suspended {
			c.wish.seq = 0
		}
		c.calling = false
		c.attempt++
	}
	return true
}

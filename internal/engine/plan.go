package engine

import (
	"fmt"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/tool"
)

// Effects returns the work that the state wants done, in a fixed order. A [Record] comes
// alone. An open run always wants something. The slice is valid until the next call.
func (s *State) Effects() []Effect {
	if !s.open {
		return nil
	}
	p := planner{s, s.wanted[:0]}
	if s.stop != nil {
		p.stop()
	} else {
		p.run()
	}
	s.wanted = p.effects
	return p.effects
}

// A planner lists the effects that a state wants. It does not change the state.
type planner struct {
	s       *State
	effects []Effect
}

//go:noinline // called from many places: every program stays smaller
func (p *planner) add(e Effect) { p.effects = append(p.effects, e) }

// record wants facts recorded, and nothing else until they are.
//
//go:noinline // called from many places: every program stays smaller
func (p *planner) record(facts ...event.Fact) { p.effects = []Effect{Record{"record", facts}} }

// run lists the effects of a run in progress.
func (p *planner) run() {
	s := p.s
	if s.settings.cfg.Limits.Time > 0 && !s.run.rang {
		p.add(Wait{s.run.alarmKey(), s.run.began.Add(s.settings.cfg.Limits.Time)})
	}
	if len(s.hooks.due) > 0 {
		p.add(s.hooks.due[0])
		if order.Any(len(s.hooks.due), func(i int) bool { return s.hooks.due[i].Event == hook.SessionStart }) {
			return // a run that is resumed may have calls, which come after it
		}
	}
	switch {
	case len(s.calls.list) > 0:
		p.calls()
		if len(p.effects) == 0 { // a question was deferred, and agents are running
			p.await()
		}
	case len(s.hooks.due) == 0:
		p.next()
	}
}

// calls lets calls run that do not wait for an earlier one.
func (p *planner) calls() {
	s := p.s
	var facts []event.Fact
	barrier, keeping, busy, first := false, false, s.calls.running(), 0
	for i := range s.calls.list {
		c := &s.calls.list[i]
		switch c.phase {
		case refused:
			facts = append(facts, c.refusal())
		case proposed:
			if !barrier {
				p.add(Authorize{c.key("authorize"), c.id, s.settings.mode, s.settings.dir, c.guard})
			}
		case asking:
			if c.id == s.calls.asked && !c.deferred {
				p.add(Ask{c.question(), c.id})
			}
		case allowed:
			switch {
			case busy >= max(s.settings.cfg.Parallel, 1) || s.calls.blocked(first, i):
			case !p.keepFirst(c):
				p.runTool(c)
				busy++
			case !keeping:
				p.add(TakeCheckpoint{s.run.checkpointKey(), s.run.seq, s.settings.dir})
				keeping = true
			}
		case checking:
			p.add(CheckOutput{c.key("output"), c.id})
		case waiting:
			if c.id == s.calls.asked {
				p.add(AskPerson{c.question(), c.id})
			}
		default:
			p.finishCall(c)
		}
		barrier = barrier || c.phase != settled && c.spec.Barrier
		if first == i && !c.holdsUp() {
			first++
		}
	}
	if len(facts) > 0 {
		p.record(facts...)
	}
}

// finishCall lists the effects of a call that has begun and has no result yet.
func (p *planner) finishCall(c *call) {
	switch c.phase {
	case running:
		p.runTool(c)
	case digesting:
		tokens, usd, _ := p.s.budget().digest(c)
		p.add(Digest{c.key("digest"), c.id, p.s.settings.cfg.Small, tokens, usd})
	case done:
		p.add(RunHooks{c.key("hooks"), c.id})
	case gathering:
		if p.s.calls.gathered(c) {
			p.add(GatherResults{c.key("gather"), c.id})
		}
	}
}

func (p *planner) runTool(c *call) {
	p.add(RunTool{c.key("tool"), c.id, p.s.settings.mode, p.s.settings.dir})
}

// keepFirst reports whether the files must be kept before a call starts.
func (p *planner) keepFirst(c *call) bool {
	return p.s.settings.cfg.Checkpoints && !p.s.run.kept && !c.class.ReadOnly && !c.class.Internal
}

// next continues with the conversation when no call is open.
func (p *planner) next() {
	s := p.s
	if s.context.compacting() {
		p.summary()
		return
	}
	if s.need.kind == needModel && !s.model.busy() {
		if reason := s.budget().limit(&s.context.size); reason != "" {
			p.finish(reason, need{})
			return
		}
	}
	if p.deliver() || p.compact() {
		return
	}
	switch {
	case s.need.kind == needEnd:
		p.end()
	case s.need.kind == needContinue && s.need.msg != "":
		p.record(s.run.goOn(s.model.cause, s.need.msg))
	case s.need.kind == needContinue:
		p.record(s.model.continuation())
	case s.model.wait != nil && !s.model.calling:
		p.wait()
	default:
		p.callModel()
	}
}

func (p *planner) callModel() {
	s := p.s
	tokens, usd, _ := s.budget().modelCall(&s.context.size)
	p.add(CallModel{s.model.key(), s.settings.model(), tokens, usd, s.model.tries})
}

// wait waits for the next attempt to call the model.
func (p *planner) wait() { p.add(Wait{p.s.model.wait.key, p.s.model.wait.until}) }

// await waits for agents.
func (p *planner) await() {
	p.add(Wait{key("await", p.s.model.cause, 0, 0), p.s.run.began.AddDate(10, 0, 0)})
}

// deliver delivers the messages whose time has come. It reports whether there are any.
func (p *planner) deliver() bool {
	s := p.s
	if s.model.busy() {
		return false
	}
	ids := s.inbox.deliverable(s.need, s.run.compacts)
	if len(ids) == 0 {
		return false
	}
	if s.settings.fires(hook.UserPromptSubmit) {
		if f, ok := s.inbox.unchecked(ids); ok {
			p.add(f)
			return true
		}
	}
	p.record(fact.Delivered{IDs: ids})
	return true
}

// end ends a run that has nothing more to do.
func (p *planner) end() {
	s := p.s
	completed := s.need.reason == event.Completed
	switch {
	case completed && s.agents.atWork(s.settings.cfg.Awaits) && !s.run.compacts:
		p.await()
	case completed && len(s.agents.Waiting()) > 0:
		p.finish(event.Suspended, need{msg: "an agent waits for a decision that was deferred"})
	case s.run.unjudged(s.need.reason):
		p.add(CheckOutput{s.run.ending.key("final", s.model.cause), ""})
	default:
		p.finish(s.need.reason, s.need)
	}
}

// stop settles the open effects of a stopped run, then ends it.
func (p *planner) stop() {
	s := p.s
	suspend := s.stop.Reason == event.Suspended
	var facts []event.Fact
	for i := range s.calls.list {
		c := &s.calls.list[i]
		switch {
		case c.phase == refused:
			facts = append(facts, c.refusal())
		case c.phase < running || c.phase == waiting || c.phase == parked:
			if !suspend {
				facts = append(facts, event.ToolResult{Key: c.key("result"), Call: c.id, Cause: fact.ByCancel,
					Result: *tool.Errorf("%s: the run was stopped (%s)", c.left(), s.stop.Reason)})
			}
		default:
			p.finishCall(c)
		}
	}
	if len(s.hooks.due) > 0 {
		p.add(s.hooks.due[0])
	}
	switch {
	case len(facts) > 0:
		p.record(facts...)
	case s.model.calling:
		p.callModel()
	case s.context.compact != nil && s.context.compact.calling:
		e, _ := s.compactor().summarise(s.context.compact.doing)
		p.add(e)
	case len(p.effects) == 0:
		p.finish(s.stop.Reason, need{msg: s.stop.Message})
	}
}

// finish ends the run, once the hooks of its end were called.
func (p *planner) finish(reason event.EndReason, n need) {
	s := p.s
	failed := reason == event.ModelError || reason == event.ContextOverflow
	switch {
	case failed && !s.run.failureTold && s.settings.fires(hook.StopFailure):
		p.add(CallHooks{key: s.run.ending.key("stopfailure", s.model.cause), Event: hook.StopFailure, Fields: map[string]string{
			"reason": string(reason), "error": string(n.class), "error_details": n.msg, "last_assistant_message": s.run.text}})
	case !s.run.told && s.settings.fires(s.settings.stopEvent()):
		p.add(CallHooks{key: s.run.ending.key("stop", s.model.cause), Event: s.settings.stopEvent(), Active: s.run.stops > 0, Fields: map[string]string{
			"reason": string(reason), "last_assistant_message": s.run.text}})
	default:
		p.record(s.run.endFact(reason, n, s.inbox.cancellable()))
	}
}

// summary lists the effects of a summary in the making.
func (p *planner) summary() {
	s, c := p.s, p.s.context.compact
	if s.model.wait != nil {
		p.wait()
		return
	}
	k := s.compactor()
	if e, ok := k.summarise(c.doing); ok || c.calling {
		p.add(e)
		return
	}
	p.record(k.failed(c.doing, noBudget))
}

// compact lists the effects of a compaction, which come before all others. It reports
// whether a compaction is due.
func (p *planner) compact() bool {
	s := p.s
	if s.model.busy() {
		return false
	}
	c, k := s.context.compact, s.compactor()
	trigger := k.trigger()
	switch {
	case trigger == "":
		return false
	case trigger == fact.Overflow && (k.cutsOnly() || k.answers == 0 && c != nil && c.misses >= maxMisses): // then there is nothing to compact, not even by hand
		p.add(k.cut(false))
	case c != nil && c.misses >= maxMisses && trigger != fact.Manual:
		p.record(k.failed(trigger, fmt.Sprintf("the conversation comes near the end of the context window, and %d compactions in a row have not helped: %s; compact it by hand, take a model with a larger window, or begin a new session", c.misses, c.why)))
	case trigger == fact.Manual && k.answers == 0:
		p.record(k.failed(trigger, NothingToCompact))
	case s.settings.fires(hook.PreCompact) && (c == nil || c.asked != k.hookKey(trigger)):
		f := CallHooks{key: k.hookKey(trigger), Event: hook.PreCompact, Fields: map[string]string{"trigger": string(hookTrigger(trigger))}}
		if trigger == fact.Manual {
			f.Fields["custom_instructions"] = c.wish.instructions
		}
		p.add(f)
	default:
		return p.shorten(k, trigger)
	}
	return true
}

// shorten takes the first sufficient way to make the conversation shorter: clear old
// results, truncate large parts, summarise. It reports false if the budget does not allow a
// summary in time; that decides about the call as well.
func (p *planner) shorten(k compactor, trigger event.Trigger) bool {
	if trigger != fact.Manual {
		if f, ok := k.clearing(trigger); ok {
			p.record(f)
			return true
		}
	}
	if trigger == fact.Overflow && k.cutsFirst() {
		p.add(k.cut(true))
		return true
	}
	if c := k.compact; trigger == fact.Manual || (k.answers >= summaryAnswers || trigger == fact.Overflow) && (c == nil || c.skip != k.next) {
		if e, ok := k.summarise(trigger); ok {
			p.add(e)
			return true
		}
		if trigger == fact.Manual {
			p.record(k.failed(trigger, noBudget))
			return true
		}
	}
	if trigger == fact.Auto {
		return false
	}
	p.add(k.cut(false))
	return true
}

// idle reports whether the run only waits for a question that was deferred, or that an
// agent waits for. Other calls are judged and run first.
func (p *planner) idle() bool {
	s := p.s
	if !s.open || s.stop != nil || len(s.hooks.due) > 0 || !s.calls.deferred() {
		return false
	}
	p.calls()
	return len(p.effects) == 0 && !s.agents.atWork(s.settings.cfg.Awaits)
}

// atEnd reports whether the run comes to its end.
func (p *planner) atEnd() bool {
	s := p.s
	if s.stop != nil {
		return true
	}
	if len(s.calls.list) > 0 {
		return false
	}
	return s.need.kind == needEnd || s.need.kind == needModel && !s.model.busy() && s.budget().limit(&s.context.size) != ""
}

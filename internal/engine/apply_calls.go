package engine

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// Facts of calls of tools.

func (s *State) authorized(f fact.Authorized) bool {
	c := s.calls.find(f.Call)
	if s.open && s.stop == nil && c != nil && c.phase == running && f.Key == c.key("tool") && f.Decision.Behavior == permission.Asked {
		c.approvalExpired(&f.Decision)
		return true
	}
	if !s.open || s.stop != nil || c == nil || c.phase != proposed || f.Key != c.key("authorize") {
		return false
	}
	c.class, c.judged = f.Class, true
	if f.Invalid != "" {
		c.refuse(fact.ByTool, toolrun.InvalidInput, "%s", f.Invalid)
		s.run.stopRepeatedCall(c.guard, "the input is invalid")
	} else if s.calls.rebatch(c, &f.Decision, &s.settings, &s.run); c.phase == refused {
		// the hook's input is not a batch
	} else if f.Decision.Behavior == permission.Deferred {
		c.decision, c.phase, c.deferred = f.Decision, asking, true
		c.decision.Input = nil
	} else {
		s.judge(c, &f.Decision)
	}
	if f.Stop != "" && s.stop == nil {
		s.stop = &fact.Stopped{Reason: event.HookStopped, Message: f.Stop}
	}
	return true
}

// approvalExpired takes in that a call was not made, because the decision that allowed it
// had ended. The call is asked about again.
func (c *call) approvalExpired(d *permission.Decision) {
	c.decision, c.phase = *d, asking
	c.attempt++
}

func (s *State) personAnswered(seq int64, f fact.Answered) bool {
	c := s.calls.find(f.Call)
	if c == nil || c.phase != asking || f.Key != c.question() {
		return false
	}
	if (!s.open || s.stop != nil) && f.Decision.Behavior == permission.Deferred {
		return false // it waits already
	}
	if !s.unsuspend() {
		return false
	}
	if f.Decision.Behavior == permission.Asked { // asking is not an answer
		f.Decision = permission.Decision{Behavior: permission.Denied, Reason: "nobody decided", Source: policies.FromDefault}
	}
	if f.Class != nil {
		c.class = *f.Class
	}
	if c.approved = 0; c.decision.Behavior != permission.Allowed {
		c.approved, c.begun = seq, 0
	}
	s.judge(c, &f.Decision)
	return true
}

func (s *State) toolDone(f fact.ToolDone) bool {
	c := s.calls.find(f.Call)
	switch {
	case !s.open || c == nil:
		return false
	case c.phase == running && f.Key == c.key("tool"):
	case c.phase == gathering && s.calls.gathered(c) && f.Key == c.key("gather"):
	default:
		return false
	}
	switch {
	case len(f.Result.Questions) > 0:
		c.phase = waiting
	case f.Digest != "" && s.settings.cfg.Small != "" && s.stop == nil:
		c.phase, c.tokens = digesting, textTokens(f.Digest)+contentTokens(f.Result.Content)
		if _, _, ok := s.budget().digest(c); !ok {
			c.phase = done
		}
	default:
		c.phase = done
	}
	return true
}

// toolAmended takes a person's answers or the small model's digest.
func (s *State) toolAmended(at time.Time, f fact.ToolAmended) bool {
	c := s.calls.find(f.Call)
	switch {
	case c == nil:
		return false
	case c.phase == waiting && f.Key == c.question() && (s.unsuspend() || s.open):
	case s.open && c.phase == digesting && f.Key == c.key("digest"):
		switch {
		case f.Model != "" && f.Usage != (llm.Usage{}):
			s.run.spend(f.Model, f.Usage, f.CostUSD)
		case c.started: // it failed: its possible cost counts
			s.run.lose(s.budget().broken(f.Model, c.tokens, c.reserved.after(at), c.reserved.usd))
		}
		c.started = false
	default:
		return false
	}
	c.phase = done
	return true
}

func (s *State) toolResult(seq int64, f event.ToolResult) bool {
	c := s.calls.find(f.Call)
	if !s.open || c == nil {
		return false
	}
	kind := "result"
	switch {
	case c.phase == running, c.phase == allowed && s.stop == nil && f.Cause == fact.ByDenial:
		kind = "tool"
	case c.phase == done:
		kind = "hooks"
	case c.phase == gathering && s.calls.gathered(c):
		kind = "gather"
	case c.phase != refused && (s.stop == nil || c.phase > running && c.phase != waiting && c.phase != parked):
		return false
	}
	if f.Key != c.key(kind) {
		return false
	}
	if kind == "tool" && f.Cause == fact.ByDenial { // denied when judged again
		s.hooks.forDenial(&s.settings, c, f.Result.Text())
		s.run.denials = append(s.run.denials, event.Denial{Call: c.id, ToolID: c.toolID, Tool: c.name, Reason: f.Result.Text(), Source: policies.FromRule})
	}
	s.recordResult(c, seq, &f)
	return true
}

// judge applies a decision to a call that waits for one.
func (s *State) judge(c *call, d *permission.Decision) {
	if d.Behavior == permission.Deferred {
		s.deferred(c, d)
		return
	}
	c.decision = *d
	c.decision.Input = nil
	switch d.Behavior {
	case permission.Allowed:
		c.phase = allowed
		s.calls.guard.allowed(c)
		if c.spec.Batch {
			s.calls.startBatch(c, d.Input, &s.settings, &s.run)
		}
	case permission.Asked:
		c.phase = asking
	default:
		s.hooks.forDenial(&s.settings, c, d.Reason)
		s.run.deny(c, d)
		if d.Interrupt && s.stop == nil {
			s.stop = &fact.Stopped{Reason: event.Interrupted, Message: "interrupted"}
		}
	}
}

// deferred leaves a call for later.
func (s *State) deferred(c *call, d *permission.Decision) {
	if d.Reason == "" && c.decision.Behavior == permission.Asked { // why it is asked about still holds
		c.decision.Expires = d.Expires
	} else {
		c.decision = *d
	}
	c.decision.Input = nil
	c.phase, s.stop = asking, suspended()
}

func suspended() *fact.Stopped {
	return &fact.Stopped{Reason: event.Suspended, Message: "a permission question was deferred"}
}

// takesAnswers reports whether answers to questions count. They do not in a run that is
// being stopped, unless it is about to be suspended.
func (s *State) takesAnswers() bool { return s.stop == nil || s.stop.Reason == event.Suspended }

// unsuspend prepares for an answer to a question: a run that is about to be suspended
// continues. It reports false if the answer does not count.
//
//go:noinline // every program stays smaller
func (s *State) unsuspend() bool {
	if s.stop == nil || !s.takesAnswers() {
		return s.stop == nil
	}
	s.stop = nil
	s.run.reopen()
	return true
}

// recordResult gives a call its result, and ends the batch when it was the last one.
func (s *State) recordResult(c *call, seq int64, f *event.ToolResult) {
	ran := c.ran(f.Cause)
	c.phase = settled
	s.calls.guard.settled(c, f, s.settings.loop())
	s.hooks.forResult(&s.settings, c, seq, f)
	p := f.Result.Patch
	if p.Mode != "" {
		s.settings.mode = p.Mode
	}
	if p.Dir != "" {
		s.settings.dir = p.Dir
	}
	if ran {
		s.run.used(c.name, f)
	}
	s.context.found(p.Enable)
	if p.Begin != nil {
		s.settings.beginScope(*p.Begin, false)
	} else if p.End {
		s.settings.endScope()
	}
	if p.EndRun {
		s.run.end, s.run.toolText = event.ToolEnded, f.Result.Text()
	}
	if f.Stop != "" && s.stop == nil {
		s.stop = &fact.Stopped{Reason: event.HookStopped, Message: f.Stop}
	}
	if c.batch == "" {
		tokens := contentTokens(f.Result.Content)
		s.context.size.add(tokens)
		s.context.produced(c, tokens, &f.Result)
	}
	if !s.calls.clearIfSettled() {
		return
	}
	if s.run.end != "" {
		s.need = need{kind: needEnd, reason: s.run.end, msg: s.run.endMessage}
		return
	}
	if s.need.kind != needEnd {
		s.wantModel(seq)
		if s.settings.fires(hook.PostToolBatch) {
			s.hooks.add(&s.settings, CallHooks{key: key("batch", seq, 0, 0), Event: hook.PostToolBatch})
		}
	}
}

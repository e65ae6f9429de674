package engine

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Facts of calls of tools.

func (s *State) authorized(f event.Authorized) bool {
	c := s.find(f.Call)
	if !s.open || s.stop != nil || c == nil || c.phase != proposed || f.Key != c.key("authorize") {
		return false
	}
	c.class, c.judged = f.Class, true
	if f.Invalid != "" {
		c.refuse(event.ByTool, tool.InvalidInput, "%s", f.Invalid)
		s.stopRepeatedCall(c, "the input is invalid")
	} else if s.rebatch(c, f.Decision); c.phase == refused {
		// what the hook has made of it is no batch
	} else if f.Decision.Behavior == permission.Deferred {
		c.decision, c.phase, c.deferred = f.Decision, asking, true
		c.decision.Input = nil
	} else {
		s.judge(c, f.Decision)
	}
	if f.Stop != "" && s.stop == nil {
		s.stop = &event.Stopped{Reason: event.HookStopped, Message: f.Stop}
	}
	return true
}

func (s *State) personAnswered(f event.Answered) bool {
	c := s.find(f.Call)
	if s.stop != nil || c == nil || c.phase != asking || f.Key != c.key("ask") {
		return false
	}
	if !s.open && f.Decision.Behavior == permission.Deferred {
		return false // it waits already
	}
	if f.Decision.Behavior == permission.Asked { // asking is not an answer
		f.Decision = permission.Decision{Behavior: permission.Denied, Reason: "nobody decided", Source: permission.FromDefault}
	}
	if f.Class != nil {
		c.class = *f.Class
	}
	s.judge(c, f.Decision)
	return true
}

func (s *State) checkpointed(f event.Checkpointed) bool {
	if !s.open || s.stop != nil || s.run.kept || f.Key != s.checkpointKey() {
		return false
	}
	s.run.kept = true
	return true
}

func (s *State) toolStart(f event.ToolStart) bool {
	c := s.find(f.Call)
	if !s.open || s.stop != nil || c == nil || c.phase != allowed || f.Key != c.key("tool") {
		return false
	}
	c.phase = running
	return true
}

func (s *State) toolDone(f event.ToolDone) bool {
	c := s.find(f.Call)
	switch {
	case !s.open || c == nil:
		return false
	case c.phase == running && f.Key == c.key("tool"):
	case c.phase == gathering && s.gathered(c) && f.Key == c.key("gather"):
	default:
		return false
	}
	switch {
	case len(f.Result.Questions) > 0:
		c.phase = waiting
	case f.Digest != "" && s.cfg.Small != "" && s.stop == nil:
		c.phase, c.tokens = digesting, textTokens(f.Digest)+contentTokens(f.Result.Content)
		if _, _, ok := s.reserveDigest(c); !ok {
			c.phase = done
		}
	default:
		c.phase = done
	}
	return true
}

func (s *State) digestStart(f event.ModelStart) bool {
	c := s.find(f.Call)
	if !s.open || c == nil || c.phase != digesting || c.started || f.Key != c.key("digest") {
		return false
	}
	c.started, c.reserved = true, f.ReservedUSD
	s.run.modelCalls++
	return true
}

// toolAmended takes a person's answers or the small model's digest.
func (s *State) toolAmended(f event.ToolAmended) bool {
	c := s.find(f.Call)
	switch {
	case !s.open || c == nil:
		return false
	case c.phase == waiting && f.Key == c.key("answer"):
	case c.phase == digesting && f.Key == c.key("digest"):
		switch {
		case f.Model != "" && f.Usage != (llm.Usage{}):
			s.spend(f.Model, f.Usage, f.CostUSD)
		case c.started: // it failed: what it can have cost counts
			s.lose(c.reserved)
		}
		c.started = false
	default:
		return false
	}
	c.phase = done
	return true
}

func (s *State) toolResult(seq int64, f event.ToolResult) bool {
	c := s.find(f.Call)
	if !s.open || c == nil {
		return false
	}
	kind := "result"
	switch {
	case c.phase == running, c.phase == allowed && s.stop == nil && f.Cause == event.ByDenial:
		kind = "tool"
	case c.phase == done:
		kind = "hooks"
	case c.phase == gathering && s.gathered(c):
		kind = "gather"
	case c.phase != refused && (s.stop == nil || c.phase > running && c.phase != waiting && c.phase != parked):
		return false
	}
	if f.Key != c.key(kind) {
		return false
	}
	if kind == "tool" && f.Cause == event.ByDenial { // denied when judged again
		s.deniedPoint(c, f.Result.Text())
		s.run.denials = append(s.run.denials, event.Denial{Call: c.id, ToolID: c.toolID, Tool: c.name, Reason: f.Result.Text(), Source: permission.FromRule})
	}
	s.recordResult(c, seq, f)
	return true
}

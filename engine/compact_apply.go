package engine

import (
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
)

// Facts of compactions.

func (s *State) compactionRequested(e event.Event, f event.CompactionRequested) bool {
	if !s.open && (s.known[f.ID] || len(s.calls) > 0) {
		return false
	}
	s.known[f.ID] = true
	c := s.shorten()
	c.wish.seq, c.wish.instructions = e.Seq, f.Instructions
	if s.open {
		return true
	}
	s.begin(e)
	s.model.cause, s.model.attempt, s.model.tries = e.Seq, 0, 0
	s.model.calling, s.model.wait, s.model.changed = false, nil, false
	s.need = need{kind: needEnd, reason: event.Completed}
	s.run.compacts, s.run.told, s.run.failureTold = true, true, true // nothing was asked that could have been answered
	s.startPoint(key("hook", e.Seq, 1, 0), s.cfg.Start)
	return true
}

// compactionStarted takes in that a model was called for a summary.
func (s *State) compactionStarted(f event.ModelStart) bool {
	if !s.open || s.stop != nil || s.model.calling || s.model.wait != nil || len(s.calls) > 0 {
		return false
	}
	t := f.Compacts
	c := s.shorten()
	switch {
	case c.calling:
		return false
	case c.doing == "" && (t != s.trigger() || f.Key != s.compactionKey(s.compactionCause(t))):
		return false
	case c.doing != "" && (t != c.doing || f.Key != s.compactionKey(c.cause)):
		return false
	}
	if e, ok := s.summarise(t); ok {
		c.less = e.Less
	}
	c.cause = s.compactionCause(t)
	c.doing, c.calling, c.reserved = t, true, f.ReservedUSD
	s.run.modelCalls++
	return true
}

// summaryFailed takes in that a call for a summary came to nothing.
func (s *State) summaryFailed(seq int64, f event.ModelFailed) bool {
	c := s.compact
	c.calling = false
	c.attempt++
	c.tries++
	s.run.api += f.Duration
	if f.Usage != (llm.Usage{}) {
		s.spend(f.Model, f.Usage, f.CostUSD)
		if f.CostUSD != nil {
			s.lose(max(0, c.reserved-*f.CostUSD))
		}
	}
	switch {
	case s.stop != nil:
		c.doing = ""
	case f.Retry && c.tries <= s.cfg.Retries:
		s.model.wait = &wait{key("wait", seq, 0, 0), f.RetryAt}
	case (f.Class == llm.TooLong || f.Class == llm.TooLarge) && c.less < maxLess:
		if c.less == 0 && f.Class == llm.TooLong {
			s.learnWindow(f.Model)
		}
		c.less, c.tries, c.refused = c.less+1, 0, true
	default:
		s.missed(f.Message, need{needEnd, event.ModelError, f.Message, f.Class, f.Status, f.RequestID})
	}
	return true
}

// missed ends a compaction that has changed nothing. The end is that of a run which
// does nothing else.
func (s *State) missed(why string, end need) {
	c := s.compact
	t := c.doing
	if t == "" {
		t = s.trigger()
	}
	c.settled()
	if t == event.Manual {
		c.wish.seq = 0
		if s.run.compacts && s.need.kind == needEnd {
			s.need = end
			s.run.text = "Not compacted: " + why + "."
		}
		return
	}
	c.skip = s.model.cause // this call may still fit
	if why != NothingToCompact {
		c.misses++
		c.why = why
	}
}

// settled forgets how the last summary was asked for.
func (c *compaction) settled() {
	c.doing, c.less, c.tries, c.refused, c.again, c.wishes = "", 0, 0, false, false, ""
}

// compacted takes in a compaction.
func (s *State) compacted(seq int64, f event.Compacted) bool {
	if !s.open || s.compact == nil && s.over == nil {
		return false
	}
	c := s.shorten()
	switch {
	case c.doing != "":
		if f.Trigger != c.doing || f.Key != s.compactionKey(c.cause) || !c.calling && f.Failed == "" {
			return false
		}
	case s.stop != nil || s.model.calling || s.model.wait != nil || len(s.calls) > 0 || f.Until > 0 || f.Trigger != s.trigger() || f.Key != s.compactionKey(s.compactionCause(f.Trigger)):
		return false
	}
	c.attempt++
	if c.calling {
		c.calling = false
		s.run.api += f.Duration
		switch {
		case f.Model == "": // it was not called after all
			s.run.modelCalls--
		case f.Usage != (llm.Usage{}):
			s.spend(f.Model, f.Usage, f.CostUSD)
		default: // what it can have cost counts
			s.lose(c.reserved)
		}
	}
	if f.Failed != "" {
		switch {
		case s.stop != nil:
			c.doing = ""
		case c.doing == "" && f.Trigger == event.Overflow && c.misses < maxMisses:
			s.cutFailed(f.Failed)
		case c.doing == "" && f.Trigger != event.Manual: // there is nothing more to try
			s.over = nil
			s.need = need{kind: needEnd, reason: event.ContextOverflow, msg: f.Failed, class: llm.TooLong}
		case c.doing != "" && f.Cut && !c.again: // once more, with more room
			c.again = true
		case c.doing != "" && c.less == 0 && f.Model != "": // the model has done something else: once more, with less freedom
			c.less = 1
		default:
			end := need{kind: needEnd, reason: event.Completed}
			if f.Failed == noBudget {
				end.reason = event.MaxBudget
			} else if f.Failed != NothingToCompact {
				end = need{kind: needEnd, reason: event.ModelError, msg: f.Failed, class: llm.Protocol}
			}
			s.missed(f.Failed, end)
		}
		return true
	}
	s.shortened(seq, f)
	return true
}

// shortened takes in a compaction that has changed the conversation.
func (s *State) shortened(seq int64, f event.Compacted) {
	c := s.compact
	s.size.compacted(s.Model(), f.After)
	c.results = slices.DeleteFunc(c.results, func(r result) bool {
		return answerOf(r.call) <= f.Until || slices.ContainsFunc(f.Cleared, func(x event.Cleared) bool { return x.Call == r.call && x.Keep == 0 })
	})
	for _, x := range f.Cleared {
		if i := slices.IndexFunc(c.results, func(r result) bool { return r.call == x.Call }); i >= 0 {
			c.results[i].tokens = min(c.results[i].tokens, clearedTokens+x.Keep/3)
		}
	}
	if f.Until > 0 {
		s.answers, c.made = 0, true
	}
	if f.Trigger == event.Manual {
		c.wish.seq = 0
	}
	if s.gainedTooLittle(f) {
		c.misses++
		c.why = fmt.Sprintf("the last one has made of %d tokens %d", f.Before, f.After)
	} else {
		c.misses = 0
	}
	if f.TooLarge != "" && s.over != nil {
		s.tooLarge(f)
	}
	c.settled()
	if s.over != nil {
		s.over.due = false
	}
	if s.run.compacts && s.need.kind == needEnd {
		s.run.text = fmt.Sprintf("Compacted: about %d tokens are %d now.", f.Before, f.After)
	}
	if s.fires(hook.PostCompact) {
		s.callHooks(CallHooks{key: key("postcompact", seq, 0, 0), Event: hook.PostCompact, Fields: map[string]string{
			"trigger": string(hookTrigger(f.Trigger)), "compact_summary": f.Summary}})
	}
}

// gainedTooLittle reports whether a compaction counts as a failure: a summary that saves
// less than a tenth, or one made in time that leaves too much.
func (s *State) gainedTooLittle(f event.Compacted) bool {
	little := f.After*10 > f.Before*9
	if f.Trigger != event.Auto {
		return little && f.Until > 0
	}
	room, _ := s.room(s.Model())
	return little || f.After > room
}

// preCompacted takes in what hooks say of a compaction that is about to be made.
func (s *State) preCompacted(f event.Hooked) bool {
	if f.Event != hook.PreCompact || s.stop != nil || s.model.calling || s.model.wait != nil || len(s.calls) > 0 {
		return false
	}
	t := s.trigger()
	if t == "" || f.Key != s.preCompactKey(s.compactionCause(t)) {
		return false
	}
	c := s.shorten()
	if c.doing != "" || c.asked == f.Key {
		return false
	}
	if f.Block == "" {
		c.asked, c.wishes = f.Key, f.Instructions
		return true
	}
	c.attempt++
	switch t {
	case event.Manual:
		c.wish.seq = 0
		if s.run.compacts && s.need.kind == needEnd {
			s.need = need{kind: needEnd, reason: event.HookStopped, msg: f.Block}
		}
	case event.Overflow:
		s.over.due = false
		s.need = need{kind: needEnd, reason: event.ContextOverflow, class: llm.TooLong, msg: "a PreCompact hook does not let the conversation be compacted: " + f.Block}
	default:
		c.skip = s.model.cause
	}
	return true
}

// equal reports whether two settings of compactions are.
func equal(a, b *event.Compaction) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

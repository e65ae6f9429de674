package engine

import (
	"fmt"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// Facts of compactions.

func (s *State) compactionRequested(e event.Event, f fact.CompactionRequested) bool {
	if !s.open && (s.inbox.known[f.ID] || len(s.calls.list) > 0) {
		return false
	}
	s.inbox.known[f.ID] = true
	c := s.context.shorten()
	c.wish.seq, c.wish.instructions = e.Seq, f.Instructions
	if s.open {
		return true
	}
	s.begin(e)
	s.model.want(e.Seq)
	s.need = need{kind: needEnd, reason: event.Completed}
	s.run.compacts, s.run.told, s.run.failureTold = true, true, true // nothing was asked that could have been answered
	s.hooks.forStart(&s.settings, key("hook", e.Seq, 1, 0), s.settings.cfg.Start)
	return true
}

// summaryFailed takes in that a call for a summary came to nothing.
func (s *State) summaryFailed(seq int64, f *event.ModelFailed) bool {
	c := s.context.compact
	c.calling = false
	c.attempt++
	c.tries++
	s.run.api += f.Duration
	if f.Usage != (llm.Usage{}) {
		s.brokeOff(f, c.reserved.usd)
	}
	switch {
	case s.stop != nil:
		c.doing = ""
	case f.Class == llmconst.Detached:
		c.tries--
	case f.Retry && c.tries <= s.settings.cfg.Retries:
		s.model.wait = &wait{key("wait", seq, 0, 0), f.RetryAt}
	case (f.Class == llm.TooLong || f.Class == llmconst.TooLarge) && c.less < maxLess:
		if c.less == 0 && f.Class == llm.TooLong {
			s.context.learnWindow(&s.settings, f.Model)
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
	c := s.context.compact
	t := c.doing
	if t == "" {
		t = s.compactor().trigger()
	}
	c.settled()
	if t == fact.Manual {
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

// compacted takes in a compaction.
func (s *State) compacted(seq int64, f event.Compacted) bool {
	if !s.open || s.context.compact == nil && s.context.over == nil {
		return false
	}
	c, k := s.context.shorten(), s.compactor()
	switch {
	case f.Key != k.key(f.Trigger):
		return false
	case c.doing != "":
		if f.Trigger != c.doing || !c.calling && f.Failed == "" {
			return false
		}
	case s.stop != nil || s.model.busy() || len(s.calls.list) > 0 || f.Until > 0 || f.Trigger != k.trigger():
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
			s.run.spend(f.Model, f.Usage, f.CostUSD)
		default: // its possible cost counts
			s.run.lose(s.budget().broken(f.Model, s.context.size.tokens(f.Model), f.Duration, c.reserved.usd))
		}
	}
	if f.Failed != "" {
		switch {
		case s.stop != nil:
			c.doing = ""
		case c.doing == "" && f.Trigger == fact.Overflow && c.misses < maxMisses:
			if s.compactor().cutsFirst() { // perhaps a summary does
				s.context.over.cut = true
			} else {
				s.need = s.context.over.failed(f.Failed)
			}
		case c.doing == "" && f.Trigger != fact.Manual: // there is nothing more to try
			s.context.over = nil
			s.need = need{kind: needEnd, reason: event.ContextOverflow, msg: f.Failed, class: llm.TooLong}
		case c.doing != "" && f.Cut && !c.again: // once more, with more room
			c.again = true
		case c.doing != "" && c.less == 0 && f.Model != "": // the model has done something else: once more, with less freedom
			c.less = 1
		default:
			end := need{kind: needEnd, reason: event.Completed}
			if f.Failed == noBudget {
				end.reason = event.MaxBudget
				if l := s.settings.cfg.Limits.ModelCalls; l > 0 && s.budget().modelCalls() >= l {
					end.reason = event.MaxModelCalls
				}
			} else if f.Failed != NothingToCompact {
				end = need{kind: needEnd, reason: event.ModelError, msg: f.Failed, class: llmconst.Protocol}
			}
			s.missed(f.Failed, end)
		}
		return true
	}
	if f.TooLarge != "" && s.context.over != nil {
		s.need = s.context.over.tooLarge(&f)
	}
	s.compactor().shortened(&f)
	if s.run.compacts && s.need.kind == needEnd {
		s.run.text = fmt.Sprintf("Compacted: about %d tokens are %d now.", f.Before, f.After)
	}
	if s.settings.fires(hook.PostCompact) {
		s.hooks.add(&s.settings, CallHooks{key: key("postcompact", seq, 0, 0), Event: hook.PostCompact, Fields: map[string]string{
			"trigger": string(hookTrigger(f.Trigger)), "compact_summary": f.Summary}})
	}
	return true
}

// preCompacted applies the answers of hooks before a compaction.
func (s *State) preCompacted(f *fact.Hooked) bool {
	if f.Event != hook.PreCompact || s.stop != nil || s.model.busy() || len(s.calls.list) > 0 {
		return false
	}
	k := s.compactor()
	t := k.trigger()
	if t == "" || f.Key != k.hookKey(t) {
		return false
	}
	c := s.context.shorten()
	if c.doing != "" || c.asked == f.Key {
		return false
	}
	if f.Block == "" {
		c.asked, c.wishes = f.Key, f.Instructions
		return true
	}
	c.attempt++
	switch t {
	case fact.Manual:
		c.wish.seq = 0
		if s.run.compacts && s.need.kind == needEnd {
			s.need = need{kind: needEnd, reason: event.HookStopped, msg: f.Block}
		}
	case fact.Overflow:
		s.context.over.due = false
		s.need = need{kind: needEnd, reason: event.ContextOverflow, class: llm.TooLong, msg: "a PreCompact hook does not let the conversation be compacted: " + f.Block}
	default:
		c.skip = s.model.cause
	}
	return true
}

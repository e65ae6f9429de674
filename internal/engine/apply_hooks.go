package engine

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
)

// maxStopBlocks is how many times in a row Stop hooks make a run go on.
const maxStopBlocks = 8

// hooked applies the answers of the hooks of an event.
func (s *State) hooked(f fact.Hooked) bool {
	if !s.open {
		return false
	}
	p := planner{s: s}
	switch {
	case len(s.hooks.due) > 0 && f.Key == s.hooks.due[0].key:
		s.hooks.called()
		if f.Block != "" && (f.Event == hook.UserPromptSubmit || f.Event == hook.UserPromptExpansion) && s.stop == nil {
			s.stop = &fact.Stopped{Reason: event.HookStopped, Message: f.Block}
			s.hooks.keep(func(p CallHooks) bool { return p.Message != f.Message }) // no other hook needs to see it
		}
	case f.Event == hook.UserPromptSubmit:
		if !s.inbox.checked(&f) {
			return false
		}
	case f.Event == hook.StopFailure && !s.run.failureTold && f.Key == s.run.ending.key("stopfailure", s.model.cause) && p.atEnd():
		s.run.failureTold = true
		return true
	case f.Event == s.settings.stopEvent() && !s.run.told && f.Key == s.run.ending.key("stop", s.model.cause) && p.atEnd():
		s.run.told = true
		if f.Block != "" && s.stop == nil && s.need.kind == needEnd && s.need.reason == event.Completed && f.Stop == "" && s.run.stops < maxStopBlocks {
			s.run.stops++
			s.need = need{kind: needContinue, msg: f.Block}
		}
		return true
	default:
		if !s.preCompacted(&f) {
			return false
		}
	}
	if f.Stop != "" && s.stop == nil {
		s.stop = &fact.Stopped{Reason: event.HookStopped, Message: f.Stop}
	}
	return true
}

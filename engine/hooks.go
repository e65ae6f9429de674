package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

const (
	maxStopBlocks = 8  // times in a row that Stop hooks make a run go on
	maxChanged    = 50 // files of one call that hooks are told of
)

// fires reports whether the run has hooks for an event.
func (s *State) fires(e hook.Event) bool { return slices.Contains(s.cfg.Hooks, e) }

// callHooks makes hooks wanted, if there are any for the event.
func (s *State) callHooks(f CallHooks) {
	if s.fires(f.Event) {
		s.hookCalls = append(s.hookCalls, f)
	}
}

// beginPoints are those of a prompt, before its first model call.
func (s *State) beginPoints(seq int64, m *event.UserMessage) {
	if len(s.cfg.Hooks) == 0 {
		return
	}
	n := len(s.hookCalls)
	next := func() string {
		n++
		return key("hook", seq, n, 0)
	}
	if s.cfg.Agent != "" {
		s.callHooks(CallHooks{key: next(), Event: hook.SubagentStart})
		return
	}
	if s.cfg.Start == event.StartNew {
		s.callHooks(CallHooks{key: next(), Event: hook.Setup, Fields: map[string]string{"trigger": "init"}})
	}
	s.startPoint(next(), s.cfg.Start)
	for _, dir := range s.added {
		s.callHooks(CallHooks{key: next(), Event: hook.DirectoryAdded, Fields: map[string]string{"directory": dir}})
	}
	n += s.loadedPoints(seq, n+1)
	if x := m.Expansion; x != nil {
		s.callHooks(CallHooks{key: next(), Event: hook.UserPromptExpansion, Message: m.ID, Fields: map[string]string{
			"expansion_type": x.Kind, "command_name": x.Name, "command_args": x.Args}})
	}
	s.callHooks(CallHooks{key: next(), Event: hook.UserPromptSubmit, Message: m.ID, Fields: map[string]string{"source": string(event.AsPrompt)}})
}

// loadedPoints are those of files of instructions, with keys from an index on. It
// returns how many there are.
func (s *State) loadedPoints(seq int64, from int) int {
	n := len(s.loaded)
	for i, f := range s.loaded {
		s.callHooks(CallHooks{key: key("hook", seq, from+i, 0), Event: hook.InstructionsLoaded, Fields: map[string]string{"file_path": f.File, "memory_type": f.Type, "load_reason": f.Reason}})
	}
	s.loaded = nil
	return n
}

func (s *State) startPoint(key string, source event.Start) {
	if source != "" && s.cfg.Agent == "" {
		s.callHooks(CallHooks{key: key, Event: hook.SessionStart, Fields: map[string]string{"source": string(source), "model": s.Model()}})
	}
}

// settledPoints are those of a call that has its result.
func (s *State) settledPoints(c *call, seq int64, f event.ToolResult) {
	if len(s.cfg.Hooks) == 0 {
		return
	}
	n := 0
	add := func(e hook.Event, fields map[string]string) {
		s.callHooks(CallHooks{key: key("hook", seq, n, 0), Event: e, Call: c.id, Fields: fields})
		n++
	}
	if d := f.Result.Patch.Dir; d != "" && d != s.dir {
		add(hook.CwdChanged, map[string]string{"old_cwd": s.dir, "new_cwd": d})
	}
	for _, h := range f.Result.Patch.Happened {
		if e := hook.Event(h.Event); e.Known() {
			add(e, h.Fields)
		}
	}
	if f.Cause != event.ByTool || f.Result.IsError || !s.fires(hook.FileChanged) {
		return
	}
	var changed []string
	for _, a := range c.class.Access {
		if a.Kind == permission.EditFile && len(changed) < maxChanged && !slices.Contains(changed, a.Target) {
			changed = append(changed, a.Target)
			add(hook.FileChanged, map[string]string{"file_path": a.Target})
		}
	}
}

// unchecked returns the first message of those that hooks have to see before they
// are delivered.
func (s *State) unchecked(ids []string) (CallHooks, bool) {
	if !s.fires(hook.UserPromptSubmit) {
		return CallHooks{}, false
	}
	for _, q := range s.queue {
		if !q.checked && (q.delivery == event.AsSteer || q.delivery == event.AsFollowUp) && slices.Contains(ids, q.id) {
			return CallHooks{key: key("hook", q.seq, 0, 0), Event: hook.UserPromptSubmit, Message: q.id, Fields: map[string]string{"source": string(q.delivery)}}, true
		}
	}
	return CallHooks{}, false
}

// finish ends the run, once the hooks of its end were called.
func (s *State) finish(effects []Effect, reason event.EndReason, n need) []Effect {
	failed := reason == event.ModelError || reason == event.ContextOverflow
	switch {
	case failed && !s.run.failureTold && s.fires(hook.StopFailure):
		return append(effects, CallHooks{key: s.endKey("stopfailure"), Event: hook.StopFailure, Fields: map[string]string{
			"reason": string(reason), "error": string(n.class), "error_details": n.msg, "last_assistant_message": s.run.text}})
	case !s.run.told && s.fires(s.stopEvent()):
		return append(effects, CallHooks{key: s.endKey("stop"), Event: s.stopEvent(), Active: s.run.stops > 0, Fields: map[string]string{
			"reason": string(reason), "last_assistant_message": s.run.text}})
	}
	return record(s.runEnd(reason, n))
}

// stopEvent is that of the run's end.
func (s *State) stopEvent() hook.Event {
	if s.cfg.Agent != "" {
		return hook.SubagentStop
	}
	return hook.Stop
}

func (s *State) endKey(kind string) string { return key(kind, s.model.cause, s.run.ends, 0) }

// hooked takes what the hooks of an event want.
func (s *State) hooked(f event.Hooked) bool {
	if !s.open {
		return false
	}
	ending := s.stop != nil || len(s.calls) == 0 && (s.need.kind == needEnd || s.need.kind == needModel && !s.model.calling && s.model.wait == nil && s.limit() != "")
	switch {
	case len(s.hookCalls) > 0 && f.Key == s.hookCalls[0].key:
		s.hookCalls = slices.Delete(s.hookCalls, 0, 1)
		if f.Block != "" && (f.Event == hook.UserPromptSubmit || f.Event == hook.UserPromptExpansion) && s.stop == nil {
			s.stop = &event.Stopped{Reason: event.HookStopped, Message: f.Block}
			s.hookCalls = slices.DeleteFunc(s.hookCalls, func(p CallHooks) bool { return p.Message == f.Message }) // nobody else needs to see it
		}
	case f.Event == hook.UserPromptSubmit:
		i := slices.IndexFunc(s.queue, func(q queued) bool { return !q.checked && f.Key == key("hook", q.seq, 0, 0) })
		if i < 0 {
			return false
		}
		if s.queue[i].checked = true; f.Block != "" {
			s.queue = slices.Delete(s.queue, i, i+1)
		}
	case f.Event == hook.StopFailure && ending && !s.run.failureTold && f.Key == s.endKey("stopfailure"):
		s.run.failureTold = true
		return true
	case f.Event == s.stopEvent() && ending && !s.run.told && f.Key == s.endKey("stop"):
		s.run.told = true
		if f.Block != "" && s.stop == nil && s.need.kind == needEnd && s.need.reason == event.Completed && f.Stop == "" && s.run.stops < maxStopBlocks {
			s.run.stops++
			s.need = need{kind: needContinue, msg: f.Block}
		}
		return true
	default:
		if !s.preCompacted(f) {
			return false
		}
	}
	if f.Stop != "" && s.stop == nil {
		s.stop = &event.Stopped{Reason: event.HookStopped, Message: f.Stop}
	}
	return true
}

// goOn is the message by which Stop hooks make the run go on.
func (s *State) goOn() event.Fact {
	return event.UserMessage{ID: key("goon", s.model.cause, s.run.ends, 0), Delivery: event.AsContinue, Message: llm.UserText(s.need.msg)}
}

// anew lets the hooks of a run's end be called again at its next one.
func (s *State) anew() {
	if s.run.told || s.run.failureTold {
		s.run.told, s.run.failureTold = false, false
		s.run.ends++
	}
}

// Rules returns what hooks have added to the agent's rules.
func (s *State) Rules() permission.Policy {
	if s.rules == nil {
		return permission.Policy{}
	}
	return *s.rules
}

// permissionsChanged takes in changes of the rules.
func (s *State) permissionsChanged(f event.PermissionsChanged) bool {
	if s.rules == nil {
		s.rules = new(permission.Policy)
	}
	for _, u := range f.Updates {
		list := &s.rules.Allow
		switch u.Behavior {
		case permission.Asked:
			list = &s.rules.Ask
		case permission.Denied:
			list = &s.rules.Deny
		}
		had := *list
		switch u.Type {
		case hook.ReplaceRules:
			had = nil
		case hook.RemoveRules:
			*list = slices.DeleteFunc(slices.Clone(had), func(r permission.Rule) bool { return slices.Contains(u.Rules, r) })
			continue
		}
		added := slices.Clone(had) // whoever judges may hold the old ones
		for _, r := range u.Rules {
			if !slices.Contains(added, r) {
				added = append(added, r)
			}
		}
		*list = added
	}
	return true
}

// deniedPoint is that of a call that was denied.
func (s *State) deniedPoint(c *call, reason string) {
	if s.fires(hook.PermissionDenied) {
		s.callHooks(CallHooks{key: c.key("denied"), Event: hook.PermissionDenied, Call: c.id, Fields: map[string]string{"reason": reason}})
	}
}

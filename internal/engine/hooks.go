package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/permission"
)

// maxChanged is the largest number of changed files that hooks of one call hear about.
const maxChanged = 50

// A hookQueue holds the events whose hooks have not been called yet.
type hookQueue struct {
	due    []CallHooks          // in order
	added  []string             // folders that the last configuration has added
	loaded []event.Instructions // that hooks were not told about yet
}

// add makes hooks wanted, if there are any for the event.
//
//go:noinline // called from many places: every program stays smaller
func (q *hookQueue) add(t *settings, f CallHooks) {
	if t.fires(f.Event) {
		q.due = append(q.due, f)
	}
}

// forPrompt adds those of a prompt, before its first model call.
func (q *hookQueue) forPrompt(t *settings, seq int64, m *event.UserMessage) {
	if len(t.cfg.Hooks) == 0 {
		return
	}
	n := len(q.due)
	next := func() string {
		n++
		return key("hook", seq, n, 0)
	}
	if t.cfg.Agent != "" {
		q.add(t, CallHooks{key: next(), Event: hook.SubagentStart})
		return
	}
	if t.cfg.Start == fact.StartNew {
		q.add(t, CallHooks{key: next(), Event: hook.Setup, Fields: map[string]string{"trigger": "init"}})
	}
	q.forStart(t, next(), t.cfg.Start)
	for _, dir := range q.added {
		q.add(t, CallHooks{key: next(), Event: hookconst.DirectoryAdded, Fields: map[string]string{"directory": dir}})
	}
	n += q.forLoaded(t, seq, n+1)
	if x := m.Expansion; x != nil {
		q.add(t, CallHooks{key: next(), Event: hook.UserPromptExpansion, Message: m.ID, Fields: map[string]string{
			"expansion_type": x.Kind, "command_name": x.Name, "command_args": x.Args}})
	}
	q.add(t, CallHooks{key: next(), Event: hook.UserPromptSubmit, Message: m.ID, Fields: map[string]string{"source": string(fact.AsPrompt)}})
}

// forLoaded adds those of files of instructions, with keys from an index on. It
// returns how many there are.
func (q *hookQueue) forLoaded(t *settings, seq int64, from int) int {
	n := len(q.loaded)
	for i, f := range q.loaded {
		q.add(t, CallHooks{key: key("hook", seq, from+i, 0), Event: hookconst.InstructionsLoaded, Fields: map[string]string{"file_path": f.File, "memory_type": f.Type, "load_reason": f.Reason}})
	}
	q.loaded = nil
	return n
}

// forStart adds those of the start of a session.
func (q *hookQueue) forStart(t *settings, key string, source event.Start) {
	if source != "" && t.cfg.Agent == "" {
		q.add(t, CallHooks{key: key, Event: hook.SessionStart, Fields: map[string]string{"source": string(source), "model": t.model()}})
	}
}

// forResult adds those of a call that has its result.
func (q *hookQueue) forResult(t *settings, c *call, seq int64, f *event.ToolResult) {
	if len(t.cfg.Hooks) == 0 {
		return
	}
	n := 0
	add := func(e hook.Event, fields map[string]string) {
		q.add(t, CallHooks{key: key("hook", seq, n, 0), Event: e, Call: c.id, Fields: fields})
		n++
	}
	if d := f.Result.Patch.Dir; d != "" && d != t.dir {
		add(hookconst.CwdChanged, map[string]string{"old_cwd": t.dir, "new_cwd": d})
	}
	for _, h := range f.Result.Patch.Happened {
		if e := hook.Event(h.Event); slices.Contains(hook.Events, e) {
			add(e, h.Fields)
		}
	}
	if f.Cause != fact.ByTool || f.Result.IsError || !t.fires(hookconst.FileChanged) {
		return
	}
	var changed []string
	for _, a := range c.class.Access {
		if a.Kind == permission.EditFile && len(changed) < maxChanged && !slices.Contains(changed, a.Target) {
			changed = append(changed, a.Target)
			add(hookconst.FileChanged, map[string]string{"file_path": a.Target})
		}
	}
}

// forDenial adds that of a call that was denied.
func (q *hookQueue) forDenial(t *settings, c *call, reason string) {
	if t.fires(hook.PermissionDenied) {
		q.add(t, CallHooks{key: c.key("denied"), Event: hook.PermissionDenied, Call: c.id, Fields: map[string]string{"reason": reason}})
	}
}

// called takes the first event out of the queue.
func (q *hookQueue) called() { q.due = append(q.due[:0], q.due[1:]...) }

// keep drops the events that a function does not want.
func (q *hookQueue) keep(wanted func(CallHooks) bool) {
	due := q.due
	n := order.Keep(len(due), func(i int) bool { return wanted(due[i]) }, func(to, from int) { due[to] = due[from] })
	clear(due[n:])
	q.due = due[:n]
}

package acp

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
)

// A task is one of a list that TaskCreate and TaskUpdate change.
type task struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
}

// tasks are those that the results of tools have named, in the order in which they came up.
type tasks struct {
	all   []task
	calls map[string]string // names of tools that sub-agents call, by session and call
}

// maxPlan is the number of entries that a plan has at most.
const maxPlan = 200

// plan returns the update for the result of a tool that changes the list of steps.
func (e *Encoder) plan(tool string, details json.RawMessage) []any {
	switch tool {
	case "TodoWrite":
		if p := planOf(details); p != nil {
			return []any{p}
		}
	case "TaskCreate", "TaskUpdate", "TaskList":
		var changed struct {
			Task  *task  `json:"task"`
			Tasks []task `json:"tasks"`
		}
		if json.Unmarshal(details, &changed) != nil {
			return nil
		}
		if changed.Task != nil {
			changed.Tasks = append(changed.Tasks, *changed.Task)
		}
		before := slices.Clone(e.tasks.all)
		for _, t := range changed.Tasks {
			e.tasks.put(t)
		}
		if !slices.Equal(before, e.tasks.all) {
			return []any{e.tasks.plan()}
		}
	}
	return nil
}

// tasksBelow returns the updates for an event of a sub-agent, which shares the list of tasks.
func (e *Encoder) tasksBelow(ev event.Event) []any {
	switch d := ev.Data.(type) {
	case event.AgentEvent:
		if d.Event != nil {
			return e.tasksBelow(*d.Event)
		}
	case event.AssistantMessage:
		for i, u := range d.Response.Message.ToolUses() {
			if u.Name == "TaskCreate" || u.Name == "TaskUpdate" {
				if e.tasks.calls == nil {
					e.tasks.calls = map[string]string{}
				}
				e.tasks.calls[fmt.Sprintf("%s/c%d.%d", ev.Session, ev.Seq, i)] = u.Name
			}
		}
	case event.ToolResult:
		key := ev.Session + "/" + d.Call
		tool := e.tasks.calls[key]
		delete(e.tasks.calls, key)
		if !d.Result.IsError && d.Cause == "" {
			return e.plan(tool, d.Result.Details)
		}
	}
	return nil
}

// put adds or changes a task.
func (l *tasks) put(t task) {
	i := slices.IndexFunc(l.all, func(o task) bool { return o.ID == t.ID })
	switch {
	case t.ID == "" || t.Subject == "":
	case i >= 0:
		l.all[i] = t
	default:
		l.all = append(l.all, t)
	}
}

// plan returns the list. It has the latest tasks if there are too many.
func (l *tasks) plan() *Plan {
	p := &Plan{Update: "plan", Entries: []PlanEntry{}}
	for _, t := range l.all {
		switch t.Status {
		case "cancelled":
			continue
		case "failed":
			t.Subject, t.Status = t.Subject+" (failed)", Completed
		}
		p.Entries = append(p.Entries, PlanEntry{t.Subject, "medium", statusOf(t.Status)})
	}
	p.Entries = p.Entries[max(0, len(p.Entries)-maxPlan):]
	return p
}

// statusOf returns a status that clients know.
func statusOf(s string) string {
	if slices.Contains([]string{Pending, InProgress, Completed}, s) {
		return s
	}
	return Pending
}

// planOf returns the list of steps in the details of TodoWrite.
func planOf(details json.RawMessage) *Plan {
	var list struct {
		Todos []struct {
			Content  string `json:"content"`
			Status   string `json:"status"`
			Priority string `json:"priority"`
		} `json:"todos"`
	}
	if json.Unmarshal(details, &list) != nil || list.Todos == nil {
		return nil
	}
	p := &Plan{Update: "plan", Entries: []PlanEntry{}}
	for _, t := range list.Todos {
		if t.Status == "cancelled" {
			continue
		}
		if !slices.Contains([]string{"high", "medium", "low"}, t.Priority) {
			t.Priority = "medium"
		}
		p.Entries = append(p.Entries, PlanEntry{t.Content, t.Priority, statusOf(t.Status)})
	}
	return p
}

package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/workspace"
)

// A task is a sub-agent or a background command as Claude Code reports it.
type task struct {
	id, use, parent            string
	description, agent, prompt string
	kind                       string // local_agent or local_bash
	background                 bool
	past                       bool // it began before this program
	began                      time.Time
	usage                      taskUsage
}

type taskUsage struct {
	Tokens     int   `json:"total_tokens"`
	Calls      int   `json:"tool_uses"`
	DurationMS int64 `json:"duration_ms"`
}

// tasks are the tasks that have not ended, in the order in which they began. Their lines come from
// the report of a run, and from commands that end beside it.
type tasks struct {
	onJob func(session, job, id string) // called when a background command has started; may be nil

	mu   sync.Mutex
	list []*task
	open map[string]bool // calls of tools that may take long, by the model's id
}

// slowTools are the tools that can work in the background.
var slowTools = []string{"Bash", "Agent", "Task"}

// begin notes calls that have begun.
func (k *tasks) begin(uses []llm.ToolUse) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, u := range uses {
		if slices.Contains(slowTools, u.Name) {
			if k.open == nil {
				k.open = map[string]bool{}
			}
			k.open[u.ID] = true
		}
	}
}

// over notes that a call has ended.
func (k *tasks) over(use string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, use)
}

// working reports whether a call is in the foreground; with "" any call.
func (k *tasks) working(use string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[use] || use == "" && len(k.open) > 0
}

// The lines about tasks.
type (
	taskStarted struct {
		Type        string `json:"type"`
		Subtype     string `json:"subtype"` // task_started
		Task        string `json:"task_id"`
		ToolUse     string `json:"tool_use_id,omitempty"`
		Description string `json:"description"`
		Agent       string `json:"subagent_type,omitempty"`
		Background  bool   `json:"is_backgrounded"`
		Parent      string `json:"parent_task_id,omitempty"`
		Kind        string `json:"task_type"`
		Prompt      string `json:"prompt,omitempty"`
		Origin
	}
	taskProgress struct {
		Type        string    `json:"type"`
		Subtype     string    `json:"subtype"` // task_progress
		Task        string    `json:"task_id"`
		ToolUse     string    `json:"tool_use_id,omitempty"`
		Description string    `json:"description"`
		Agent       string    `json:"subagent_type,omitempty"`
		Usage       taskUsage `json:"usage"`
		Last        string    `json:"last_tool_name,omitempty"`
		Origin
	}
	taskUpdated struct {
		Type    string    `json:"type"`
		Subtype string    `json:"subtype"` // task_updated
		Task    string    `json:"task_id"`
		Patch   taskPatch `json:"patch"`
		Origin
	}
	taskPatch struct {
		Status string `json:"status"` // completed, failed or killed
		End    int64  `json:"end_time"`
		Error  string `json:"error,omitempty"`
	}
	taskEnded struct {
		Type    string    `json:"type"`
		Subtype string    `json:"subtype"` // task_notification
		Task    string    `json:"task_id"`
		ToolUse string    `json:"tool_use_id,omitempty"`
		Status  string    `json:"status"` // completed, failed or stopped
		File    string    `json:"output_file"`
		Summary string    `json:"summary"`
		Usage   taskUsage `json:"usage"`
		Origin
	}
	tasksChanged struct {
		Type    string        `json:"type"`
		Subtype string        `json:"subtype"` // background_tasks_changed
		Tasks   []runningTask `json:"tasks"`
		Origin
	}
	runningTask struct {
		Task        string `json:"task_id"`
		Kind        string `json:"task_type"`
		Agent       string `json:"subagent_type,omitempty"`
		Description string `json:"description"`
		Parent      string `json:"parent_task_id,omitempty"`
	}
)

// A taskWriter writes lines about tasks, and signs them.
type taskWriter struct {
	put  func(any)
	sign func() Origin
}

func (r *Report) taskWriter() taskWriter {
	return taskWriter{r.put, func() Origin { return r.NewOrigin("") }}
}

// start reports a task.
func (k *tasks) start(w taskWriter, t *task) {
	t.past = w.put == nil
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, t)
	if t.past {
		return
	}
	w.put(taskStarted{Type: "system", Subtype: "task_started", Task: t.id, ToolUse: t.use, Description: t.description, Agent: t.agent, Background: t.background,
		Parent: t.parent, Kind: t.kind, Prompt: t.prompt, Origin: w.sign()})
	if t.background {
		k.changed(w)
	}
}

// called reports that a task calls tools.
func (k *tasks) called(w taskWriter, id string, uses []llm.ToolUse, tokens int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.list, func(t *task) bool { return t.id == id })
	if i < 0 {
		return
	}
	t := k.list[i]
	t.usage.Tokens += tokens
	t.usage.Calls += len(uses)
	t.usage.DurationMS = time.Since(t.began).Milliseconds()
	if w.put == nil || len(uses) == 0 {
		return
	}
	w.put(taskProgress{Type: "system", Subtype: "task_progress", Task: t.id, ToolUse: t.use, Description: t.description, Agent: t.agent, Usage: t.usage,
		Last: uses[len(uses)-1].Name, Origin: w.sign()})
}

// end reports the end of a task once: completed, failed or stopped. say completes the usage and makes
// the summary.
func (k *tasks) end(w taskWriter, id, status, failure, file string, say func(t *task) string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.list, func(t *task) bool { return t.id == id })
	if i < 0 {
		return // it was reported
	}
	t := k.list[i]
	k.list = slices.Delete(k.list, i, i+1)
	if w.put == nil {
		return
	}
	summary := say(t)
	patch := taskPatch{Status: status, End: time.Now().UnixMilli(), Error: failure}
	if status == "stopped" {
		patch.Status = "killed"
	}
	w.put(taskUpdated{Type: "system", Subtype: "task_updated", Task: id, Patch: patch, Origin: w.sign()})
	w.put(taskEnded{Type: "system", Subtype: "task_notification", Task: id, ToolUse: t.use, Status: status, File: file, Summary: summary, Usage: t.usage, Origin: w.sign()})
	if t.background && !t.past {
		k.changed(w)
	}
}

// changed writes the list of background tasks. k.mu is held.
func (k *tasks) changed(w taskWriter) {
	list := []runningTask{}
	for _, t := range k.list {
		if t.background && !t.past {
			list = append(list, runningTask{t.id, t.kind, t.agent, t.description, t.parent})
		}
	}
	w.put(tasksChanged{Type: "system", Subtype: "background_tasks_changed", Tasks: list, Origin: w.sign()})
}

// agentStarted reports a sub-agent as a task.
func (r *Report) agentStarted(e event.Event, d event.AgentStart) {
	if r.claude == nil {
		return
	}
	u, _ := r.calls.Get(r.prefix + d.Call)
	var in struct {
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
	}
	_ = json.Unmarshal(u.Input, &in) // it was checked before the call
	r.claude.tasks.start(r.taskWriter(), &task{id: d.Session, use: u.ID, parent: strings.TrimSuffix(r.prefix, "/"), description: cmp.Or(in.Description, d.Agent), agent: d.Agent,
		prompt: in.Prompt, kind: "local_agent", background: d.Background, began: e.Time})
}

// agentCalled reports an answer of a sub-agent.
func (r *Report) agentCalled(m event.AssistantMessage) {
	if r.parent == nil {
		return
	}
	r.claude.tasks.called(r.taskWriter(), strings.TrimSuffix(r.prefix, "/"), m.Response.Message.ToolUses(), allTokens(m.Response.Usage))
}

func allTokens(u llm.Usage) int { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// agentEnded reports the end of a sub-agent. It may have ended between prompts: its end is then the
// first fact of the next one.
func (r *Report) agentEnded(d event.AgentEnd) {
	if r.claude == nil {
		return
	}
	status, failure := "failed", d.Message
	switch d.Reason {
	case event.Completed, event.ToolEnded, event.MaxTokens:
		status, failure = "completed", ""
	case event.Interrupted:
		status, failure = "stopped", ""
	}
	r.claude.tasks.end(r.taskWriter(), d.Session, status, failure, "", func(t *task) string {
		t.usage.Tokens, t.usage.DurationMS = allTokens(d.Usage), d.Duration.Milliseconds()
		return cmp.Or(d.Message, t.description)
	})
}

// jobStarted reports a command that a call has started in the background.
func (r *Report) jobStarted(e event.Event, d event.ToolResult, u llm.ToolUse) {
	var details struct {
		Background bool   `json:"background"`
		ID         string `json:"shellId"`
	}
	if u.Name != "Bash" || r.put == nil || json.Unmarshal(d.Result.Details, &details) != nil || !details.Background {
		return
	}
	var in struct {
		Description string `json:"description"`
		Command     string `json:"command"`
	}
	_ = json.Unmarshal(u.Input, &in) // it was checked before the call
	t := &task{id: r.prefix + details.ID, use: u.ID, parent: strings.TrimSuffix(r.prefix, "/"), description: cmp.Or(in.Description, text.OneLine(in.Command)),
		kind: "local_bash", background: true, began: e.Time}
	r.claude.tasks.start(r.taskWriter(), t)
	if r.claude.tasks.onJob != nil {
		r.claude.tasks.onJob(e.Session, details.ID, t.id)
	}
}

// watchJob reports the end of a background command. If nothing runs then, a turn tells the model, as
// long as the host may answer.
func (d *Session) watchJob(ctx context.Context, session, job, id string) {
	d.waiting.Go(func() {
		o, err := d.s.Workspace.AwaitJob(ctx, session, job)
		if err != nil || o.Running {
			return
		}
		status, how := jobEnd(o.Exit)
		d.report.claude.tasks.end(taskWriter{d.out.Put, d.sign}, id, status, "", o.File, func(t *task) string {
			t.usage.DurationMS = time.Since(t.began).Milliseconds()
			return fmt.Sprintf("Background command %q %s", t.description, how)
		})
		if status != "stopped" && session == d.s.Session.ID {
			d.noticeJob()
		}
	})
}

// jobEnd says how a background command ended.
func jobEnd(e workspace.Exit) (status, how string) {
	switch {
	case e.Stopped:
		return "stopped", "was stopped"
	case e.Code != 0:
		return "failed", fmt.Sprintf("failed with exit code %d", e.Code)
	}
	return "completed", "completed (exit code 0)"
}

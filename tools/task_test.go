package tools

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

// An office is agents of a session with the tools for working together.
type office struct {
	testing.TB
	store *teamstore.Memory
	tools map[string]tool.Tool
	calls int
}

// stored makes a store of what a test shares.
func stored(shared teamstore.Shared) *team.Store {
	return (*team.Store)(teamstore.NewStore(shared))
}

func newOffice(t testing.TB, background ...toolapi.Background) *office {
	o := &office{TB: t, store: &teamstore.Memory{}, tools: map[string]tool.Tool{}}
	store := stored(o.store)
	for _, x := range []tool.Tool{
		TaskCreate(store), newTaskGet(store, background...), TaskList(store), TaskUpdate(store), newTaskStop(store, background...),
		newTaskOutput(store, background...), TeamCreate(store), TeamDelete(store), SendMessage(store),
	} {
		o.tools[x.Spec().Name] = x
	}
	return o
}

// as runs a tool for an agent.
func (o *office) as(agent, name, input string) *tool.Result {
	o.Helper()
	o.calls++
	return tooltest.RunCall(o, o.tools[name], tool.Call{ID: fmt.Sprintf("c%d.0", o.calls), Session: "s", Agent: agent, Input: json.RawMessage(input)})
}

// says runs a tool for the main agent; its answer must match want, and be an
// error if that begins with "!".
func (o *office) says(name, input, want string) *tool.Result {
	o.Helper()
	return o.saysTo("", name, input, want)
}

func (o *office) saysTo(agent, name, input, want string) *tool.Result {
	o.Helper()
	r := o.as(agent, name, input)
	pattern, fails := strings.CutPrefix(want, "!")
	if r.IsError != fails || !regexp.MustCompile(pattern).MatchString(r.Text()) {
		o.Errorf("%s %s: got %q (error: %v), want %q", name, input, r.Text(), r.IsError, want)
	}
	return r
}

func TestTaskTools(t *testing.T) {
	o := newOffice(t)
	o.says("TaskList", `{}`, `^No tasks found\.$`)
	r := o.says("TaskCreate", `{"subject":"Build","description":"all","metadata":{"n":1.50}}`, `^Task created: task_1 - "Build" \(pending\)$`)
	var d struct{ Task teamstore.Task }
	if err := json.Unmarshal(r.Details, &d); err != nil || d.Task.ID != "task_1" || string(d.Task.Metadata["n"]) != "1.50" {
		t.Errorf("details %s, %v", r.Details, err)
	}
	if r.Title != "[task_1] pending - Build" {
		t.Errorf("title %q", r.Title)
	}
	o.says("TaskCreate", `{"subject":"Test","blocked_by":["1"],"owner":"ann"}`, `^Task created: task_2 - "Test" \(pending\), blocked by task_1$`)
	o.says("TaskCreate", `{"subject":"Ship","blockedBy":["task_1","#2"]}`, `blocked by task_1, task_2$`)
	o.says("TaskCreate", `{"subject":"Begun","status":"inProgress"}`, `^Task created: task_4 - "Begun" \(in_progress\)$`)
	o.says("TaskList", `{}`, `^\[task_1\] pending - Build\n\[task_2\] pending - Test \(owner: ann\) \(blocked by: task_1\)\n\[task_3\] .*\n\[task_4\] in_progress - Begun \(owner: main\)$`)
	o.says("TaskList", `{"status":"in-progress"}`, `^\[task_4\][^\n]*$`)
	o.says("TaskList", `{"owner":"ann"}`, `^\[task_2\][^\n]*$`)
	o.says("TaskGet", `{"id":"task_3"}`, `(?s)^id: task_3\nsubject: Ship\nstatus: pending\nblockedBy: task_1, task_2\ncreatedAt: 20.*updatedAt: `)
	o.says("TaskGet", `{"id":"1"}`, `(?s)blocks: task_2, task_3\nmetadata: \{"n":1.50\}.*description: all$`)

	o.says("TaskUpdate", `{"id":"task_2","status":"in_progress","owner":"ann"}`, `!task_2 cannot start before task_1 \(pending\)`)
	o.saysTo("bob", "TaskUpdate", `{"id":"task_1","status":"in_progress"}`, `^Task updated: task_1 - in_progress - "Build" \(owner: bob\)$`)
	o.saysTo("eve", "TaskUpdate", `{"id":"task_1","status":"inProgress"}`, `!task_1 is in progress, owned by bob`)
	o.says("TaskOutput", `{"id":"task_1"}`, `^\(no output yet\)\nStatus: in_progress$`)
	o.saysTo("bob", "TaskUpdate", `{"id":"task_1","status":"completed","output":"built"}`, `completed`)
	o.says("TaskOutput", `{"id":"task_1"}`, `^built\nStatus: completed$`)
	o.says("TaskList", `{"status":"pending"}`, `^\[task_2\] pending - Test \(owner: ann\)\n\[task_3\] pending - Ship \(blocked by: task_2\)$`)
	o.says("TaskUpdate", `{"id":"task_1","status":"pending"}`, `!task_1 cannot go from completed to pending`)
	o.says("TaskUpdate", `{"id":"task_2","blocked_by":["task_3"]}`, `!wait for each other: task_2 → task_3 → task_2`)
	o.says("TaskUpdate", `{"id":"task_3","blockedBy":[],"metadata":{"a":null,"b":[1]}}`, `^Task updated: task_3`)
	o.says("TaskUpdate", `{"id":"task_3","metadata":{"b":null},"owner":"x"}`, `owner: x`)
	if got, err := o.store.Task(t.Context(), "s", "task_3"); err != nil || len(got.BlockedBy) != 0 || len(got.Metadata) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	o.saysTo("ann", "TaskUpdate", `{"id":"task_3","owner":"self"}`, `owner: ann`)
	o.saysTo("ann", "TaskList", `{"owner":"self"}`, `^\[task_2\].*\n\[task_3\][^\n]*$`)
	o.says("TaskUpdate", `{"id":"task_3","owner":""}`, `"Ship"$`)

	o.saysTo("ann", "TaskUpdate", `{"id":"task_2","status":"in_progress","output":"half"}`, `in_progress`)
	o.says("TaskStop", `{"id":"task_2","reason":"too slow"}`, `^Task stopped: task_2 - "Test"\nann, who has worked on it`)
	o.says("TaskOutput", `{"id":"task_2"}`, `^half\nStopped: too slow\nStatus: cancelled$`)
	o.says("TaskStop", `{"id":"task_2"}`, `^Task stopped`)
	o.says("TaskOutput", `{"id":"task_2"}`, `^half\nStopped: too slow\nStatus: cancelled$`)
	o.says("TaskStop", `{"id":"task_3"}`, `^Task stopped`)
	o.says("TaskOutput", `{"id":"task_3"}`, `^Stopped\nStatus: cancelled$`)
	o.says("TaskStop", `{"id":"task_1"}`, `!task_1 cannot go from completed to cancelled`)
}

func TestTaskToolsRefuse(t *testing.T) {
	o := newOffice(t)
	o.says("TaskCreate", `{"subject":"x"}`, `task_1`)
	for _, x := range [][3]string{
		{"TaskCreate", `{}`, `!subject`},
		{"TaskCreate", `{"subject":" "}`, `!subject must be one line|subject is empty`},
		{"TaskCreate", `{"subject":"x","status":"done"}`, `!unknown status "done", want pending, in_progress`},
		{"TaskCreate", `{"subject":"x","status":"Completed"}`, `!a new task cannot be completed; its status is pending or in_progress`},
		{"TaskCreate", `{"subject":"x","status":"cancelled"}`, `!a new task cannot be cancelled`},
		{"TaskCreate", `{"subject":"x","blockedBy":["task_7"]}`, `!"task_7": there is no such task; TaskList`},
		{"TaskCreate", `{"subject":"x","blockedBy":["task_1"],"blocked_by":[]}`, `!blockedBy is given twice`},
		{"TaskCreate", `{"subject":"x","descripton":"y"}`, `!descripton is unknown \(did you mean description\?\)`},
		{"TaskCreate", `{"subject":"x","blockedBy":"task_1"}`, `!blockedBy`},
		{"TaskCreate", `{"subject":"x","metadata":[1]}`, `!metadata`},
		{"TaskCreate", `{"subject":"` + strings.Repeat("x", 2000) + `"}`, `!limit reached: the subject has 2000 bytes`},
		{"TaskUpdate", `{"id":"task_1"}`, `!nothing to change`},
		{"TaskUpdate", `{"task_id":"task_1"}`, `!nothing to change`},
		{"TaskUpdate", `{"taskId":"task_7","status":"failed"}`, `!"task_7": there is no such task`},
		{"TaskUpdate", `{"task":"task_1","status":"failed"}`, `!task is unknown; id is required but missing`},
		{"TaskUpdate", `{"taskId":"task_1","id":"task_1","status":"failed"}`, `!id is given twice`},
		{"TaskUpdate", `{"id":"task_1","status":5,"subjct":"x"}`, `!status must be a string, not 5; subjct is unknown \(did you mean subject\?\)`},
		{"TaskCreate", `{"titel":"x"}`, `!titel is unknown.*; subject is required but missing`},
		{"TaskGet", `{"taskId":"task_2"}`, `!"task_2": there is no such task`},
		{"TaskOutput", `{"task_id":"task_2"}`, `!"task_2": there is no such task`},
		{"TaskStop", `{"task-id":"task_2"}`, `!"task_2": there is no such task`},
		{"TaskUpdate", `{"id":"task_1","status":"blocked"}`, `!unknown status "blocked"`},
		{"TaskUpdate", `{"id":"task_2","status":"failed"}`, `!there is no such task`},
		{"TaskUpdate", `{"id":"task_1","output":"` + strings.Repeat("x", 1_000_000) + `"}`, `!the output has 1000000 bytes`},
		{"TaskGet", `{"id":"task_2"}`, `!"task_2": there is no such task; TaskList shows what there is`},
		{"TaskGet", `{"id":""}`, `!there is no such task`},
		{"TaskOutput", `{"id":"../x"}`, `!there is no such task`},
		{"TaskStop", `{"id":"bash_1"}`, `!there is no such task`},
		{"TaskList", `{"status":"x"}`, `!unknown status`},
	} {
		if r := o.says(x[0], x[1], x[2]); len(r.Text()) > 2000 {
			t.Errorf("%s: an error of %d bytes", x[0], len(r.Text()))
		}
	}
	if got, _ := o.store.Tasks(t.Context(), "s", teamstore.Filter{}); len(got) != 1 {
		t.Errorf("refused calls left %d tasks", len(got))
	}
}

func TestTaskListBounded(t *testing.T) {
	o := newOffice(t)
	for range maxListedTasks + 50 {
		if _, err := o.store.AddTask(t.Context(), "s", teamstore.Task{Subject: strings.Repeat("x", teamstore.MaxSubject), Output: "secret"}); err != nil {
			t.Fatal(err)
		}
	}
	r := o.says("TaskList", `{}`, `… and 50 more; ask for a status or an owner to see fewer$`)
	if n := strings.Count(r.Text(), "\n"); n != maxListedTasks {
		t.Errorf("%d lines", n)
	}
	if strings.Contains(string(r.Details), "secret") {
		t.Error("the list shows outputs")
	}
}

// Of many agents that start a task one gets it.
func TestTaskUpdateClaims(t *testing.T) {
	o := newOffice(t)
	o.says("TaskCreate", `{"subject":"x"}`, `task_1`)
	var wg sync.WaitGroup
	results := make([]*tool.Result, 8)
	for i := range results {
		wg.Go(func() {
			results[i] = tooltest.RunCall(t, o.tools["TaskUpdate"], tool.Call{Session: "s", Agent: fmt.Sprintf("a%d", i), Input: json.RawMessage(`{"id":"task_1","status":"in_progress"}`)})
		})
	}
	wg.Wait()
	won := 0
	for _, r := range results {
		if !r.IsError {
			won++
		} else if !strings.Contains(r.Text(), "owned by a") {
			t.Errorf("a loser is told %q", r.Text())
		}
	}
	if won != 1 {
		t.Errorf("%d agents have the task", won)
	}
}

func TestTaskToolsSessions(t *testing.T) {
	o := newOffice(t)
	o.says("TaskCreate", `{"subject":"x"}`, `task_1`)
	other := tool.Call{Session: "other", Input: json.RawMessage(`{"id":"task_1"}`)}
	if r := tooltest.RunCall(t, o.tools["TaskGet"], other); !r.IsError {
		t.Errorf("a task of another session is shown: %s", r.Text())
	}
	if err := o.tools["TaskCreate"].(sessionStore).EndSession("s"); err != nil {
		t.Fatal(err)
	}
	o.says("TaskList", `{}`, `^No tasks found`)
}

func TestTaskToolsContract(t *testing.T) {
	o := newOffice(t)
	for name, x := range o.tools {
		t.Run(name, func(t *testing.T) { tooltest.Check(t, x) })
	}
	schema := string(o.tools["TaskUpdate"].Spec().Input)
	for _, bad := range []string{"null", "blocked_by", "additionalProperties\":false"} {
		if strings.Contains(schema, bad) {
			t.Errorf("the schema has %s: %s", bad, schema)
		}
	}
	for _, x := range []struct {
		tool, input        string
		readOnly, internal bool
		touches            string
	}{
		{"TaskCreate", `{"subject":"x"}`, false, true, "tasks:s"},
		{"TaskUpdate", `{"id":"task_1","status":"failed"}`, false, true, "tasks:s"},
		{"TaskGet", `{"id":"task_1"}`, true, true, "tasks:s"},
		{"TaskList", `{}`, true, true, "tasks:s"},
		{"TaskOutput", `{"id":"task_1"}`, true, true, "tasks:s"},
		{"TaskStop", `{"id":"1"}`, false, true, "tasks:s"},
		{"TaskStop", `{"id":"bash_1"}`, false, false, "background:bash_1"},
		{"TeamCreate", `{"name":"x"}`, false, true, "teams:s"},
		{"TeamDelete", `{"id":"x"}`, false, true, "teams:s"},
		{"SendMessage", `{"to":"x","message":"y"}`, false, true, "teams:s/mail"},
	} {
		c := toolrun.Classify(o.tools[x.tool], tool.Call{Session: "s", Input: json.RawMessage(x.input)})
		if c.ReadOnly != x.readOnly || c.Internal != x.internal || strings.Join(c.Touches, " ") != x.touches {
			t.Errorf("%s %s: %+v", x.tool, x.input, c)
		}
	}
}

// TaskOutput and TaskStop take background commands of a real shell.
func TestTaskBackground(t *testing.T) {
	ws := &workspace.Workspace{Root: t.TempDir(), OutputDir: t.TempDir()}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	id, _, err := ws.StartJob(t.Context(), workspace.CommandLine{Session: "s", Command: "echo done"})
	if err != nil {
		t.Skipf("no shell: %v", err)
	}
	long, _, err := ws.StartJob(t.Context(), workspace.CommandLine{Session: "s", Command: "sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	o := newOffice(t, shellWork(ws))
	o.says("TaskOutput", `{"id":"`+id+`","wait_ms":60000}`, `(?s)^done\n.*Status: exited\nExit code: 0`)
	o.says("TaskGet", `{"id":"`+long+`"}`, `Status: running`)
	o.says("TaskStop", `{"id":"`+long+`"}`, `Status: stopped`)
	o.says("TaskStop", `{"id":"bash_99"}`, `!there is no such task`)
	o.says("TaskOutput", `{"id":"bash_99"}`, `!there is no such task`)
}

package tools

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// A background is work of agents that are known by name. The work of one ends
// when its channel is closed.
type background struct {
	work    map[string]chan struct{}
	stopped []string
}

func (c *background) Output(_ context.Context, _ tool.Call, id string, wait time.Duration) (*tool.Result, error) {
	done, ok := c.work[id]
	if !ok {
		return nil, nil
	}
	select {
	case <-done:
		return tool.Text("Status: completed"), nil
	case <-time.After(wait):
		return tool.Text("Status: running"), nil
	}
}

func (c *background) Stop(context.Context, tool.Call, string) (*tool.Result, error) { return nil, nil }

func (c *background) StopOwner(_ context.Context, _ tool.Call, owner string) (string, error) {
	if _, ok := c.work[owner]; !ok {
		return "", nil
	}
	c.stopped = append(c.stopped, owner)
	return owner + " was stopped.", nil
}

// TaskStop of a task stops the agent that works on it, where someone can.
func TestTaskStopOwner(t *testing.T) {
	c := &background{work: map[string]chan struct{}{"ann": nil}}
	o := newOffice(t, c)
	for _, owner := range []string{"ann", "bob", "main"} {
		o.says("TaskCreate", `{"subject":"x","owner":"`+owner+`","status":"in_progress"}`, `Task created`)
	}
	o.says("TaskCreate", `{"subject":"x","owner":"ann"}`, `Task created`)
	o.says("TaskStop", `{"id":"task_1"}`, `^Task stopped: task_1 - "x"\nann was stopped\.$`)
	o.says("TaskStop", `{"id":"task_1"}`, `^Task stopped: task_1 - "x"$`)
	o.says("TaskStop", `{"id":"task_2"}`, `\nbob, who has worked on it, does not know of it yet`)
	o.says("TaskStop", `{"id":"task_3"}`, `^Task stopped: task_3 - "x"$`)
	o.says("TaskStop", `{"id":"task_4"}`, `^Task stopped: task_4 - "x"$`)
	if got := strings.Join(c.stopped, " "); got != "ann" {
		t.Errorf("stopped %q", got)
	}
}

// A task that another agent has in progress is not ended by mistake, and a task is
// completed once.
func TestTaskUpdateOthers(t *testing.T) {
	o := newOffice(t)
	o.says("TaskCreate", `{"subject":"x"}`, `task_1`)
	o.saysTo("ann", "TaskUpdate", `{"id":"task_1","status":"in_progress"}`, `owner: ann`)
	o.says("TaskUpdate", `{"id":"task_1","status":"completed"}`, `!task_1 is in progress, owned by ann, who ends it; to end it in that agent's place give owner "ann" too`)
	o.saysTo("bob", "TaskUpdate", `{"id":"task_1","status":"failed"}`, `!owned by ann`)
	r := o.says("TaskUpdate", `{"id":"task_1","status":"completed","owner":"ann"}`, `completed`)
	if len(r.Patch.Happened) != 1 || r.Patch.Happened[0].Event != "TaskCompleted" {
		t.Errorf("happened %+v", r.Patch.Happened)
	}
	if r := o.saysTo("ann", "TaskUpdate", `{"id":"task_1","status":"completed","output":"late"}`, `completed`); len(r.Patch.Happened) != 0 {
		t.Errorf("it was completed twice: %+v", r.Patch.Happened)
	}
	o.says("TaskCreate", `{"subject":"y"}`, `task_2`)
	o.saysTo("bob", "TaskUpdate", `{"id":"task_2","status":"completed"}`, `completed`) // no agent was working on it
}

// A fickle list gives a task to bob as soon as someone has looked at it.
type fickle struct{ *teamstore.Memory }

func (f fickle) Task(ctx context.Context, space, id string) (teamstore.Task, error) {
	t, err := f.Memory.Task(ctx, space, id)
	if err == nil {
		bob := "bob"
		_, err = f.Memory.UpdateTask(ctx, space, id, teamstore.Change{Owner: &bob})
	}
	return t, err
}

// Between the look at a task and its end it may become another agent's.
func TestTaskUpdateLost(t *testing.T) {
	store := &teamstore.Memory{}
	if _, err := store.AddTask(t.Context(), "s", teamstore.Task{Subject: "x", Status: teamstore.InProgress, Owner: "ann"}); err != nil {
		t.Fatal(err)
	}
	r := tooltest.RunCall(t, TaskUpdate(stored(fickle{store})), tool.Call{Session: "s", Agent: "ann", Input: json.RawMessage(`{"id":"task_1","status":"completed"}`)})
	if got, err := store.Task(t.Context(), "s", "task_1"); err != nil || !r.IsError || got.Status != teamstore.InProgress {
		t.Errorf("%s: %+v, %v", r.Text(), got, err)
	}
}

// TeamDelete tells of members that are running.
func TestTeamDeleteAtWork(t *testing.T) {
	o := newOffice(t)
	o.says("TeamCreate", `{"name":"red","members":["ann","bob"],"taskDescription":"win"}`, `team_1`)
	for _, name := range []string{"main", "ann", "eve"} {
		if err := o.store.Register(t.Context(), "s", teamstore.Agent{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	o.says("TeamDelete", `{"id":"red"}`, `(?s)^Team disbanded: red \(main, ann, bob\)\nStill at work: ann\. They go on`)
}

// TestWaitsEnd: agents that wait for each other's work learn at a deadline that it
// continues, and tasks that would wait for each other are refused.
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &background{work: map[string]chan struct{}{"ann": make(chan struct{}), "bob": make(chan struct{})}}
		o := newOffice(t, c)
		start := time.Now()
		var wg sync.WaitGroup
		for agent, other := range map[string]string{"ann": "bob", "bob": "ann"} {
			wg.Go(func() {
				input, _ := json.Marshal(map[string]any{"id": other, "wait_ms": 1 << 30})
				r := tooltest.RunCall(t, o.tools["TaskOutput"], tool.Call{Session: "s", Agent: agent, Input: input})
				if !strings.Contains(r.Text(), "running") {
					t.Errorf("%s was told %q", agent, r.Text())
				}
			})
		}
		wg.Wait()
		if waited := time.Since(start); waited != maxTimeout*time.Millisecond {
			t.Errorf("they waited %s", waited)
		}
		o.saysTo("ann", "TaskCreate", `{"subject":"ann's","owner":"ann"}`, `task_1`)
		o.saysTo("bob", "TaskCreate", `{"subject":"bob's","owner":"bob","blockedBy":["task_1"]}`, `task_2`)
		o.saysTo("ann", "TaskUpdate", `{"id":"task_1","blockedBy":["task_2"]}`, `!wait for each other: task_1 → task_2 → task_1`)
	})
}

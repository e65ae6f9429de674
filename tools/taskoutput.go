package tools

import (
	"context"
	_ "embed"
	"time"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed taskoutput.md
var taskOutputText string

type taskOutputInput struct {
	ID     string `json:"id" jsonschema:"as task_1"`
	WaitMS int    `json:"wait_ms,omitempty" jsonschema:"milliseconds to wait for the end of background work, at most 600000"`
}

// TaskOutput returns the tool that shows the output of tasks and of background
// work.
func TaskOutput(store *team.Store, agents ...Spawner) tool.Tool {
	return newTaskOutput(store, backgroundOf(agents...)...)
}

func newTaskOutput(store *team.Store, background ...toolapi.Background) tool.Tool {
	tasks := sharedOf(store)
	return spelledTool(tool.Spec{
		Name: "TaskOutput", Title: "Show a task's output", Description: taskOutputText, ReadOnly: true,
		Timeout: maxTimeout*time.Millisecond + time.Minute,
	}, func(ctx context.Context, call tool.Call, in taskOutputInput) (*tool.Result, error) {
		wait := time.Duration(min(max(in.WaitMS, 0), maxTimeout)) * time.Millisecond
		if r, err := backgroundOutput(ctx, background, call, in.ID, wait); r != nil || err != nil {
			return r, err
		}
		t, err := tasks.Task(ctx, spaceOf(call), taskID(in.ID))
		if err != nil {
			return teamFailure(err)
		}
		text := t.Output
		if text == "" {
			text = "(no output yet)"
		}
		return taskResult(text+"\nStatus: "+string(t.Status), t), nil
	}, func(call tool.Call, _ taskOutputInput) tool.Traits { return tasksClass(call, true) })
}

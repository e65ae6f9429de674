package tools

import (
	"context"
	_ "embed"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed taskget.md
var taskGetText string

type taskGetInput struct {
	ID string `json:"id" jsonschema:"as task_1"`
}

// newTaskGet returns the tool that shows a task, or how background work stands.
func newTaskGet(store *team.Store, background ...toolapi.Background) tool.Tool {
	tasks := sharedOf(store)
	return spelledTool(tool.Spec{
		Name: "TaskGet", Title: "Show a task", Description: taskGetText, ReadOnly: true,
	}, func(ctx context.Context, call tool.Call, in taskGetInput) (*tool.Result, error) {
		if r, err := backgroundOutput(ctx, background, call, in.ID, 0); r != nil || err != nil {
			return r, err
		}
		t, err := tasks.Task(ctx, spaceOf(call), taskID(in.ID))
		if err != nil {
			return teamFailure(err)
		}
		return taskResult(taskText(t), t), nil
	}, func(call tool.Call, _ taskGetInput) tool.Traits { return tasksClass(call, true) })
}

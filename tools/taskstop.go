package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed taskstop.md
var taskStopText string

type taskStopInput struct {
	ID     string `json:"id" jsonschema:"as task_1"`
	Reason string `json:"reason,omitempty"`
}

// TaskStop returns the tool that cancels tasks and ends background work.
func TaskStop(tasks team.Tasks, background ...Background) tool.Tool {
	return spelledTool(tool.Spec{
		Name: "TaskStop", Title: "Stop a task", Description: taskStopText, Idempotent: true,
	}, func(ctx context.Context, call tool.Call, in taskStopInput) (*tool.Result, error) {
		if !isTaskID(in.ID) {
			for _, b := range background {
				if r, err := b.Stop(ctx, call, in.ID); r != nil || err != nil {
					return r, err
				}
			}
		}
		t, err := stopTask(ctx, tasks, call, in)
		if err != nil {
			return teamFailure(err)
		}
		return taskResult(fmt.Sprintf("Task stopped: %s - %q", t.ID, t.Subject), t), nil
	}, func(call tool.Call, in taskStopInput) tool.Class {
		if isTaskID(in.ID) {
			return tasksClass(call, false)
		}
		return tool.Class{Touches: []string{"background:" + in.ID}}
	})
}

// stopTask cancels a task of the list and keeps what it has put out.
func stopTask(ctx context.Context, tasks team.Tasks, call tool.Call, in taskStopInput) (team.Task, error) {
	id := taskID(in.ID)
	t, err := tasks.Task(ctx, spaceOf(call), id)
	if err != nil {
		return t, err
	}
	c := team.Change{Status: team.Cancelled}
	if note := strings.TrimSuffix("Stopped: "+in.Reason, ": "); t.Status != team.Cancelled {
		output := strings.TrimPrefix(t.Output+"\n"+note, "\n")
		c.Output = &output
	}
	return tasks.UpdateTask(ctx, spaceOf(call), id, c)
}

package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
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
func TaskStop(store *team.Store, agents ...Spawner) tool.Tool {
	return newTaskStop(store, backgroundOf(agents...)...)
}

func newTaskStop(store *team.Store, background ...toolapi.Background) tool.Tool {
	tasks := sharedOf(store)
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
		t, working, err := stopTask(ctx, tasks, call, in)
		if err != nil {
			return teamFailure(err)
		}
		text := fmt.Sprintf("Task stopped: %s - %q", t.ID, t.Subject)
		if working != "" {
			said, err := stopOwner(ctx, background, call, working)
			if err != nil {
				return nil, err
			}
			text += "\n" + said
		}
		return taskResult(text, t), nil
	}, func(call tool.Call, in taskStopInput) tool.Traits {
		if isTaskID(in.ID) {
			return tasksClass(call, false)
		}
		return tool.Traits{Touches: []string{"background:" + in.ID}}
	})
}

// stopTask cancels a task of the list and keeps its output. It also returns the name of
// another agent that works on it.
func stopTask(ctx context.Context, tasks teamstore.Tasks, call tool.Call, in taskStopInput) (t teamstore.Task, working string, err error) {
	id := taskID(in.ID)
	was, err := tasks.Task(ctx, spaceOf(call), id)
	if err != nil {
		return was, "", err
	}
	c := teamstore.Change{Status: teamstore.Cancelled}
	if note := strings.TrimSuffix("Stopped: "+in.Reason, ": "); was.Status != teamstore.Cancelled {
		output := strings.TrimPrefix(was.Output+"\n"+note, "\n")
		c.Output = &output
	}
	if was.Status == teamstore.InProgress && was.Owner != caller(call) {
		working = was.Owner
	}
	t, err = tasks.UpdateTask(ctx, spaceOf(call), id, c)
	return t, working, err
}

// stopOwner ends the work of the agent that has worked on a task, and says so.
func stopOwner(ctx context.Context, background []toolapi.Background, call tool.Call, owner string) (string, error) {
	for _, b := range background {
		s, ok := b.(toolapi.OwnerStopper)
		if !ok {
			continue
		}
		if said, err := s.StopOwner(ctx, call, owner); said != "" || err != nil {
			return said, err
		}
	}
	return fmt.Sprintf("%s, who has worked on it, does not know of it yet: send a message if that matters.", owner), nil
}

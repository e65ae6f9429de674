package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed taskupdate.md
var taskUpdateText string

type taskUpdateInput struct {
	ID          string                     `json:"id" jsonschema:"as task_1"`
	Status      string                     `json:"status,omitempty"`
	Subject     *string                    `json:"subject,omitempty"`
	Description *string                    `json:"description,omitempty"`
	Owner       *string                    `json:"owner,omitempty"`
	Output      *string                    `json:"output,omitempty" jsonschema:"what came of it"`
	BlockedBy   []string                   `json:"blockedBy,omitempty"`
	Blocks      []string                   `json:"blocks,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

// TaskUpdate returns the tool that changes tasks.
func TaskUpdate(store *team.Store) tool.Tool {
	tasks := sharedOf(store)
	return spelledTool(tool.Spec{
		Name: "TaskUpdate", Title: "Change a task", Description: taskUpdateText, NonDestructive: true,
	}, func(ctx context.Context, call tool.Call, in taskUpdateInput) (*tool.Result, error) {
		return updateTask(ctx, tasks, call, in)
	}, func(call tool.Call, _ taskUpdateInput) tool.Traits { return tasksClass(call, false) })
}

func updateTask(ctx context.Context, tasks teamstore.Tasks, call tool.Call, in taskUpdateInput) (*tool.Result, error) {
	if in.Status == "" && in.Subject == nil && in.Description == nil && in.Owner == nil && in.Output == nil &&
		in.BlockedBy == nil && in.Blocks == nil && in.Metadata == nil {
		return tool.Errorf("nothing to change: give at least one field beside id"), nil
	}
	c := teamstore.Change{Subject: in.Subject, Description: in.Description, Output: in.Output,
		BlockedBy: taskIDs(in.BlockedBy), Blocks: taskIDs(in.Blocks), Metadata: in.Metadata}
	if in.Status != "" {
		var err error
		if c.Status, err = teamstore.ParseStatus(in.Status); err != nil {
			return tool.Errorf("%v", err), nil
		}
	}
	switch {
	case in.Owner != nil:
		owner := agentName(call, *in.Owner)
		c.Owner = &owner
	case c.Status == teamstore.InProgress:
		self := caller(call)
		c.Owner = &self
	}
	ends := c.Status == teamstore.Completed || c.Status == teamstore.Failed
	was := teamstore.Task{}
	if ends {
		var err error
		if was, err = tasks.Task(ctx, spaceOf(call), taskID(in.ID)); err != nil {
			return teamFailure(err)
		}
		if was.Status == teamstore.InProgress {
			if r := othersTask(call, was, c.Owner); r != nil {
				return r, nil
			}
			c.Holder = was.Owner // another agent may have taken it in the meantime
		}
	}
	t, err := tasks.UpdateTask(ctx, spaceOf(call), taskID(in.ID), c)
	if err != nil {
		return teamFailure(err)
	}
	text := fmt.Sprintf("Task updated: %s - %s - %q", t.ID, t.Status, t.Subject)
	if t.Owner != "" {
		text += " (owner: " + t.Owner + ")"
	}
	r := taskResult(text, t)
	if t.Status == teamstore.Completed && was.Status != teamstore.Completed && ends {
		r.Patch.Happened = taskHappened("TaskCompleted", t)
	}
	return r, nil
}

// othersTask refuses to end a task that another agent has in progress, unless the call
// names a new owner. An agent that has lost a task with its lease must not report for its
// new owner.
func othersTask(call tool.Call, t teamstore.Task, owner *string) *tool.Result {
	if t.Owner == caller(call) || owner != nil {
		return nil
	}
	return tool.Errorf("%s is in progress, owned by %s, who ends it; to end it in that agent's place give owner %q too", t.ID, t.Owner, t.Owner)
}

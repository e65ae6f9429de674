package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed taskcreate.md
var taskCreateText string

type taskCreateInput struct {
	Subject     string                     `json:"subject" jsonschema:"one line"`
	Description string                     `json:"description,omitempty"`
	Owner       string                     `json:"owner,omitempty" jsonschema:"agent that is to do it"`
	Status      string                     `json:"status,omitempty" jsonschema:"pending (default) or in_progress"`
	BlockedBy   []string                   `json:"blockedBy,omitempty"`
	Blocks      []string                   `json:"blocks,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

// taskCreate is the tool TaskCreate. It tells the store of a session's end.
type taskCreate struct {
	spelled[taskCreateInput]
	tasks teamstore.Tasks
}

// TaskCreate returns the tool that adds tasks. If tasks has a method
// EndSession(session string) error, the tool has it too.
func TaskCreate(store *team.Store) tool.Tool {
	tasks := sharedOf(store)
	return taskCreate{tasks: tasks, spelled: spelledTool(tool.Spec{
		Name: "TaskCreate", Title: "Create a task", Description: taskCreateText, NonDestructive: true,
	}, func(ctx context.Context, call tool.Call, in taskCreateInput) (*tool.Result, error) {
		return createTask(ctx, tasks, call, in)
	}, func(call tool.Call, _ taskCreateInput) tool.Traits { return tasksClass(call, false) })}
}

// EndSession ends the store's work for a session.
func (t taskCreate) EndSession(session string) error { return endSession(t.tasks, session) }

func createTask(ctx context.Context, tasks teamstore.Tasks, call tool.Call, in taskCreateInput) (*tool.Result, error) {
	status := teamstore.Pending
	if in.Status != "" {
		var err error
		if status, err = teamstore.ParseStatus(in.Status); err != nil {
			return tool.Errorf("%v", err), nil
		}
		if status != teamstore.Pending && status != teamstore.InProgress {
			return tool.Errorf("a new task cannot be %s; its status is pending or in_progress", status), nil
		}
	}
	owner := agentName(call, in.Owner)
	if owner == "" && status == teamstore.InProgress {
		owner = caller(call)
	}
	made, err := tasks.AddTask(ctx, spaceOf(call), teamstore.Task{
		Subject: in.Subject, Description: in.Description, Owner: owner, Status: status,
		BlockedBy: taskIDs(in.BlockedBy), Blocks: taskIDs(in.Blocks), Metadata: in.Metadata,
	})
	if err != nil {
		return teamFailure(err)
	}
	text := fmt.Sprintf("Task created: %s - %q (%s)", made.ID, made.Subject, made.Status)
	if len(made.BlockedBy) > 0 {
		text += ", blocked by " + strings.Join(made.BlockedBy, ", ")
	}
	r := taskResult(text, made)
	r.Patch.Happened = taskHappened("TaskCreated", made)
	return r, nil
}

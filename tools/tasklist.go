package tools

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed tasklist.md
var taskListText string

type taskListInput struct {
	Status string `json:"status,omitempty" jsonschema:"pending, in_progress, completed, failed or cancelled"`
	Owner  string `json:"owner,omitempty"`
}

// TaskList returns the tool that lists tasks.
func TaskList(store *team.Store) tool.Tool {
	tasks := sharedOf(store)
	return tool.New(tool.Spec{
		Name: "TaskList", Title: "List the tasks", Description: taskListText, ReadOnly: true,
	}, func(ctx context.Context, call tool.Call, in taskListInput) (*tool.Result, error) {
		filter := teamstore.Filter{Owner: agentName(call, in.Owner)}
		if in.Status != "" {
			var err error
			if filter.Status, err = teamstore.ParseStatus(in.Status); err != nil {
				return tool.Errorf("%v", err), nil
			}
		}
		found, err := tasks.Tasks(ctx, spaceOf(call), filter)
		if err != nil {
			return teamFailure(err)
		}
		all := found
		if filter != (teamstore.Filter{}) && slices.ContainsFunc(found, func(t teamstore.Task) bool { return len(t.BlockedBy) > 0 }) {
			if all, err = tasks.Tasks(ctx, spaceOf(call), teamstore.Filter{}); err != nil {
				return teamFailure(err)
			}
		}
		return listTasks(found, all), nil
	}).OnClassify(func(call tool.Call, _ taskListInput) tool.Traits { return tasksClass(call, true) })
}

// A listedTask is a task in the Details of TaskList.
type listedTask struct {
	ID        string           `json:"id"`
	Subject   string           `json:"subject"`
	Status    teamstore.Status `json:"status"`
	Owner     string           `json:"owner,omitempty"`
	BlockedBy []string         `json:"blockedBy,omitempty"`
}

// listTasks shows tasks and which of all they still wait for.
func listTasks(found, all []teamstore.Task) *tool.Result {
	done := map[string]bool{}
	for _, t := range all {
		done[t.ID] = t.Status == teamstore.Completed
	}
	lines := []string{}
	listed := []listedTask{}
	for _, t := range found[:min(len(found), maxListedTasks)] {
		line := taskLine(t)
		open := slices.DeleteFunc(slices.Clone(t.BlockedBy), func(id string) bool { return done[id] })
		if len(open) > 0 && !t.Status.Final() {
			line += " (blocked by: " + shortList(open) + ")"
		}
		lines = append(lines, line)
		listed = append(listed, listedTask{t.ID, t.Subject, t.Status, t.Owner, t.BlockedBy})
	}
	if more := len(found) - maxListedTasks; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more; ask for a status or an owner to see fewer", more))
	}
	list := strings.Join(lines, "\n")
	if len(found) == 0 {
		list = "No tasks found."
	}
	r := tool.Text(list)
	r.Title = text.Count(len(found), "task")
	r.Details = toolapi.Details(map[string]any{"tasks": listed, "total": len(found)})
	return r
}

// shortList joins the first few names.
func shortList(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

package tools

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

// mainAgent is the name of an agent that has none.
const mainAgent = "main"

// maxListedTasks is how many tasks TaskList shows.
const maxListedTasks = 200

// caller is the name under which the agent of a call is known to others.
func caller(call tool.Call) string { return cmp.Or(call.Agent, mainAgent) }

// selfName stands for the agent of the call.
const selfName = "self"

// agentName reads the name of an agent in an input.
func agentName(call tool.Call, name string) string {
	if name == selfName {
		return caller(call)
	}
	return name
}

// spaceOf is the space of [team] that a call works in.
func spaceOf(call tool.Call) string { return cmp.Or(call.Root, call.Session) }

// tasksClass returns the traits of a call that works on the list of tasks.
func tasksClass(call tool.Call, readOnly bool) tool.Traits {
	return tool.Traits{ReadOnly: readOnly, Internal: true, Touches: []string{"tasks:" + spaceOf(call)}}
}

// taskID accepts 1 and #1 for task_1.
func taskID(id string) string {
	digits := strings.TrimPrefix(id, "#")
	if digits != "" && strings.Trim(digits, "0123456789") == "" {
		return "task_" + digits
	}
	return id
}

// isTaskID reports whether an id can be one of the list of tasks; others are those
// of background work.
func isTaskID(id string) bool { return strings.HasPrefix(taskID(id), "task_") }

func taskIDs(ids []string) []string {
	if ids == nil {
		return nil
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = taskID(id)
	}
	return out
}

// teamFailure tells the model of an error of package team that it can correct. Any
// other error is the program's.
func teamFailure(err error) (*tool.Result, error) {
	if errors.Is(err, teamstore.ErrNotFound) {
		return tool.Errorf("%v; TaskList shows what there is", err), nil
	}
	for _, known := range []error{
		teamstore.ErrTaken, teamstore.ErrBlocked, teamstore.ErrCycle, teamstore.ErrLimit, teamstore.ErrInvalid,
		teamstore.ErrNoTeam, teamstore.ErrDisbanded, teamstore.ErrNameTaken, teamstore.ErrNoMember, teamstore.ErrUnreachable, teamstore.ErrBoxFull,
	} {
		if errors.Is(err, known) {
			return tool.Errorf("%v", err), nil
		}
	}
	var status *teamstore.StatusError
	if errors.As(err, &status) {
		return tool.Errorf("%v", err), nil
	}
	return nil, err
}

// taskLine shows a task in a line.
func taskLine(t teamstore.Task) string {
	line := fmt.Sprintf("[%s] %s - %s", t.ID, t.Status, t.Subject)
	if t.Owner != "" {
		line += " (owner: " + t.Owner + ")"
	}
	return line
}

// taskText shows all of a task but its output.
func taskText(t teamstore.Task) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("id", t.ID)
	line("subject", t.Subject)
	line("status", string(t.Status))
	line("owner", t.Owner)
	line("blockedBy", strings.Join(t.BlockedBy, ", "))
	line("blocks", strings.Join(t.Blocks, ", "))
	if len(t.Metadata) > 0 {
		line("metadata", string(toolapi.Details(t.Metadata)))
	}
	line("createdAt", t.CreatedAt.Format(time.RFC3339))
	line("updatedAt", t.UpdatedAt.Format(time.RFC3339))
	line("description", t.Description)
	line("output", t.Output)
	return strings.TrimSuffix(b.String(), "\n")
}

// taskResult shows a task to the model as text, and to programs as a whole.
func taskResult(text string, t teamstore.Task) *tool.Result {
	r := tool.Text(text)
	r.Title = taskLine(t)
	r.Details = toolapi.Details(map[string]teamstore.Task{"task": t})
	return r
}

// sharedOf returns what the tools do with a store.
func sharedOf(store *team.Store) teamstore.Shared { return (*teamstore.Store)(store).Shared() }

// A sessionStore is a store that keeps things for each session.
type sessionStore interface{ EndSession(session string) error }

// endSession tells a store of a session's end if it wants to know.
func endSession(store any, session string) error {
	if s, ok := store.(sessionStore); ok {
		return s.EndSession(session)
	}
	return nil
}

// clipLine puts a text of others into a line of at most so many bytes.
func clipLine(s string, most int) string {
	return text.Bytes(text.OneLine(text.Clean(text.Bytes(s, 16*most))), most)
}

// taskHappened describes a task for hooks.
func taskHappened(event string, t teamstore.Task) []tool.SideEvent {
	return []tool.SideEvent{{Event: event, Fields: map[string]string{"task_id": t.ID, "task_subject": t.Subject, "task_description": t.Description}}}
}

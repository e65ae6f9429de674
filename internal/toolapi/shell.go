package toolapi

import (
	"context"
	"encoding/json"

	"github.com/openagent-go/agent/workspace"
)

// A Shell runs the commands of Bash.
type Shell interface {
	Run(ctx context.Context, l workspace.CommandLine) (*workspace.Outcome, error)
	Where(l workspace.CommandLine) string
	StartJob(ctx context.Context, l workspace.CommandLine) (id string, state json.RawMessage, err error)
	Notices(session string) []string
	EndSession(session string) error
}

// A Sandbox confines the commands of a shell.
type Sandbox interface {
	// Outside reports whether a line always runs outside, because the user wants it.
	Outside(line, dir string) bool
	// MayLeave reports whether a call may ask to run outside. A person is asked.
	MayLeave() bool
	// Note is a text for the model about it.
	Note() string
}

package toolapi

import (
	"context"
	"encoding/json"
	"regexp"
	"time"

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

// A Sandbox confines the commands of a [Shell].
type Sandbox interface {
	// Outside reports whether a line always runs outside, because the user wants it.
	Outside(line, dir string) bool
	// MayLeave reports whether a call may ask to run outside. A person is asked.
	MayLeave() bool
	// Note is a text for the model about it.
	Note() string
}

// Jobs are background commands, as [workspace.Workspace] has them.
type Jobs interface {
	JobReader
	JobStopper
}

// A JobReader returns the output of jobs for BashOutput. A nil filter passes every line.
type JobReader interface {
	Job(ctx context.Context, session, id string, filter *regexp.Regexp, wait time.Duration) (*workspace.Outcome, error)
}

// A JobStopper stops jobs for KillShell.
type JobStopper interface {
	StopJob(ctx context.Context, session, id string) (*workspace.Outcome, error)
}

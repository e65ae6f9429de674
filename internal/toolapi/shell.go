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

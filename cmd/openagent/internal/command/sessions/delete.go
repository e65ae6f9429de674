package sessions

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/session"
)

func deleteSessions(ctx context.Context, h *cli.IO, o *sessionsOptions, ids []string) error {
	var gone []string
	var failed error
	for _, id := range ids {
		store, id, err := sessionstore.Locate(ctx, h, o.place, id)
		if err == nil {
			err = told(ctx, h, id, session.Delete(ctx, store, id))
		}
		if failed = err; failed != nil {
			break
		}
		gone = append(gone, parts.CheckpointName(store, id))
	}
	if err := app.DropCheckpoints(ctx, h, gone...); failed == nil && err != nil {
		failed = fmt.Errorf("deleting the file checkpoints of the sessions: %w; the sessions are deleted, run openagent sessions prune to try again", err)
	}
	return failed
}

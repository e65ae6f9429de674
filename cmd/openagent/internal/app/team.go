package app

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/session"
)

// forkTeam copies the tasks and teams of a session to its fork.
func forkTeam(ctx context.Context, h *cli.IO, store session.Store, from, to string) {
	var err error
	if shared := sessionstore.Team(store); shared != nil {
		err = (*teamstore.Store)(shared).Copy(ctx, from, to)
	} else {
		err = parts.CopyTeam(ctx, sessiondir.Path(store), from, to)
	}
	if err != nil {
		h.Warn("the tasks and teams were not copied to the new session: %v", err)
	}
}

package app

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/team"
)

// A sharedTeam is what the agents of a session share.
type sharedTeam interface {
	team.Tasks
	team.Teams
	team.Mail
	team.Agents
	team.Watcher
}

// teamFolder is the folder of tasks, teams and mail within that of a session: they
// go with it.
const teamFolder = "team"

func teamDir(sessions string) *team.Dir { return &team.Dir{Path: sessions, In: teamFolder} }

// keepTeam has tasks, teams and mail kept beside the session. Those of a session
// that is not kept are in memory.
func keepTeam(h *cli.IO, s *App) error {
	if s.Options.Ephemeral {
		return nil
	}
	path, err := sessionstore.SessionsDir(h, s.Options.SessionDir, s.Project)
	if err != nil {
		return err
	}
	d := teamDir(path)
	d.Log = settings.Logger(h, s.Options)
	leases := &team.Leases{List: d}
	s.shared, s.tasks = d, leases
	s.closeTeam = func() error { return errors.Join(leases.Close(), d.Close()) }
	return nil
}

// forkTeam gives a copy of a session its tasks and teams.
func forkTeam(ctx context.Context, h *cli.IO, store session.Dir, from, to string) {
	d := teamDir(store.Path)
	if err := errors.Join(d.Copy(ctx, from, to), d.Close()); err != nil {
		h.Warn("the copy has no tasks and teams of before: %v", err)
	}
}

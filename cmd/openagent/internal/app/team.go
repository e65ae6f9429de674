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

// A sharedTeam holds the state that the agents of a session share.
type sharedTeam interface {
	team.Tasks
	team.Teams
	team.Mail
	team.Agents
	team.Watcher
}

// teamFolder returns the folder of tasks, teams and mail. It is inside the session's folder and is
// deleted with it.
const teamFolder = "team"

func teamDir(sessions string) *team.Dir { return &team.Dir{Path: sessions, In: teamFolder} }

// keepTeam stores tasks, teams and mail with the session. If the session is not kept, they stay in
// memory.
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

// forkTeam copies the tasks and teams of a session to its fork.
func forkTeam(ctx context.Context, h *cli.IO, store session.Dir, from, to string) {
	d := teamDir(store.Path)
	if err := errors.Join(d.Copy(ctx, from, to), d.Close()); err != nil {
		h.Warn("the tasks and teams were not copied to the new session: %v", err)
	}
}

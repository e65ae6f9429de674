package main

import (
	"context"
	"errors"

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
func (h *host) keepTeam(s *setup) error {
	if s.options.ephemeral {
		return nil
	}
	path, err := h.sessionsDir(s.options.sessionDir, s.project)
	if err != nil {
		return err
	}
	d := teamDir(path)
	d.Log = h.logger(s.options)
	leases := &team.Leases{List: d}
	s.shared, s.tasks = d, leases
	s.closeTeam = func() error { return errors.Join(leases.Close(), d.Close()) }
	return nil
}

// forkTeam gives a copy of a session its tasks and teams.
func (h *host) forkTeam(ctx context.Context, store session.Dir, from, to string) {
	d := teamDir(store.Path)
	if err := errors.Join(d.Copy(ctx, from, to), d.Close()); err != nil {
		h.complain("the copy has no tasks and teams of before: %v", err)
	}
}

package subagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/gitworktree"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/session"
)

// tidying bounds the time for looking at a worktree whose agent has ended.
const tidying = time.Minute

// A location is where the worktree of an agent is, or is to be made: under from, named
// after the call that has started the agent.
type location struct {
	from, session, call string
	earlier             bool // it was made for earlier work of the agent
}

// locationOf returns where the worktree of an agent is to be, nil if it works where its
// parent does. An agent that continues has that of its first work. A fork of a session
// leaves the worktrees of agents to the session that it was made from.
func locationOf(ctx context.Context, p parentrun.Run, d Definition, s toolapi.Spawn, id string) (*location, error) {
	info, err := p.Child(ctx, id)
	switch {
	case errors.Is(err, session.ErrNotFound) && s.Resume == "":
	case err != nil:
		return nil, err
	case info.Agent != nil:
		from, apart := gitworktree.Origin(info.Dir, info.Agent.Session, info.Agent.Call)
		if apart && info.Parent != nil {
			return nil, fmt.Errorf("the agent %s works in the worktree %s, which belongs to the session that this one was forked from; its changes are there. Start another agent to go on with them", id, info.Dir)
		}
		if apart && s.Resume != "" {
			return &location{from, info.Agent.Session, info.Agent.Call, true}, nil
		}
	}
	if cmp.Or(s.Isolation, d.Isolation) != worktreeIsolation {
		return nil, nil
	}
	return &location{from: s.Call.Dir, session: s.Call.Session, call: s.Call.ID}, nil
}

// isolate gives an agent its own git worktree. At the agent's end a worktree without
// changes is removed; any other stays, and the parent hears about its changes and its path.
func (c *Manager) isolate(ctx context.Context, at location, asked bool, j *job, a *agent.Agent) error {
	switch {
	case c.Worktrees == nil:
		return errors.New("there are no worktrees here; leave out isolation")
	case at.earlier && !asked && !gitworktree.Exists(c.Worktrees, at.from, at.session, at.call):
		return errors.New("the worktree that the agent has worked in is gone; ask for isolation worktree to have it made again, or start another agent")
	}
	w, err := gitworktree.Make(ctx, c.Worktrees, at.from, at.session, at.call)
	if err != nil {
		return fmt.Errorf("making a worktree for the agent: %w", err)
	}
	a.Dir = w.Dir
	a.System += fmt.Sprintf("\n\nYou work in a git worktree of your own, %s, on the branch %s. Change nothing outside of it.", w.Dir, w.Branch)
	j.atEnd(func() {
		if j.paused() {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidying)
		defer cancel()
		j.say(c.tidy(ctx, w))
	})
	return nil
}

// tidy removes a worktree without changes, or describes its changes.
func (c *Manager) tidy(ctx context.Context, w *gitworktree.Worktree) string {
	changes, err := w.Changes(ctx)
	if err != nil {
		return fmt.Sprintf("Its worktree %s (branch %s) stays: what it has changed could not be found out: %v", w.Path, w.Branch, err)
	}
	if changes == "" {
		lost, err := w.Remove(ctx, c.Worktrees)
		if lost == "" && err == nil {
			return "It has changed no files; its worktree is removed."
		}
		changes = lost
		if err != nil {
			changes = fmt.Sprintf("it could not be removed: %v", err)
		}
	}
	text := fmt.Sprintf("Its changes are in the worktree %s, on the branch %s:\n%s", w.Path, w.Branch, changes)
	if err := w.Keep(c.Worktrees); err != nil {
		return text
	}
	return text + fmt.Sprintf("\nEnterWorktree with the name %s leads there.", w.Name)
}

package subagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/tools"
)

// Worktrees are the files and processes for git worktrees, such as those of a
// workspace.
type Worktrees interface {
	tools.Worktrees
}

// tidying bounds the time for looking at a worktree whose agent has ended.
const tidying = time.Minute

// isolate gives an agent a git worktree of its own. When it ends, one in which nothing
// has changed is removed; any other stays, and the agent that it works for is told
// what changed and where it is.
func (c *Crew) isolate(ctx context.Context, p *agent.Parent, s tools.Spawn, j *job, a *agent.Agent) error {
	if c.Worktrees == nil {
		return errors.New("there are no worktrees here; leave out isolation")
	}
	w, err := tools.MakeWorktree(ctx, c.Worktrees, s.Call.Dir, s.Call.Session, s.Call.ID)
	if err != nil {
		return fmt.Errorf("making a worktree for the agent: %w", err)
	}
	a.Dir = w.Dir
	a.System += fmt.Sprintf("\n\nYou work in a git worktree of your own, %s, on the branch %s. Change nothing outside of it.", w.Dir, w.Branch)
	j.atEnd(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidying)
		defer cancel()
		j.say(c.tidy(ctx, w))
	})
	return nil
}

// tidy removes a worktree without changes, or says what is in it.
func (c *Crew) tidy(ctx context.Context, w *tools.Worktree) string {
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

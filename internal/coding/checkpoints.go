package coding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/session"
)

// keepTime is how long a prompt waits for its checkpoint. The first checkpoint reads the whole
// tree.
const keepTime = time.Minute

// A checkpointer saves files before a prompt changes them.
type checkpointer struct {
	store    *checkpoint.Store
	sessions session.Store // with a folder
	home     string

	mu   sync.Mutex
	idle error // why it stopped; nil while it works
}

// addCheckpoints saves the files of sessions that are stored in a folder.
func (c *Coder) addCheckpoints() {
	dir := sessiondir.Path(c.Agent.Sessions)
	if dir == "" || c.without(Checkpoints) || c.finder.Home == "" {
		return
	}
	store := parts.CheckpointStore(c.finder.Home, c.Settings)
	store.Apart = append(store.Apart, dir)
	c.Checkpoints = store
	if c.Agent.Checkpoint == nil && parts.CheckpointsEnabled(c.Settings) {
		c.Agent.Checkpoint = (&checkpointer{store: store, sessions: c.Agent.Sessions, home: c.finder.Home}).take
	}
}

// take is the agent's Checkpoint function. After a failure for size it does not try again, because
// each attempt costs time.
func (k *checkpointer) take(ctx context.Context, at agent.CheckpointPlace) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle != nil {
		return "", k.idle
	}
	roots := trees(at)
	if i := slices.IndexFunc(roots, func(root string) bool { return within(k.home, root) }); i >= 0 {
		return "", fmt.Errorf("files in %s are not saved", k.home)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keepTime, fmt.Errorf("saving the files took longer than %v", keepTime))
	defer cancel()
	c, err := k.store.Take(ctx, checkpoint.Mark{Session: parts.CheckpointName(k.sessions, at.Session), Seq: at.Prompt}, roots...)
	switch {
	case errors.Is(err, checkpoint.ErrQuota):
		k.idle = fmt.Errorf("%w; raise the setting %s, or let git ignore what is large; no checkpoints are kept until you restart the program", err, parts.CheckpointQuotaKey)
	case errors.Is(err, checkpoint.ErrTooMany):
		k.idle = fmt.Errorf("%w; work in a smaller folder, or let git ignore what need not be kept; no checkpoints are kept until you restart the program", err)
	case errors.Is(err, context.DeadlineExceeded):
		k.idle = fmt.Errorf("%w: %w; let git ignore what need not be kept; no checkpoints are kept until you restart the program", err, context.Cause(ctx))
	default:
		return c.ID, err
	}
	return "", k.idle
}

// Rewind takes a session back to its state after fact number after: its files, then its conversation.
// 0 is the state before its first prompt.
func (c *Coder) Rewind(ctx context.Context, s *agent.Session, after int64) (report checkpoint.Report, err error) {
	if sessiondir.Path(c.Agent.Sessions) == "" || c.Checkpoints == nil {
		return report, fmt.Errorf("rewinding session %s: %w: its files are not kept", s.ID, agent.ErrNoCheckpoint)
	}
	if after == 0 {
		if after, err = beforeFirstPrompt(ctx, c.Agent.Sessions, s.ID); err != nil {
			return report, err
		}
	}
	restore := func(ctx context.Context, id string, record func(undo string) error) (err error) {
		report, err = c.Checkpoints.Restore(ctx, parts.CheckpointName(c.Agent.Sessions, s.ID), id, checkpoint.Restoring{Kept: record})
		return err
	}
	if err := s.RewindFiles(ctx, after, restore); err != nil {
		return report, err
	}
	return report, s.Rewind(ctx, after)
}

// beforeFirstPrompt returns the number of the fact before the first prompt of a session.
func beforeFirstPrompt(ctx context.Context, store session.Store, id string) (int64, error) {
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return 0, fmt.Errorf("rewinding session %s: %w", id, err)
		}
		if m, ok := e.Data.(event.UserMessage); ok && m.Delivery == fact.AsPrompt {
			return e.Seq - 1, nil
		}
	}
	return 0, fmt.Errorf("rewinding session %s: it has no prompt", id)
}

// trees returns the folders to save: the agent's folders and its current worktree, which git
// ignores in them.
func trees(at agent.CheckpointPlace) []string {
	list := slices.Clone(at.Roots)
	for dir := at.Dir; dir != filepath.Dir(dir) && !slices.Contains(list, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return append(list, dir)
		}
	}
	return list
}

// within reports whether a folder is dir or inside it.
func within(dir, path string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

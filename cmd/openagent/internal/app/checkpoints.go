package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/session"
)

// Settings keys of file checkpoints.
const (
	CheckpointsKey      = "fileCheckpointingEnabled"
	CheckpointQuotaKey  = "checkpointQuotaMB"
	CheckpointMaxAgeKey = "checkpointMaxAgeDays"
)

// keepTime is how long a prompt waits for its checkpoint. The first checkpoint reads the whole
// tree.
const keepTime = time.Minute

// checkpointStore returns the store of file checkpoints. All projects share one store and its
// quota. s may be nil.
func checkpointStore(h *cli.IO, s *config.Settings) (*checkpoint.Store, error) {
	home, err := h.Home()
	if err != nil {
		return nil, err
	}
	store := &checkpoint.Store{Dir: filepath.Join(home, "checkpoints"), Apart: []string{home}}
	if s != nil {
		megabytes, days := int64(0), 0
		s.Decode(CheckpointQuotaKey, &megabytes)
		s.Decode(CheckpointMaxAgeKey, &days)
		store.Quota, store.MaxAge = megabytes<<20, time.Duration(min(days, 36500))*24*time.Hour
	}
	return store, nil
}

// OpenCheckpoints opens the checkpoint store with the settings of the working folder.
func OpenCheckpoints(h *cli.IO) (*checkpoint.Store, *config.Settings, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, nil, err
	}
	s, err := config.Load(settings.ConfigOptions(h, new(settings.Options), dir))
	if err != nil {
		return nil, nil, settings.LoadError(err)
	}
	store, err := checkpointStore(h, s)
	return store, s, err
}

// CheckpointsEnabled reports whether the settings enable file checkpoints.
func CheckpointsEnabled(s *config.Settings) bool {
	yes := true
	if s != nil {
		s.Decode(CheckpointsKey, &yes)
	}
	return yes
}

// CheckpointName returns the name of a session's checkpoints. It is the session's folder, because
// sessions of two projects may share an id.
func CheckpointName(store session.Dir, id string) string { return filepath.Join(store.Path, id) }

// A checkpointer saves files before a prompt changes them.
type checkpointer struct {
	store    *checkpoint.Store
	sessions session.Dir
	home     string

	mu   sync.Mutex
	idle error // why it stopped; nil while it works
}

// AddCheckpoints enables file checkpoints for sessions that are kept.
func AddCheckpoints(h *cli.IO, s *App) error {
	dir, ok := s.Store.(session.Dir)
	if !ok {
		return nil
	}
	store, err := checkpointStore(h, s.Options.Settings)
	if err != nil {
		return err
	}
	home := filepath.Dir(store.Dir)
	store.Apart = append(store.Apart, dir.Path)
	s.Checkpoints = store
	if CheckpointsEnabled(s.Options.Settings) {
		s.Agent.Checkpoint = (&checkpointer{store: store, sessions: dir, home: home}).take
	}
	return nil
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
	c, err := k.store.Take(ctx, checkpoint.Mark{Session: CheckpointName(k.sessions, at.Session), Seq: at.Prompt}, roots...)
	switch {
	case errors.Is(err, checkpoint.ErrQuota):
		k.idle = fmt.Errorf("%w; raise the setting %s, or let git ignore what is large; no checkpoints are kept until you restart the program", err, CheckpointQuotaKey)
	case errors.Is(err, checkpoint.ErrTooMany):
		k.idle = fmt.Errorf("%w; work in a smaller folder, or let git ignore what need not be kept; no checkpoints are kept until you restart the program", err)
	case errors.Is(err, context.DeadlineExceeded):
		k.idle = fmt.Errorf("%w: %w; let git ignore what need not be kept; no checkpoints are kept until you restart the program", err, context.Cause(ctx))
	default:
		return c.ID, err
	}
	return "", k.idle
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

// forkCheckpoints copies the checkpoints of a session to its fork. Without them the fork works, but
// cannot restore files.
func forkCheckpoints(ctx context.Context, h *cli.IO, store session.Dir, from, to string, through int64) {
	kept, err := checkpointStore(h, nil)
	if err == nil {
		err = kept.Fork(ctx, CheckpointName(store, from), CheckpointName(store, to), through)
	}
	if err != nil {
		h.Warn("the new session cannot restore files from before the copy: %v", err)
	}
}

// DropCheckpoints deletes the checkpoints of deleted sessions.
func DropCheckpoints(ctx context.Context, h *cli.IO, gone ...string) error {
	kept, _, err := OpenCheckpoints(h)
	if err != nil {
		return err
	}
	return kept.Drop(ctx, gone...)
}

// OrphanCheckpoints returns the names of checkpoints whose session no longer exists.
func OrphanCheckpoints(ctx context.Context, kept *checkpoint.Store) (gone []string, err error) {
	names, err := kept.Sessions(ctx)
	for _, name := range names {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, name)
		}
	}
	return gone, err
}

// CheckpointQuota returns the maximum size of the checkpoint store in bytes.
func CheckpointQuota(kept *checkpoint.Store) int64 {
	return cmp.Or(kept.Quota, checkpoint.DefaultQuota)
}

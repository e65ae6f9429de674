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

// Settings of what is kept for bringing files back.
const (
	KeepsFilesKey = "fileCheckpointingEnabled"
	QuotaKey      = "checkpointQuotaMB"
	MaxAgeKey     = "checkpointMaxAgeDays"
)

// keepTime is how long a prompt waits for its files to be kept. The first time a
// large tree is read as a whole.
const keepTime = time.Minute

// keptFiles is where the states of files are that can be brought back: one store
// for all projects, so that its quota is that of all. s may be nil.
func keptFiles(h *cli.IO, s *config.Settings) (*checkpoint.Store, error) {
	home, err := h.Home()
	if err != nil {
		return nil, err
	}
	store := &checkpoint.Store{Dir: filepath.Join(home, "checkpoints"), Apart: []string{home}}
	if s != nil {
		megabytes, days := int64(0), 0
		s.Decode(QuotaKey, &megabytes)
		s.Decode(MaxAgeKey, &days)
		store.Quota, store.MaxAge = megabytes<<20, time.Duration(min(days, 36500))*24*time.Hour
	}
	return store, nil
}

// KeptFilesHere is keptFiles with the settings of the working folder.
func KeptFilesHere(h *cli.IO) (*checkpoint.Store, *config.Settings, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, nil, err
	}
	s, err := config.Load(settings.Sources(h, new(settings.Options), dir))
	if err != nil {
		return nil, nil, settings.Unsettled(err)
	}
	store, err := keptFiles(h, s)
	return store, s, err
}

func KeepsFiles(s *config.Settings) bool {
	yes := true
	if s != nil {
		s.Decode(KeepsFilesKey, &yes)
	}
	return yes
}

// KeptAs is the name of a session's checkpoints: its folder, as two projects may
// have sessions of one name.
func KeptAs(store session.Dir, id string) string { return filepath.Join(store.Path, id) }

// A keeper keeps files before a prompt changes some.
type keeper struct {
	store    *checkpoint.Store
	sessions session.Dir
	home     string

	mu   sync.Mutex
	idle error // why it has given up
}

// KeepFiles lets the agent keep files for sessions that are kept themselves.
func KeepFiles(h *cli.IO, s *App) error {
	dir, ok := s.Store.(session.Dir)
	if !ok {
		return nil
	}
	store, err := keptFiles(h, s.Options.Settings)
	if err != nil {
		return err
	}
	home := filepath.Dir(store.Dir)
	store.Apart = append(store.Apart, dir.Path)
	s.Kept = store
	if KeepsFiles(s.Options.Settings) {
		s.Agent.Checkpoint = (&keeper{store: store, sessions: dir, home: home}).keep
	}
	return nil
}

// keep is the agent's Checkpoint. What is too large once is not tried again, as
// each try would cost its time.
func (k *keeper) keep(ctx context.Context, at agent.CheckpointPlace) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle != nil {
		return "", k.idle
	}
	roots := trees(at)
	if i := slices.IndexFunc(roots, func(root string) bool { return within(k.home, root) }); i >= 0 {
		return "", fmt.Errorf("files in %s are not kept", k.home)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keepTime, fmt.Errorf("it took longer than %v", keepTime))
	defer cancel()
	c, err := k.store.Take(ctx, checkpoint.Mark{Session: KeptAs(k.sessions, at.Session), Seq: at.Prompt}, roots...)
	switch {
	case errors.Is(err, checkpoint.ErrQuota):
		k.idle = fmt.Errorf("%w; raise the setting %s, or let git ignore what is large; no checkpoints are kept until you restart the program", err, QuotaKey)
	case errors.Is(err, checkpoint.ErrTooMany):
		k.idle = fmt.Errorf("%w; work in a smaller folder, or let git ignore what need not be kept; no checkpoints are kept until you restart the program", err)
	case errors.Is(err, context.DeadlineExceeded):
		k.idle = fmt.Errorf("%w: %w; let git ignore what need not be kept; no checkpoints are kept until you restart the program", err, context.Cause(ctx))
	default:
		return c.ID, err
	}
	return "", k.idle
}

// trees are the folders to keep: those that the agent works in, and the worktree
// that it is in, which git ignores in them.
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

// forkKept gives a copy of a session its checkpoints. Without them the copy is as
// good but for bringing files back.
func forkKept(ctx context.Context, h *cli.IO, store session.Dir, from, to string, through int64) {
	kept, err := keptFiles(h, nil)
	if err == nil {
		err = kept.Fork(ctx, KeptAs(store, from), KeptAs(store, to), through)
	}
	if err != nil {
		h.Complain("files of before cannot be brought back in the copy: %v", err)
	}
}

// DropKept drops the checkpoints of sessions that are gone.
func DropKept(ctx context.Context, h *cli.IO, gone ...string) error {
	kept, _, err := KeptFilesHere(h)
	if err != nil {
		return err
	}
	return kept.Drop(ctx, gone...)
}

// OrphansOf are the sessions that are gone and have states of files: they are
// named after their folders.
func OrphansOf(ctx context.Context, kept *checkpoint.Store) (gone []string, err error) {
	names, err := kept.Sessions(ctx)
	for _, name := range names {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, name)
		}
	}
	return gone, err
}

func QuotaOf(kept *checkpoint.Store) int64 { return cmp.Or(kept.Quota, checkpoint.DefaultQuota) }

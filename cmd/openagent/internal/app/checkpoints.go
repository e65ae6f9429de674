package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/session"
)

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
	home, err := h.Home()
	if err != nil {
		return nil, s, err
	}
	return parts.CheckpointStore(home, s), s, nil
}

// forkCheckpoints copies the checkpoints of a session to its fork. Without them the fork works, but
// cannot restore files.
func forkCheckpoints(ctx context.Context, h *cli.IO, store session.Store, from, to string, through int64) {
	home, err := h.Home()
	if err == nil {
		err = parts.CheckpointStore(home, nil).Fork(ctx, parts.CheckpointName(store, from), parts.CheckpointName(store, to), through)
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

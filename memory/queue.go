package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/session"
)

const (
	queueName = ".reviews"
	maxQueued = 200
)

// Hook returns a hook that notes at the end of each session that it is to be reviewed. It asks no
// model, so it does not delay the end of a program. [Reviewer.ReviewQueued] makes the reviews.
func (r *Reviewer) Hook() hook.Hook {
	return hook.Hook{On: hook.SessionEnd, Name: "memory", Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
		if in.AgentID != "" || r.Memory == nil || len(r.Memory.Stores) == 0 {
			return hook.Output{}, nil
		}
		return hook.Output{}, r.Memory.Stores[0].Store.queue(ctx, in.Session)
	}}
}

// queue notes a session that is to be reviewed. Beyond 200, sessions are not noted.
func (s *Store) queue(ctx context.Context, id string) error {
	return s.locked(ctx, func() error {
		folder := filepath.Join(s.Path(), queueName)
		if err := safefile.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("noting a session for review: %w", err)
		}
		if err := realFolder(folder); err != nil {
			return err
		}
		if files, err := safefile.ReadDir(folder); err != nil || len(files) >= maxQueued {
			return err
		}
		if _, err := safefile.Lstat(filepath.Join(s.Path(), ignoreName)); errors.Is(err, fs.ErrNotExist) {
			if err := errors.Join(s.syncParents(), s.put(ignoreName, []byte(ignored))); err != nil {
				return err
			}
		}
		return safefile.Replacement{}.Bytes(queued(folder, id), []byte(id))
	})
}

// realFolder returns an error for a link, which a repository could have put there.
func realFolder(path string) error {
	info, err := safefile.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder but a link or a file; remove it", path)
	}
	return err
}

// queued is the file of a session in the queue. Any text may be an id.
func queued(folder, id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(folder, hex.EncodeToString(sum[:8]))
}

// Queued returns the ids of the sessions that are noted for a review.
func (s *Store) Queued() ([]string, error) {
	if err := s.straight(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	folder := filepath.Join(s.Path(), queueName)
	err := realFolder(folder)
	var files []os.DirEntry
	if err == nil {
		files, err = safefile.ReadDir(folder)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var ids []string
	for _, f := range files {
		if id, err := readFile(filepath.Join(folder, f.Name()), 1<<10); err == nil && len(id) > 0 && queued(folder, string(id)) == filepath.Join(folder, f.Name()) {
			ids = append(ids, string(id))
		}
	}
	return ids, nil
}

// ReviewQueued reviews the sessions that are noted, one after the other, and calls done with each
// outcome. It does nothing while another process reviews them. A session that was reviewed is taken
// off the list, and so is one that no longer exists. If a review fails, its session stays for the
// next time.
func (r *Reviewer) ReviewQueued(ctx context.Context, done func(*Review, error)) error {
	if r.Memory == nil || len(r.Memory.Stores) == 0 {
		return nil
	}
	store := r.Memory.Stores[0].Store
	ids, err := store.Queued()
	if err != nil || len(ids) == 0 {
		return err
	}
	lock, err := safefile.Open(filepath.Join(store.Path(), queueName, lockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("locking the sessions to review: %w", err)
	}
	defer lock.Close()
	if ours, err := safefile.TryLock(lock, safefile.Exclusive); err != nil || !ours {
		return err
	}
	defer safefile.Unlock(lock)
	for _, id := range ids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.Skip != nil && r.Skip(id) {
			continue
		}
		review, err := r.Review(ctx, id)
		if err == nil || errors.Is(err, session.ErrNotFound) {
			if err := safefile.Remove(queued(filepath.Join(store.Path(), queueName), id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		done(review, err)
	}
	return nil
}

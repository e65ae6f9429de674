package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// lockPause is the time between two tries to get a lock that another process holds.
const lockPause = 5 * time.Millisecond

// A lock is held until it is released.
type lock struct{ file safefile.File }

// acquire waits for the lock file at a path in the store, which is made if need
// be, until ctx ends.
func (s *Store) acquire(ctx context.Context, mode safefile.Mode, parts ...string) (*lock, error) {
	for {
		l, err := s.try(mode, parts...)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock of the checkpoints: %w", context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}

// try returns nil if another process holds the lock.
func (s *Store) try(mode safefile.Mode, parts ...string) (*lock, error) {
	name := s.path(parts...)
	if err := s.makeFolder(parts[:len(parts)-1]...); err != nil {
		return nil, fmt.Errorf("making the folder of the checkpoints: %w", err)
	}
	f, err := safefile.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the checkpoints: %w", err)
	}
	got, err := safefile.TryLock(f, mode)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking the checkpoints: %w", err), f.Close())
	}
	if !got {
		return nil, f.Close()
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if now, err := safefile.Lstat(name); err != nil || !safefile.SameFile(mine, now) {
		return nil, f.Close() // the store was removed in the meantime
	}
	return &lock{f}, nil
}

func (l *lock) release() {
	_ = safefile.Unlock(l.file) // closing does it as well, if later
	_ = l.file.Close()
}

// random returns n random hexadecimal digits.
func random(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

package session

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// A lock keeps other writers out of a session.
type lock struct {
	file safefile.File
	info fs.FileInfo
}

// acquire takes the lock file at path, which is made if need be, or fails with
// ErrBusy.
func acquire(path string) (*lock, error) {
	for range 100 {
		f, err := safefile.Open(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err == nil {
			err = lockFile(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if l := (&lock{f, info}); l.held() == nil {
			return l, nil
		}
		_ = f.Close() // the session was deleted while we opened the file
	}
	return nil, ErrBusy
}

// A program that was killed may leave a child that is forked and has not reached its
// exec: the child holds the lock for a moment longer.
const (
	lockPatience = 100 * time.Millisecond
	lockPause    = 5 * time.Millisecond
)

// lockFile takes the lock of an open file or fails with ErrBusy.
func lockFile(f safefile.File) error {
	for patience := lockPatience; ; patience -= lockPause {
		ok, err := safefile.TryLock(f, safefile.Exclusive)
		switch {
		case ok || err != nil:
			return err
		case patience <= 0:
			return ErrBusy
		}
		time.Sleep(lockPause)
	}
}

// held reports whether someone holds the lock file at path. It disturbs no writer: one that
// takes the lock at this moment tries again.
func held(path string) bool {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	ok, err := safefile.TryLock(f, safefile.Shared)
	if ok {
		_ = safefile.Unlock(f)
	}
	return err == nil && !ok
}

// held returns ErrLost if the lock file is no longer the one that we locked: another
// process may have made and locked a new one.
func (l *lock) held() error { return same(l.file.Name(), l.info) }

func (l *lock) release() error { return errors.Join(safefile.Unlock(l.file), l.file.Close()) }

// same returns ErrLost unless path leads to the file that was opened as info.
func same(path string, info fs.FileInfo) error {
	now, err := safefile.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !safefile.SameFile(now, info):
		return ErrLost
	}
	return err
}

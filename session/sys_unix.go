//go:build unix

package session

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// openFlags keep a hostile folder from having us write through a link or wait
// for a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// private takes everybody else's rights to f away, whatever the umask was.
func private(f *os.File, mode fs.FileMode) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() == mode {
		return err
	}
	return f.Chmod(mode)
}

// A program that was killed may leave a child that was forked and has not come
// to its exec: it holds the lock for a moment longer.
const (
	lockPatience = 100 * time.Millisecond
	lockPause    = 5 * time.Millisecond
)

// lockFile takes the lock of an open file or fails with ErrSessionBusy. The lock
// belongs to the open file: other openings in this process are refused too, and
// the system releases it when the process dies.
func lockFile(f *os.File) error {
	for patience := lockPatience; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK) && patience > 0:
			time.Sleep(lockPause)
			patience -= lockPause
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrSessionBusy
		}
		return err
	}
}

// unlockFile gives the lock back at once: closing alone would leave it with a
// child process that was forked but has not come to its exec yet.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// removeLock removes a lock file that is held, before it is released: who waits
// with the old file in hand finds that it is gone.
func removeLock(l *lock) error {
	err := os.Remove(l.file.Name())
	return errors.Join(err, l.release())
}

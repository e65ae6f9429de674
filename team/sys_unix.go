//go:build unix

package team

import (
	"errors"
	"os"
	"syscall"
)

// openFlags keep a hostile folder from having us follow a link or wait for a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// lockFile reports whether it got the lock of an open file. Other openings in
// this process are refused too; the system gives it back when the process dies.
func lockFile(f *os.File) (bool, error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return false, nil
	default:
		return err == nil, err
	}
}

func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// private takes everybody else's rights to a file away, whatever the umask was.
func private(f *os.File) error { return f.Chmod(0o600) }

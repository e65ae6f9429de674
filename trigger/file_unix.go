//go:build unix

package trigger

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep a hostile folder from having us follow a link or wait for a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// private reports whether only the owner has rights to a file.
func private(m fs.FileMode) bool { return m.Perm()&0o077 == 0 }

// lockFile reports whether it got the lock of an open file. The system gives it
// back when the process dies.
func lockFile(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockFlags keep a hostile folder from having us follow a link or wait for a
// pipe, readFlags from waiting.
const (
	lockFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	readFlags = syscall.O_NONBLOCK
)

// errNotDir is that a folder in a path is none.
const errNotDir = syscall.ENOTDIR

// openToAll reports whether everybody may write to a file.
func openToAll(m fs.FileMode) bool { return m.Perm()&0o002 != 0 }

// lockFile reports whether it got the lock of an open file. The system gives it
// back when the process dies.
func lockFile(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// freeFile removes the lock's file while it is still locked, and frees it.
func freeFile(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }

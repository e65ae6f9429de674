//go:build unix

// Package filelock has the locks of open files that programs share.
package filelock

import (
	"errors"
	"os"
	"syscall"
)

// OpenFlags keep a hostile folder from having us follow a link or wait for a pipe.
const OpenFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Try reports whether it got the lock of an open file. Other openings in
// this process are refused too; the system gives it back when the process dies.
func Try(f *os.File) (bool, error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return false, nil
	default:
		return err == nil, err
	}
}

// Release gives the lock back.
func Release(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

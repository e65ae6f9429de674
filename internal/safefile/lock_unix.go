//go:build unix

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// OpenFlags keep an opening in a hostile folder from following a link or waiting for a pipe.
const OpenFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func tryLock(f *os.File, mode Mode) (bool, error) {
	how := syscall.LOCK_EX
	if mode == Shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}

func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

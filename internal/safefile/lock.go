// Package safefile changes files that crashes and other processes must not damage: it locks
// them, replaces them as a whole and opens them without following links. Everything that it
// does can be done by another disk than that of the machine: see [Mount].
package safefile

import (
	"errors"
	"io/fs"
	"os"
)

// A Mode says who else may hold a lock at the same time.
type Mode bool

const (
	Exclusive Mode = false // not held
	Shared    Mode = true  // others that hold it shared
)

// TryLock takes the advisory lock of an open file, and reports whether it got it. The
// lock belongs to this opening: other openings of the file are refused, also in this
// process. The system releases the lock when the process dies.
func TryLock(f File, mode Mode) (bool, error) {
	switch f := f.(type) {
	case Locker:
		return f.TryLock(mode)
	case *os.File:
		return tryLock(f, mode)
	}
	return false, noLocks(f)
}

// Unlock releases the lock at once. Closing the file alone would leave the lock with a
// child process that is forked and has not reached its exec.
func Unlock(f File) error {
	switch f := f.(type) {
	case Locker:
		return f.Unlock()
	case *os.File:
		return unlock(f)
	}
	return noLocks(f)
}

func noLocks(f File) error {
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: errors.ErrUnsupported}
}

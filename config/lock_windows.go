package config

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const (
	lockFlags = 0
	readFlags = 0
)

// errNotDir is that a folder in a path is none.
const errNotDir = windows.ERROR_PATH_NOT_FOUND

// openToAll is false: a mode says nothing of who may write to a file here.
func openToAll(fs.FileMode) bool { return false }

// lockFile reports whether it got the lock of an open file. The system gives it
// back when the process dies.
func lockFile(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// freeFile frees the lock and removes its file, unless somebody else has it open.
func freeFile(f *os.File) error {
	err := f.Close()
	_ = os.Remove(f.Name())
	return err
}

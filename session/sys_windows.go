package session

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const openFlags = 0

// private does nothing: a new file inherits the access list of its folder.
func private(*os.File, fs.FileMode) error { return nil }

// lockFile takes the lock of an open file or fails with ErrSessionBusy. The
// system releases it when the process dies.
func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrSessionBusy
	}
	return err
}

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

// removeLock removes a lock file that is held. An open file cannot be removed
// here, so it is released first; who opens it in between keeps it.
func removeLock(l *lock) error {
	name := l.file.Name()
	err := l.release()
	_ = os.Remove(name)
	return err
}

package checkpoint

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

const (
	noFollow = 0
	noWait   = 0
)

// tryLock takes the lock of an open file, for oneself or together with others,
// unless somebody has it. The system gives it back when the process dies.
func tryLock(f *os.File, shared bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

// lockedByte is far behind the content, which others may read.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// move moves a file from a folder to another.
func move(from *os.Root, name string, to *os.Root, as string) error {
	return os.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), as))
}

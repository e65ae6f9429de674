//go:build unix

package session

import (
	"errors"
	"io/fs"
	"os"
)

// private takes everybody else's rights to f away, whatever the umask was.
func private(f *os.File, mode fs.FileMode) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() == mode {
		return err
	}
	return f.Chmod(mode)
}

// removeLock removes a lock file that is held, before it is released: who waits
// with the old file in hand finds that it is gone.
func removeLock(l *lock) error {
	err := os.Remove(l.file.Name())
	return errors.Join(err, l.release())
}

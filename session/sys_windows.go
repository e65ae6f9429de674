package session

import (
	"io/fs"
	"os"
)

// private does nothing: a new file inherits the access list of its folder.
func private(*os.File, fs.FileMode) error { return nil }

// removeLock removes a lock file that is held. An open file cannot be removed
// here, so it is released first; who opens it in between keeps it.
func removeLock(l *lock) error {
	name := l.file.Name()
	err := l.release()
	_ = os.Remove(name)
	return err
}

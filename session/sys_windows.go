package session

import (
	"os"
)

// removeLock removes a lock file that is held. An open file cannot be removed
// here, so it is released first; who opens it in between keeps it.
func removeLock(l *lock) error {
	name := l.file.Name()
	err := l.release()
	_ = os.Remove(name)
	return err
}

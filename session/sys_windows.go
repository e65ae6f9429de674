package session

import (
	"github.com/openagent-go/agent/internal/safefile"
)

// removeLock removes a lock file that is held. An open file cannot be removed
// here, so it is released first; who opens it in between keeps it.
func removeLock(l *lock) error {
	name := l.file.Name()
	err := l.release()
	_ = safefile.Remove(name)
	return err
}

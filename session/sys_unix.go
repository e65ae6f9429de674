//go:build unix

package session

import (
	"errors"

	"github.com/openagent-go/agent/internal/safefile"
)

// removeLock removes a lock file that is held, before it is released: who waits
// with the old file in hand finds that it is gone.
func removeLock(l *lock) error {
	err := safefile.Remove(l.file.Name())
	return errors.Join(err, l.release())
}

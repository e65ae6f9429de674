package session_test

import (
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/sessiontest"
)

func TestMemory(t *testing.T) {
	sessiontest.Run(t, func(*testing.T) session.Store { return session.Memory() })
}

func TestDir(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) session.Store {
		return session.Folder{Path: filepath.Join(t.TempDir(), "not", "yet")}
	})
}

// A store with the methods of the interface alone.
func TestPlainStore(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(*testing.T) session.Store { return struct{ session.Store }{session.Memory()} })
}

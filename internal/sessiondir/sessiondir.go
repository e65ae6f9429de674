// Package sessiondir tells more of a store that session.Dir has made: where its files are,
// and which sessions it has, damaged ones included.
package sessiondir

import (
	"context"

	"github.com/openagent-go/agent/session"
)

// Path returns the folder of a store. It is "" if the store keeps its sessions elsewhere.
func Path(s session.Store) string {
	if d, ok := s.(interface{ Folder() string }); ok {
		return d.Folder()
	}
	return ""
}

// IDs returns the ids of all sessions, sorted, those included that are too damaged to be
// listed. A store that keeps its sessions elsewhere has none.
func IDs(ctx context.Context, s session.Store) ([]string, error) {
	if d, ok := s.(interface {
		IDs(ctx context.Context) ([]string, error)
	}); ok {
		return d.IDs(ctx)
	}
	return nil, nil
}

// Journal returns the file that a session's facts are in. It is "" if there is none.
func Journal(s session.Store, id string) string {
	if d, ok := s.(interface{ Journal(id string) string }); ok {
		return d.Journal(id)
	}
	return ""
}

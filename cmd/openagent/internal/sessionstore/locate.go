package sessionstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/session"
)

// Stores are the stores that the flags speak of: one, or those of all projects.
func Stores(ctx context.Context, h *cli.IO, at settings.Place, all bool) ([]session.Store, error) {
	project, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	store, err := Open(ctx, h, at, project)
	if err != nil {
		return nil, err
	}
	if all && !OfAllFolders(store, at) {
		return Projects(h)
	}
	return []session.Store{store}, nil
}

// OfAllFolders reports whether a store of a place has the sessions of all folders, and not those of a
// project alone.
func OfAllFolders(store session.Store, at settings.Place) bool {
	return InDatabase(store) || at.Dir != ""
}

// InDatabase reports whether the sessions of a store are in a database.
func InDatabase(store session.Store) bool {
	_, ok := store.(*database)
	return ok
}

// Locate finds a session in the store that the flags name, else in any project. The id may be the
// beginning of one, see [FullID]. Locate returns the whole id.
func Locate(ctx context.Context, h *cli.IO, at settings.Place, id string) (session.Store, string, error) {
	stores, err := Stores(ctx, h, at, false)
	if err != nil {
		return nil, "", err
	}
	if !OfAllFolders(stores[0], at) {
		others, _ := Projects(h) // a store that cannot be listed is skipped
		stores = append(stores, others...)
	}
	if err := session.CheckID(id); err != nil {
		return nil, "", cli.Usagef("%w", err)
	}
	if id, err = FullID(ctx, id, stores...); err != nil {
		return nil, "", err
	}
	_, err = session.Stat(ctx, stores[0], id)
	if !errors.Is(err, session.ErrNotFound) {
		return stores[0], id, err
	}
	for _, s := range stores[1:] {
		if _, err := session.Stat(ctx, s, id); err == nil {
			return s, id, nil
		}
	}
	return nil, "", NotFound(id, err)
}

// minPrefix is the least number of characters that may stand for a whole id.
const minPrefix = 8

// FullID returns the id of the one session that begins with prefix, damaged sessions included. An id
// that a store has, or that nothing begins with, is returned as it is. Stores that cannot be listed
// are skipped.
func FullID(ctx context.Context, prefix string, stores ...session.Store) (string, error) {
	var found []string
	for _, s := range stores {
		ids, _ := sessiondir.IDs(ctx, s)
		for _, id := range ids {
			switch {
			case id == prefix:
				return id, nil
			case len(prefix) >= minPrefix && strings.HasPrefix(id, prefix) && !slices.Contains(found, id):
				found = append(found, id)
			}
		}
	}
	switch n := len(found); {
	case n == 1:
		return found[0], nil
	case n > 1:
		const most = 5
		return "", cli.Usagef("%d sessions have ids that begin with %s: %s; write more of the id", n, cli.Clip(prefix), strings.Join(found[:min(n, most)], ", "))
	}
	return prefix, nil
}

// NotFound returns the error for a session that cannot be found.
func NotFound(id string, err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return cli.Usagef("there is no session %s; openagent sessions list --all shows them", id)
	}
	return err
}

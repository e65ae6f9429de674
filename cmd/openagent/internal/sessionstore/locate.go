package sessionstore

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/session"
)

// Stores are the stores that the flags speak of: one, or those of all projects.
func Stores(h *cli.IO, dir string, all bool) ([]session.Store, error) {
	if all && dir == "" {
		return Projects(h)
	}
	project, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	path, err := SessionsDir(h, dir, project)
	return []session.Store{session.Dir(path)}, err
}

// Locate finds a session in the store that the flags name, else in any project.
func Locate(ctx context.Context, h *cli.IO, dir, id string) (session.Store, error) {
	stores, err := Stores(h, dir, false)
	if err != nil {
		return nil, err
	}
	if err := session.CheckID(id); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	_, err = session.Stat(ctx, stores[0], id)
	if !errors.Is(err, session.ErrNotFound) || dir != "" {
		return stores[0], NotFound(id, err)
	}
	if _, store, ok := FindInOtherProjects(ctx, h, id); ok {
		return store, nil
	}
	return nil, NotFound(id, err)
}

// NotFound returns the error for a session that cannot be found.
func NotFound(id string, err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return cli.Usagef("there is no session %s; openagent sessions list --all shows them", id)
	}
	return err
}

package sessions

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/session"
)

// nameSession sets or removes a session's title or tag.
func nameSession(ctx context.Context, h *cli.IO, o *sessionsOptions, verb, id, name string) error {
	store, id, err := sessionstore.Locate(ctx, h, o.place, id)
	if err != nil {
		return err
	}
	set := session.Rename
	if verb == "tag" {
		set = session.SetTag
	}
	return told(ctx, h, id, set(ctx, store, id, name))
}

// told returns the user's version of an error from changing a session.
func told(ctx context.Context, h *cli.IO, id string, err error) error {
	switch {
	case errors.Is(err, session.ErrBusy):
		return cli.Usagef("session %s is in use by %s; wait until it ends", id, cli.Holder(err))
	case err != nil:
		return cli.CommandError(ctx, err)
	}
	return nil
}

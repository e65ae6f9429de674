package dialog

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionlist"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// Session lets the person choose a session. It reports false if they have left.
func Session(ctx context.Context, h *cli.IO, list *sessionlist.List) (chosen sessionlist.Chosen, ok bool, err error) {
	c, some, err := list.First(ctx)
	switch {
	case err != nil:
		return chosen, false, err
	case !some:
		return chosen, false, sessionlist.ErrNone
	}
	d, err := Open(h)
	if err != nil {
		return chosen, false, err
	}
	defer func() {
		if failed := d.Close(); err == nil {
			err = failed
		}
	}()
	defer list.Close()
	list.Tell = d.Tell
	_, ok, err = d.Ask(ctx, c, func(ctx context.Context, a ui.Action) bool {
		p, is := a.(ui.Picked)
		switch {
		case a == nil:
			list.Details(ctx)
		case !is:
			list.Do(ctx, a)
		default:
			s, failed := list.Chosen(ctx, p.Value)
			if failed != nil {
				list.Again(failed)
				return false
			}
			chosen = s
		}
		return true
	})
	return chosen, ok, err
}

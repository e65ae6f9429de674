package rewind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/session"
)

// Diff returns how the files have changed since a prompt: the number of its fact, the id of its
// message, or "last"; "" is the first prompt. What you have changed meanwhile is in it too. It fails
// with [agent.ErrNoCheckpoint] if the files of that time were not saved.
func Diff(ctx context.Context, store session.Store, kept *checkpoint.Store, id, since string) ([]checkpoint.Change, error) {
	if sessiondir.Path(store) == "" || kept == nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrNoCheckpoint, errMemory)
	}
	w, err := walkOf(ctx, store, id)
	if errors.Is(err, session.ErrNotFound) && since == "" { // nothing has happened yet
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := w.prompts()
	slices.Reverse(list)
	if since != "" {
		at := w.find(since)
		i := slices.IndexFunc(list, func(s *step) bool { return s.Seq == at })
		if i < 0 {
			return nil, fmt.Errorf("there is no prompt %s; /rewind lists the prompts", strings.TrimSpace(since))
		}
		list = list[i:]
	}
	for _, s := range list {
		switch {
		case s.kept != nil && s.kept.ID != "":
			return kept.Changes(ctx, parts.CheckpointName(store, id), s.kept.ID, "")
		case s.changes, s.kept != nil:
			return nil, agent.ErrNoCheckpoint
		}
	}
	return nil, nil
}

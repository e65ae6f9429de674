package sessions

import (
	"context"
	"errors"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/session"
)

// holding finds the store of a session, even if the session is damaged, and its whole id.
func holding(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) (session.Store, string, error) {
	stores, err := sessionstore.Stores(ctx, h, o.place, false)
	if err != nil {
		return nil, "", err
	}
	if !sessionstore.OfAllFolders(stores[0], o.place) {
		others, _ := sessionstore.Projects(h) // a store that cannot be listed is skipped
		stores = append(stores, others...)
	}
	if err := session.CheckID(id); err != nil {
		return nil, "", cli.Usagef("%w", err)
	}
	if id, err = sessionstore.FullID(ctx, id, stores...); err != nil {
		return nil, "", err
	}
	for _, s := range stores {
		if _, err = session.Stat(ctx, s, id); !errors.Is(err, session.ErrNotFound) {
			return s, id, nil
		}
	}
	return nil, "", sessionstore.NotFound(id, err)
}

// repaired are the counts of a [session.Repaired].
type repaired struct {
	Kept      int64 `json:"kept"`
	Rewritten int64 `json:"rewritten"`
}

func repairSessions(ctx context.Context, h *cli.IO, o *sessionsOptions, ids []string) error {
	done := []*session.Repaired{}
	var rows [][]string
	for _, id := range ids {
		s, id, err := holding(ctx, h, o, id)
		if err != nil {
			return err
		}
		r, err := session.Repair(ctx, s, id)
		if err != nil {
			return told(ctx, h, id, err)
		}
		done = append(done, r)
		counts, err := decode[repaired](r)
		if err != nil {
			return err
		}
		backup := r.Backup
		if backup == "" {
			backup = "nothing had to be repaired"
		}
		rows = append(rows, []string{id, strconv.FormatInt(counts.Kept, 10), strconv.FormatInt(counts.Rewritten, 10), backup})
	}
	return h.WriteList(o.format, done, "SESSION KEPT REWRITTEN DAMAGED-JOURNAL", rows)
}

package postgres

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent/session"
)

// Lend lets others open or delete a session that this store has open and does not use now, as
// [durable.Backend] says. The epoch stays, so this store finds out.
func (s *store) Lend(ctx context.Context, id string) error {
	_, err := s.setLent(ctx, id, true)
	return err
}

// Recall takes a session back. It fails with [session.ErrLost] if it was opened or deleted meanwhile.
func (s *store) Recall(ctx context.Context, id string) error {
	mine, err := s.setLent(ctx, id, false)
	if err == nil && !mine {
		err = fmt.Errorf("session %s: %w", id, session.ErrLost)
	}
	return err
}

// setLent ends the lease of an open session, or begins it again. It reports whether the session still
// belongs to this store.
func (s *store) setLent(ctx context.Context, id string, lent bool) (mine bool, err error) {
	d := s.db
	d.renewing.Lock() // a renewal may have read the other state
	defer d.renewing.Unlock()
	d.mu.Lock()
	var found *log
	for l := range d.held {
		if l.store == s && l.id == id {
			found = l
			l.lent = lent
		}
	}
	d.mu.Unlock()
	if found == nil {
		return false, nil
	}
	owned, err := d.renewAll(ctx, []int64{found.n}, []int64{found.epoch}, []bool{lent})
	if err != nil {
		return false, fmt.Errorf("lending session %s: %w", id, err)
	}
	if len(owned) == 0 {
		found.tellLost()
	}
	return len(owned) == 1, nil
}

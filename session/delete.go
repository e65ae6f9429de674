package session

import (
	"context"
	"errors"
	"fmt"
)

// Delete removes a session and those of its sub-agents. It fails with [ErrBusy] while the
// session is open, with [ErrNotFound], and if the store is no [Deleter].
func Delete(ctx context.Context, s Store, id string) error {
	d, ok := s.(Deleter)
	if !ok {
		return fmt.Errorf("deleting session %s: %w", id, errCannotDelete)
	}
	return d.Delete(ctx, id)
}

var errCannotDelete = errors.New("the store cannot delete sessions: it has no method Delete")

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// Worker returns the name of the worker that has a session open, "" for none. Package serve shows it.
func (s *store) Worker(ctx context.Context, id string) (name string, err error) {
	name, _, _, err = s.who(ctx, id)
	if err != nil {
		return "", fmt.Errorf("looking who works on session %s: %w", id, err)
	}
	return name, nil
}

// who returns who has a session open, and since when. open is false if nobody has.
func (s *store) who(ctx context.Context, id string) (name string, since *time.Time, open bool, err error) {
	err = s.db.pool.QueryRow(ctx, `SELECT worker, opened FROM openagent.sessions WHERE space = $1 AND id = $2 AND lease >= now()`, s.space, id).Scan(&name, &since)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil, false, nil
	}
	return name, since, err == nil, err
}

// busy returns the error for a session that somebody else has open.
func (s *store) busy(ctx context.Context, id string) error {
	name, since, open, err := s.who(ctx, id)
	if err != nil || !open { // it was closed just now
		return session.ErrBusy
	}
	b := &busyError{worker: text.Runes(text.OneLine(name), maxShown)}
	if since != nil {
		b.since = since.UTC().Format(" since 2006-01-02 15:04:05 UTC")
	}
	return b
}

// maxShown is the number of letters of a worker's name that errors show.
const maxShown = 100

// A busyError says who has a session open. It matches [session.ErrBusy].
type busyError struct{ worker, since string }

func (e *busyError) Error() string {
	return "session is in use by " + cmp.Or(e.worker, "another process") + e.since + "; wait for the end of its run, interrupt it, or close the session there"
}

func (e *busyError) Unwrap() error { return session.ErrBusy }

// Busy returns who has the session open, and since when, for messages that say more.
func (e *busyError) Busy() string { return cmp.Or(e.worker, "another process") + e.since }

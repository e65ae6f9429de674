package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Worker returns the name of the worker that has a session open, "" for none. Package serve shows it.
func (s *store) Worker(ctx context.Context, id string) (name string, err error) {
	err = s.db.pool.QueryRow(ctx, `SELECT worker FROM openagent.sessions WHERE space = $1 AND id = $2 AND lease >= now()`, s.space, id).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking who works on session %s: %w", id, err)
	}
	return name, nil
}

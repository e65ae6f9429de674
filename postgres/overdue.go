package postgres

import (
	"context"
	"fmt"
	"time"
)

// overdueAfter is the age from which a session without a worker is overdue.
const overdueAfter = 10 * time.Second

// Overdue returns how many sessions want a worker and have waited for more than ten seconds, and how long
// the oldest has. Package serve shows it.
func (e engine) Overdue(ctx context.Context) (sessions int, oldest time.Duration, err error) {
	var seconds float64
	err = e.db.pool.QueryRow(ctx, `SELECT count(*), coalesce(extract(epoch FROM now() - min(due)), 0)::float8 FROM openagent.wakes
		WHERE due <= now() - $1::interval AND (place IS NULL OR moved <= now() - $1::interval)`, overdueAfter).Scan(&sessions, &seconds)
	if err != nil {
		return 0, 0, fmt.Errorf("looking for sessions without a worker: %w", err)
	}
	return sessions, time.Duration(seconds * float64(time.Second)), nil
}

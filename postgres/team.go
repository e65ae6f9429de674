package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/team"
)

// Team returns the tasks, teams, mail and names of agents, for programs on all machines that
// use the database. The space of a session's agents is deleted with the session. An agent
// counts as running until its program was silent for [Options.Lease]. Close the store before
// the DB.
func (d *DB) Team() *team.Store { return team.Shared(&ledger{d}) }

// A ledger keeps the lines of teams.
type ledger struct{ db *DB }

var _ team.Ledger = (*ledger)(nil)

// A position is the number of a space in the tables, and of a line.
type position struct{ space, line int64 }

func parsePosition(s string) (p position, err error) {
	if s != "" {
		if _, err = fmt.Sscanf(s, "%d.%d", &p.space, &p.line); err != nil {
			err = fmt.Errorf("postgres: position %q of a team's lines: %w", s, err)
		}
	}
	return p, err
}

func (p position) String() string {
	if p.line == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", p.space, p.line)
}

// Read implements [team.Ledger]. It is one statement, so it sees no half of a change.
func (l *ledger) Read(ctx context.Context, space, after string) ([]string, string, time.Time, error) {
	from, err := parsePosition(after)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	lines, end, now, err := readLines(ctx, l.db.pool, space, from)
	if err != nil {
		return nil, "", time.Time{}, fmt.Errorf("reading tasks and teams: %w", cmp.Or(ctx.Err(), err))
	}
	return lines, end.String(), now, nil
}

func readLines(ctx context.Context, q interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, space string, from position) (lines []string, end position, now time.Time, err error) {
	rows, err := q.Query(ctx, `
		SELECT coalesce(s.n, 0), coalesce(s.first, 1), coalesce(s.last, 0), clock_timestamp(), l.line
		FROM (SELECT) one LEFT JOIN openagent.spaces s ON s.space = $1
		LEFT JOIN openagent.lines l ON l.space = s.n AND l.n > $3 AND ($3 = 0 OR s.n = $2 AND s.first <= $3)
		ORDER BY l.n`, space, from.space, from.line)
	if err != nil {
		return nil, position{}, time.Time{}, err
	}
	var first int64
	var line *string
	_, err = pgx.ForEachRow(rows, []any{&end.space, &first, &end.line, &now, &line}, func() error {
		if line != nil {
			lines = append(lines, *line)
		}
		return nil
	})
	if err == nil && from.line > 0 && (end.space != from.space || from.line < first || from.line > end.line) {
		err = team.ErrMoved
	}
	return lines, end, now, err
}

// writeLimit is the time for a change once it is sent.
const writeLimit = 30 * time.Second

// Write implements [team.Ledger]. One writer at a time has the row of the space.
func (l *ledger) Write(ctx context.Context, space, after string, fn func([]string, time.Time) ([]string, bool, error)) (string, error) {
	from, err := parsePosition(after)
	if err != nil {
		return "", err
	}
	end, err := l.write(ctx, space, from, fn)
	if err != nil {
		return "", fmt.Errorf("writing tasks and teams: %w", cmp.Or(ctx.Err(), err))
	}
	return end.String(), nil
}

func (l *ledger) write(ctx context.Context, space string, from position, fn func([]string, time.Time) ([]string, bool, error)) (end position, err error) {
	tx, err := l.db.pool.Begin(ctx)
	if err != nil {
		return position{}, err
	}
	sending, stop := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer stop()
	defer func() { _ = tx.Rollback(sending) }() // nothing after a commit
	var locked bool
	const lock = `SELECT true FROM openagent.spaces WHERE space = $1 FOR UPDATE`
	err = tx.QueryRow(ctx, lock, space).Scan(&locked)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err = tx.Exec(ctx, `INSERT INTO openagent.spaces (space) VALUES ($1) ON CONFLICT DO NOTHING`, space); err == nil {
			err = tx.QueryRow(ctx, lock, space).Scan(&locked)
		}
	}
	if err != nil {
		return position{}, err
	}
	lines, end, now, err := readLines(ctx, tx, space, from)
	if err != nil {
		return position{}, err
	}
	more, replace, err := fn(lines, now)
	if err != nil || len(more) == 0 {
		return end, err
	}
	// Once the statement is sent, nobody knows whether it counts. So it is not cut short.
	_, err = tx.Exec(sending, `
		WITH grown AS (
			UPDATE openagent.spaces SET last = $2 + cardinality($3::text[]), first = CASE WHEN $4 THEN $2 + 1 ELSE first END WHERE n = $1),
		gone AS (DELETE FROM openagent.lines WHERE $4 AND space = $1 AND n <= $2)
		INSERT INTO openagent.lines (space, n, line) SELECT $1, $2 + u.i, u.line FROM unnest($3::text[]) WITH ORDINALITY u (line, i)`,
		end.space, end.line, more, replace)
	if err == nil {
		err = tx.Commit(sending)
	}
	if err != nil {
		return position{}, err
	}
	end.line += int64(len(more))
	l.db.hub.tell(teamOf + space)
	return end, nil
}

// Watch implements [team.Ledger].
func (l *ledger) Watch(ctx context.Context, space string) (<-chan struct{}, error) {
	c, stop := l.db.hub.listen(teamOf + space)
	context.AfterFunc(ctx, stop)
	return c, nil
}

// Lock implements [team.Ledger].
func (l *ledger) Lock(ctx context.Context, name string) (func(), error) {
	return l.db.locks.lock(ctx, name)
}

// Locked implements [team.Ledger].
func (l *ledger) Locked(ctx context.Context, name string) (held bool, err error) {
	err = l.db.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM openagent.locks WHERE name = $1 AND until >= now())`, name).Scan(&held)
	return held, err
}

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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

// linesQuery reads the lines of a space after a position, if the line at the position is still
// there. It is one statement, so it sees no half of a change.
const linesQuery = `
	SELECT coalesce(s.n, 0), coalesce(s.last, 0), clock_timestamp(), at.known, l.line
	FROM (SELECT) one LEFT JOIN openagent.spaces s ON s.space = $1
	CROSS JOIN LATERAL (SELECT $3 = 0 OR EXISTS (SELECT FROM openagent.lines WHERE space = s.n AND s.n = $2 AND n = $3) AS known) at
	LEFT JOIN openagent.lines l ON l.space = s.n AND l.n > $3 AND at.known
	ORDER BY l.n`

// Read implements [team.Ledger].
func (l *ledger) Read(ctx context.Context, space, after string) ([]string, string, time.Time, error) {
	from, err := parsePosition(after)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	rows, _ := l.db.pool.Query(ctx, linesQuery, space, from.space, from.line) // rows has the error
	lines, end, now, err := linesOf(rows, from)
	if err != nil {
		return nil, "", time.Time{}, fmt.Errorf("reading tasks and teams: %w", cmp.Or(ctx.Err(), err))
	}
	return lines, end.String(), now, nil
}

// linesOf reads the result of linesQuery.
func linesOf(rows pgx.Rows, from position) (lines []string, end position, now time.Time, err error) {
	var known bool
	var line *string
	_, err = pgx.ForEachRow(rows, []any{&end.space, &end.line, &now, &known, &line}, func() error {
		if line != nil {
			lines = append(lines, *line)
		}
		return nil
	})
	if err == nil && !known {
		err = team.ErrMoved
	}
	return lines, end, now, err
}

// writeLimit is the time for a change once it is sent.
const writeLimit = 30 * time.Second

// Write implements [team.Ledger]. One writer at a time has the row of the space, for two round
// trips: BenchmarkTeam shows that each one more costs a third of the claims.
func (l *ledger) Write(ctx context.Context, space, after string, fn func([]string, time.Time) ([]string, bool, error)) (string, error) {
	from, err := parsePosition(after)
	if err != nil {
		return "", err
	}
	conn, err := l.db.pool.Acquire(ctx)
	if err != nil {
		return "", fmt.Errorf("writing tasks and teams: %w", cmp.Or(ctx.Err(), err))
	}
	defer conn.Release() // it closes a connection within a transaction
	end, written, err := l.write(ctx, conn, space, from, fn)
	if !written && conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = conn.Exec(context.WithoutCancel(ctx), `ROLLBACK`)
	}
	if err != nil {
		return "", fmt.Errorf("writing tasks and teams: %w", cmp.Or(ctx.Err(), err))
	}
	return end.String(), nil
}

// write begins a transaction, and commits it if it reports that it has written.
func (l *ledger) write(ctx context.Context, conn *pgxpool.Conn, space string, from position, fn func([]string, time.Time) ([]string, bool, error)) (end position, written bool, err error) {
	lines, end, now, err := lockSpace(ctx, conn, `BEGIN`, space, from)
	if errors.Is(err, pgx.ErrNoRows) {
		// Another program may make it too, or delete it meanwhile: then there is an error.
		if _, err = conn.Exec(ctx, `INSERT INTO openagent.spaces (space) VALUES ($1) ON CONFLICT DO NOTHING`, space); err == nil {
			lines, end, now, err = lockSpace(ctx, conn, `SELECT`, space, from)
		}
	}
	if err != nil {
		return position{}, false, err
	}
	more, replace, err := fn(lines, now)
	if err != nil || len(more) == 0 {
		return end, false, err
	}
	// Once the statement is sent, nobody knows whether it counts. So it is not cut short.
	sending, stop := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer stop()
	// The numbers grow by a random step. A database that has lost its last commits, for example
	// when a replica took over, must not give a number out again that a program still has.
	end.line += rand.Int64N(1 << 20)
	var batch pgx.Batch
	batch.Queue(`
		WITH grown AS (UPDATE openagent.spaces SET last = $2 + cardinality($3::text[]) WHERE n = $1),
		gone AS (DELETE FROM openagent.lines WHERE $4 AND space = $1 AND n <= $2)
		INSERT INTO openagent.lines (space, n, line) SELECT $1, $2 + u.i, u.line FROM unnest($3::text[]) WITH ORDINALITY u (line, i)`,
		end.space, end.line, more, replace)
	batch.Queue(`COMMIT`)
	if err := conn.SendBatch(sending, &batch).Close(); err != nil {
		return position{}, false, err
	}
	end.line += int64(len(more))
	l.db.hub.tell(teamOf + space)
	return end, true, nil
}

// lockSpace waits until nobody else has the row of a space, takes it, and reads the lines. It
// fails with [pgx.ErrNoRows] if there is none.
func lockSpace(ctx context.Context, conn *pgxpool.Conn, first, space string, from position) (lines []string, end position, now time.Time, err error) {
	var batch pgx.Batch
	batch.Queue(first)
	batch.Queue(`SELECT n FROM openagent.spaces WHERE space = $1 FOR UPDATE`, space)
	batch.Queue(linesQuery, space, from.space, from.line) // sees what the last writer has committed
	results := conn.SendBatch(ctx, &batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	if _, err := results.Exec(); err != nil {
		return nil, position{}, time.Time{}, err
	}
	var n int64
	if err := results.QueryRow().Scan(&n); err != nil {
		return nil, position{}, time.Time{}, err
	}
	rows, _ := results.Query() // rows has the error
	return linesOf(rows, from)
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

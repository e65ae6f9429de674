package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/durable"
)

// Engine returns an engine that keeps the sessions with work to do in a table, for workers
// that [Run] works for.
func (d *DB) Engine() durable.Engine { return engine{d} }

type engine struct{ db *DB }

// Wake implements [durable.Engine].
func (e engine) Wake(ctx context.Context, session string) error {
	_, err := e.db.pool.Exec(ctx, `WITH put AS (
			INSERT INTO openagent.wakes AS w (session) VALUES ($1) ON CONFLICT (session) DO UPDATE SET rings = w.rings + 1)
		SELECT pg_notify($2, $3)`, session, channel, wakeUp)
	return err
}

// RunOptions say how [Run] works. The zero value has the defaults.
type RunOptions struct {
	// Max is how many sessions the worker has at a time. 0: 1,000.
	Max int
}

// How often a worker looks.
const (
	sweepEvery  = 30 * time.Second // for commands that nobody was woken for
	takeAtOnce  = 16               // sessions with one statement
	firstRetry  = 100 * time.Millisecond
	longestBeat = 30 * time.Second // pause after failures of a session
)

// Run lets a worker continue the sessions of the engine, until ctx ends. Then it gives them
// back, which takes up to the worker's Grace, and returns nil. The Backend of the worker must
// be d.
//
// A worker that is silent for the Lease of [Options] counts as dead, and others take its
// sessions. While the database cannot be reached, Run tries again. It fails if the role may not write.
func Run(ctx context.Context, d *DB, w *durable.Worker, o RunOptions) error {
	if w.Backend != durable.Backend(d) {
		return errors.New("postgres: the Backend of the worker is another one; set it to the DB that you pass to Run")
	}
	if o.Max < 0 {
		return errors.New("postgres: RunOptions.Max must not be negative")
	}
	if err := (engine{d}).CheckRights(ctx); err != nil {
		return err
	}
	r := &runner{db: d, worker: w, max: cmp.Or(o.Max, 1000), holder: rand.Text(), drain: make(chan struct{}), free: make(chan struct{}, 1), at: map[string]bool{}}
	var background sync.WaitGroup
	stopped := make(chan struct{})
	background.Go(func() { r.beat(stopped) })
	background.Go(func() { r.sweep(ctx) })
	rung, stop := d.hub.listen(wakeUp)
	defer stop()
	ticks := time.NewTicker(max(d.lease/4, 50*time.Millisecond))
	defer ticks.Stop()
	for ctx.Err() == nil {
		taken, err := r.take(ctx)
		if err != nil && ctx.Err() == nil {
			r.log().Warn("looking for work failed; it is tried again", "error", err)
		}
		if taken > 0 {
			continue
		}
		select {
		case <-rung:
		case <-r.free:
		case <-ticks.C:
		case <-ctx.Done():
		}
	}
	close(r.drain)
	r.all.Wait()
	close(stopped)
	background.Wait()
	return nil
}

// A runner is one call of Run.
type runner struct {
	db     *DB
	worker *durable.Worker
	max    int
	holder string        // names the process in the table
	drain  chan struct{} // closed when the worker is to end
	free   chan struct{} // capacity one: a session was left
	all    sync.WaitGroup

	mu sync.Mutex
	at map[string]bool // sessions at work
}

func (r *runner) log() *slog.Logger {
	if r.worker.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.worker.Log
}

// A taken session is given to this worker.
type taken struct {
	Session string
	Rings   int64
	Moved   bool
}

// take takes sessions that are due, and returns how many.
func (r *runner) take(ctx context.Context) (int, error) {
	r.mu.Lock()
	room := min(r.max-len(r.at), takeAtOnce)
	r.mu.Unlock()
	if room <= 0 {
		return 0, nil
	}
	rows, err := r.db.pool.Query(ctx, `
		UPDATE openagent.wakes w SET holder = $1, due = now() + $2::interval, place = NULL, moved = NULL
		FROM (SELECT session, coalesce(moved <= now(), false) AS moved FROM openagent.wakes
			WHERE due <= now() AND (place IS NULL OR place = $4 OR moved <= now()) ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED) due
		WHERE w.session = due.session RETURNING w.session, w.rings, due.moved`, r.holder, r.db.lease, room, r.worker.Place)
	if err != nil {
		return 0, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[taken])
	for _, t := range list {
		r.mu.Lock()
		r.at[t.Session] = true
		r.mu.Unlock()
		r.all.Go(func() { r.work(context.WithoutCancel(ctx), t) })
	}
	return len(list), err
}

// work continues a session, and notes how it was left.
func (r *runner) work(ctx context.Context, t taken) {
	out, err := r.worker.Work(ctx, t.Session, durable.Wake{Drain: r.drain, Moved: t.Moved})
	if err := r.leave(ctx, t, out, err); err != nil {
		r.log().Warn("giving a session back failed; others take it after the lease", "session", t.Session, "error", err)
	}
	r.mu.Lock()
	delete(r.at, t.Session)
	r.mu.Unlock()
	select {
	case r.free <- struct{}{}:
	default:
	}
}

// leave notes how a session was left.
func (r *runner) leave(ctx context.Context, t taken, out durable.Outcome, failed error) error {
	ctx, stop := context.WithTimeout(ctx, closeLimit)
	defer stop()
	pool := r.db.pool
	switch {
	case failed != nil:
		_, err := pool.Exec(ctx, `UPDATE openagent.wakes SET holder = '', failed = failed + 1, due = now() + least(power(2, least(failed, 20)) * $3::interval, $4::interval)
			WHERE session = $1 AND holder = $2`, t.Session, r.holder, firstRetry, longestBeat)
		return err
	case out == durable.Elsewhere:
		_, err := pool.Exec(ctx, `UPDATE openagent.wakes SET holder = '', failed = 0, due = now(), moved = now() + 3 * $3::interval,
			place = (SELECT place FROM openagent.places p WHERE p.session = $1) WHERE session = $1 AND holder = $2`, t.Session, r.holder, r.db.lease)
		if err != nil {
			return err
		}
		return r.db.hub.notify(ctx, wakeUp)
	case out != durable.Yielded:
		tag, err := pool.Exec(ctx, `DELETE FROM openagent.wakes WHERE session = $1 AND holder = $2 AND rings = $3`, t.Session, r.holder, t.Rings)
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
	}
	if _, err := pool.Exec(ctx, `UPDATE openagent.wakes SET holder = '', failed = 0, due = now() WHERE session = $1 AND holder = $2`, t.Session, r.holder); err != nil {
		return err
	}
	return r.db.hub.notify(ctx, wakeUp)
}

// beat says that this process is alive, with one statement for all of its sessions. It names
// the sessions that are at work: what could not be given back must become due.
func (r *runner) beat(stopped <-chan struct{}) {
	ticks := time.NewTicker(r.db.lease / 3)
	defer ticks.Stop()
	for {
		select {
		case <-stopped:
			return
		case <-ticks.C:
		}
		var at []string
		r.mu.Lock()
		for session := range r.at {
			at = append(at, session)
		}
		r.mu.Unlock()
		ctx, stop := context.WithTimeout(context.Background(), r.db.lease)
		if _, err := r.db.pool.Exec(ctx, `UPDATE openagent.wakes SET due = now() + $2::interval WHERE holder = $1 AND session = ANY($3)`, r.holder, r.db.lease, at); err != nil {
			r.log().Warn("a sign of life failed; it is tried again", "error", err)
		}
		stop()
	}
}

// sweep wakes sessions whose commands nobody was woken for.
func (r *runner) sweep(ctx context.Context) {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	client := &durable.Client{Backend: r.db, Engine: r.db.Engine()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if err := client.Sweep(ctx); err != nil && ctx.Err() == nil {
			r.log().Warn("looking for forgotten commands failed; it is tried again", "error", err)
		}
	}
}

// safeText returns a text that the database takes: it has no zero bytes and is UTF-8.
func safeText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

// String names the database for logs, without the password.
func (d *DB) String() string {
	c := d.pool.Config().ConnConfig
	return fmt.Sprintf("postgres://%s:%d/%s", c.Host, c.Port, c.Database)
}

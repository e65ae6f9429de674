package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// A log is a session that is open for writing. The row of the session says in which epoch it
// is: only the log of the last epoch can append.
type log struct {
	store *store
	id    string
	n     int64 // of the row
	epoch int64
	once  sync.Once // calls store.lost
	lent  bool      // others may open it; guarded by DB.mu

	mu      sync.Mutex
	last    int64
	summary session.Summary
	err     error // why nothing more can be appended
	closed  bool
}

// Last implements [session.Log].
func (l *log) Last() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Append implements [session.Log]. It is one statement, and so one round trip.
func (l *log) Append(ctx context.Context, after int64, _ bool, events ...event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return fmt.Errorf("appending to session %s: %w", l.id, fs.ErrClosed)
	case l.err != nil:
		return l.err
	}
	if err := session.CheckAppend(ctx, l.id, l.last, after, events); err != nil {
		return fmt.Errorf("appending to session %s: %w", l.id, err)
	}
	if len(events) == 0 {
		return nil
	}
	b, err := rowsOf(events)
	if err != nil {
		return fmt.Errorf("appending to session %s: %w", l.id, err)
	}
	if err := l.add(ctx, events); err != nil {
		return l.broken(err)
	}
	summary, err := json.Marshal(&l.summary)
	if err != nil {
		return l.broken(err)
	}
	// Once the statement is sent, nobody knows whether it counts. So it is not cut short.
	sending, stop := context.WithTimeout(context.WithoutCancel(ctx), appendLimit)
	defer stop()
	tag, err := l.store.db.pool.Exec(sending, `
		WITH held AS (
			UPDATE openagent.sessions SET last = $3::bigint + cardinality($5::bigint[]), updated = $4, summary = $10, lease = now() + $11
			WHERE n = $1 AND epoch = $2 AND last = $3 RETURNING n)
		INSERT INTO openagent.facts (session, seq, prev, time, type, data)
		SELECT held.n, u.* FROM held, unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[]) u`,
		l.n, l.epoch, after, b.times[len(b.times)-1], b.seqs, b.prevs, b.times, b.types, b.data, summary, l.store.db.lease)
	if err == nil && tag.RowsAffected() == int64(len(events)) {
		l.last += int64(len(events))
		l.store.db.hub.appended(l.store.space + l.id)
		return nil
	}
	if err == nil {
		err = l.refused(sending)
	}
	return l.broken(err)
}

// appendLimit is the time for one append.
const appendLimit = 30 * time.Second

// add adds facts to the summary. After a rewind it is made from all facts.
func (l *log) add(ctx context.Context, events []event.Event) error {
	isRewind := func(e event.Event) bool { _, ok := e.Data.(event.Rewound); return ok }
	if slices.ContainsFunc(events, isRewind) {
		l.summary = session.Summary{Header: l.summary.Header}
		if err := l.store.read(ctx, l.id, 0, func(e event.Event) bool { l.summary.Add(e); return true }); err != nil {
			return err
		}
	}
	for _, e := range events {
		l.summary.Add(e)
	}
	return nil
}

// broken keeps why nothing more can be appended.
func (l *log) broken(err error) error {
	l.err = fmt.Errorf("session %s can no longer be written: %w: %w", l.id, session.ErrBroken, err)
	if errors.Is(err, session.ErrLost) {
		l.tellLost()
	}
	return l.err
}

// tellLost tells who opened the session that another process has it.
func (l *log) tellLost() {
	if l.store.lost != nil {
		l.once.Do(func() { go l.store.lost() })
	}
}

// refused returns why the database took no facts.
func (l *log) refused(ctx context.Context) error {
	var epoch, last int64
	err := l.store.db.pool.QueryRow(ctx, `SELECT epoch, last FROM openagent.sessions WHERE n = $1`, l.n).Scan(&epoch, &last)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return session.ErrLost
	case err != nil:
		return err
	case epoch != l.epoch:
		return fmt.Errorf("%w: another worker has opened it", session.ErrLost)
	}
	return fmt.Errorf("%w: it ends with fact %d, not %d", session.ErrConflict, last, l.last)
}

// Close implements [session.Log].
func (l *log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.store.db.release(l)
	ctx, stop := context.WithTimeout(context.Background(), closeLimit)
	defer stop()
	if _, err := l.store.db.pool.Exec(ctx, `UPDATE openagent.sessions SET lease = NULL, worker = '', opened = NULL WHERE n = $1 AND epoch = $2`, l.n, l.epoch); err != nil {
		return fmt.Errorf("closing session %s: %w", l.id, err)
	}
	return nil
}

// closeLimit is the time for giving a session back. After it, the session is free at the end
// of its lease.
const closeLimit = 5 * time.Second

// rows are facts as columns.
type rows struct {
	seqs, prevs, times []int64
	types, data        []string
}

func rowsOf(events []event.Event) (*rows, error) {
	r := &rows{}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		buf.Reset()
		if err := encoder.Encode(e.Data); err != nil {
			return nil, fmt.Errorf("fact %d: %w", e.Seq, err)
		}
		r.seqs, r.prevs, r.times = append(r.seqs, e.Seq), append(r.prevs, e.Prev), append(r.times, e.Time.UnixNano())
		r.types, r.data = append(r.types, event.Type(e.Data)), append(r.data, trimmed(buf.Bytes()))
	}
	return r, nil
}

// hold renews the lease of a session from now on.
func (d *DB) hold(l *log) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[l] = struct{}{}
	if d.stop == nil {
		var ctx context.Context
		ctx, d.stop = context.WithCancel(context.Background())
		d.renewed = make(chan struct{})
		go d.renew(ctx, d.renewed)
	}
}

// release no longer renews the lease of a session.
func (d *DB) release(l *log) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, l)
	if len(d.held) == 0 && d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// renew renews the leases of all open sessions, with one statement.
func (d *DB) renew(ctx context.Context, done chan struct{}) {
	defer close(done)
	ticks := time.NewTicker(d.lease / 3)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		var numbers, epochs []int64
		var lent []bool
		byNumber := map[int64]*log{}
		d.renewing.Lock()
		d.mu.Lock()
		for l := range d.held {
			numbers, epochs, lent = append(numbers, l.n), append(epochs, l.epoch), append(lent, l.lent)
			byNumber[l.n] = l
		}
		d.mu.Unlock()
		limit, stop := context.WithTimeout(ctx, d.lease)
		mine, err := d.renewAll(limit, numbers, epochs, lent)
		stop()
		d.renewing.Unlock()
		if err != nil {
			continue // it may go well the next time; an append finds out what is lost
		}
		for _, n := range mine {
			delete(byNumber, n)
		}
		for _, l := range byNumber {
			d.mu.Lock()
			_, open := d.held[l]
			d.mu.Unlock()
			if open {
				l.tellLost()
			}
		}
	}
}

// renewAll renews leases, and returns the numbers of the sessions that still belong to this
// process. A session that is lent has no lease.
func (d *DB) renewAll(ctx context.Context, numbers, epochs []int64, lent []bool) ([]int64, error) {
	rows, err := d.pool.Query(ctx, `UPDATE openagent.sessions s SET lease = CASE WHEN u.lent THEN NULL ELSE now() + $4::interval END
		FROM unnest($1::bigint[], $2::bigint[], $3::bool[]) u (n, epoch, lent)
		WHERE s.n = u.n AND s.epoch = u.epoch RETURNING s.n`, numbers, epochs, lent, d.lease)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

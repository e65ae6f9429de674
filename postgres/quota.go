package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/internal/metering"
	"github.com/openagent-go/agent/quota"
)

// Quota returns a store of quotas, for the programs on all machines that use the database:
//
//	db, err := postgres.Open(ctx, url, postgres.Options{})
//	a.Quota = &quota.Account{Store: db.Quota(), Key: "user/ada", Period: quota.Day, USD: 2}
//
// Only the clock of the database says which day it is, and when a reservation expires. The view
// openagent.balances shows what each account has spent and reserved.
func (d *DB) Quota() quota.Store { return &quotas{db: d} }

type quotas struct {
	db *DB

	mu   sync.Mutex
	now  time.Time // of the database
	then time.Time // in this program, at that moment
}

// errBook is the error of a name that the database cannot keep.
var errBook = errors.New("the key of an account and the id of a call must be UTF-8 without zero bytes")

func checkBook(names ...string) error {
	for _, name := range names {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return fmt.Errorf("%q: %w", name, errBook)
		}
	}
	return nil
}

// Reserve implements [quota.Store]. It is one statement.
func (q *quotas) Reserve(ctx context.Context, r quota.Reservation) (b quota.Balance, err error) {
	if err := cmp.Or(checkBook(r.Book, r.ID), metering.CheckReservation(r.Least, r.Most, r.Limit, r.Expected)); err != nil {
		return b, err
	}
	var now time.Time
	err = q.db.pool.QueryRow(ctx, `SELECT spent, reserved, granted, at FROM openagent.reserve($1, $2, $3, $4, $5, $6, $7)`,
		r.Book, r.ID, r.Least, r.Most, r.Limit, time.Until(r.Expires), r.Expected).Scan(&b.Spent, &b.Reserved, &b.Granted, &now)
	if err != nil {
		return quota.Balance{}, cmp.Or(ctx.Err(), err)
	}
	q.set(now)
	return b, nil
}

// Settle implements [quota.Store]. The row of the book comes first, as in reserve: else two of
// them could wait for each other.
func (q *quotas) Settle(ctx context.Context, book, id string, usd float64) error {
	if err := cmp.Or(checkBook(book, id), metering.CheckAmount("usd", usd)); err != nil {
		return err
	}
	_, err := q.db.pool.Exec(ctx, `
		WITH paid AS (
			INSERT INTO openagent.quotas AS q (book, spent) VALUES ($1, $3)
			ON CONFLICT (book) DO UPDATE SET spent = q.spent + $3, changed = now() RETURNING book)
		DELETE FROM openagent.reservations r USING paid WHERE r.book = paid.book AND r.id = $2`, book, id, usd)
	return cmp.Or(ctx.Err(), err)
}

// Balance implements [quota.Store].
func (q *quotas) Balance(ctx context.Context, book string) (b quota.Balance, err error) {
	if err := checkBook(book); err != nil {
		return b, err
	}
	err = q.db.pool.QueryRow(ctx, `SELECT spent, reserved FROM openagent.balances WHERE book = $1`, book).Scan(&b.Spent, &b.Reserved)
	if errors.Is(err, pgx.ErrNoRows) {
		return quota.Balance{}, nil
	}
	return b, cmp.Or(ctx.Err(), err)
}

// askClock is how long this program counts on from an answer of the database's clock.
const askClock = time.Minute

// Now returns the time of the database, which says the period of an account.
func (q *quotas) Now(ctx context.Context) (time.Time, error) {
	q.mu.Lock()
	now, gone := q.now, time.Since(q.then)
	q.mu.Unlock()
	if !now.IsZero() && gone < askClock {
		return now.Add(gone), nil
	}
	if err := q.db.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return time.Time{}, cmp.Or(ctx.Err(), err)
	}
	q.set(now)
	return now, nil
}

func (q *quotas) set(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.now, q.then = now, time.Now()
}

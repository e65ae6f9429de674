package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// locks are the locks that this process holds. Each is a row with a lease, which is renewed
// while the process lives. A lock needs no connection of its own.
type locks struct {
	db *DB

	renewing sync.Mutex // held by a statement that renews, and by one that gives a lock back

	mu      sync.Mutex
	held    map[heldLock]struct{}
	stop    context.CancelFunc // nil: nothing is renewed
	renewed chan struct{}      // closed when renewing has ended
}

// A heldLock is a lock, and who holds it: each call of lock is somebody else.
type heldLock struct{ name, holder string }

func newLocks(d *DB) *locks { return &locks{db: d, held: map[heldLock]struct{}{}} }

// The pauses before the lock of another process is tried again. Nobody is notified of a free
// lock: there is hardly ever somebody who waits for it.
const (
	firstLockPause = 5 * time.Millisecond
	lastLockPause  = 100 * time.Millisecond
)

// lock waits for a lock and takes it.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	mine := heldLock{name, rand.Text()}
	for pause := firstLockPause; ; pause = min(2*pause, lastLockPause) {
		var got bool
		err := l.db.pool.QueryRow(ctx, `
			INSERT INTO openagent.locks AS l (name, holder, until) VALUES ($1, $2, now() + $3::interval)
			ON CONFLICT (name) DO UPDATE SET holder = $2, until = now() + $3::interval WHERE l.until < now() RETURNING true`,
			name, mine.holder, l.db.lease).Scan(&got)
		if err == nil {
			l.hold(mine)
			return sync.OnceFunc(func() { l.unlock(mine) }), nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, fmt.Errorf("locking %s: %w", name, cmp.Or(ctx.Err(), err))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("locking %s: %w", name, ctx.Err())
		}
	}
}

// unlock gives a lock back. If that fails, it is free at the end of its lease.
func (l *locks) unlock(mine heldLock) {
	l.mu.Lock()
	delete(l.held, mine)
	if len(l.held) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.mu.Unlock()
	l.renewing.Lock()
	defer l.renewing.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), closeLimit)
	defer stop()
	_, _ = l.db.pool.Exec(ctx, `DELETE FROM openagent.locks WHERE name = $1 AND holder = $2`, mine.name, mine.holder)
}

// hold renews the lease of a lock from now on.
func (l *locks) hold(mine heldLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[mine] = struct{}{}
	if l.stop == nil {
		var ctx context.Context
		ctx, l.stop = context.WithCancel(context.Background())
		l.renewed = make(chan struct{})
		go l.renew(ctx, l.renewed)
	}
}

// renew renews the leases of all locks. It also renews one whose lease has ended meanwhile, and
// one that a database has lost with its last commits, unless another process has the lock.
func (l *locks) renew(ctx context.Context, done chan struct{}) {
	defer close(done)
	ticks := time.NewTicker(l.db.lease / 3)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		l.renewAll(ctx)
	}
}

// renewAll renews the leases once, with one statement. If it fails, it may go well the next
// time.
func (l *locks) renewAll(ctx context.Context) {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	var names, holders []string
	l.mu.Lock()
	for h := range l.held {
		names, holders = append(names, h.name), append(holders, h.holder)
	}
	l.mu.Unlock()
	limit, stop := context.WithTimeout(ctx, l.db.lease)
	defer stop()
	_, _ = l.db.pool.Exec(limit, `
		INSERT INTO openagent.locks AS l (name, holder, until) SELECT DISTINCT ON (u.name) u.name, u.holder, now() + $3::interval FROM unnest($1::text[], $2::text[]) u (name, holder)
		ON CONFLICT (name) DO UPDATE SET until = excluded.until WHERE l.holder = excluded.holder`, names, holders, l.db.lease)
}

// close ends renewing. Locks that are held are free at the end of their leases.
func (l *locks) close() {
	l.mu.Lock()
	stop, renewed := l.stop, l.renewed
	l.stop = nil
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	if renewed != nil {
		<-renewed
	}
}

package durabletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// A Memory is a database in memory, for tests: processes of one program share it, see
// [Memory.Connect]. Times are those of the program's clock, also in a synctest bubble.
type Memory struct {
	// Lease is how long a session belongs to a worker that has died. 0: 10 s.
	Lease time.Duration

	once  sync.Once
	store session.Store

	mu       sync.Mutex
	held     map[string]*memoryLog // sessions that are open
	inbox    map[string][]mail
	known    map[string]bool // commands that were ever posted
	rejected map[string]string
	kept     map[string]map[string][]byte
	places   map[string]string
	notify   map[string]map[chan struct{}]bool
	signals  map[string]map[chan event.Event]bool
}

type mail struct {
	durable.Mail
	at time.Time
}

// A Connection is how one process reaches a [Memory]. It is a [durable.Backend].
type Connection struct {
	db   *Memory
	dead chan struct{} // closed when the process is dead
	once sync.Once
}

var _ durable.Backend = (*Connection)(nil)

// errDead is the error of a process that was killed.
var errDead = errors.New("durabletest: the process was killed")

// Connect connects a process.
func (m *Memory) Connect() *Connection {
	m.once.Do(func() {
		m.store = session.Memory()
		m.held, m.inbox, m.rejected, m.places = map[string]*memoryLog{}, map[string][]mail{}, map[string]string{}, map[string]string{}
		m.known = map[string]bool{}
		m.kept = map[string]map[string][]byte{}
		m.notify, m.signals = map[string]map[chan struct{}]bool{}, map[string]map[chan event.Event]bool{}
		if m.Lease == 0 {
			m.Lease = 10 * time.Second
		}
	})
	return &Connection{db: m, dead: make(chan struct{})}
}

// Kill lets the process die, as far as others can see: nothing that it does from now on has
// any effect, and the sessions that it has open are free when their leases are over.
func (c *Connection) Kill() {
	c.once.Do(func() {
		c.db.mu.Lock()
		defer c.db.mu.Unlock()
		close(c.dead)
		for _, l := range c.db.held {
			if l.by == c {
				l.until = time.Now().Add(c.db.Lease)
			}
		}
	})
}

// alive returns an error once the process is dead. The caller holds the lock.
func (c *Connection) alive() error {
	select {
	case <-c.dead:
		return errDead
	default:
		return nil
	}
}

// locked calls do with the lock, while the process is alive.
func (c *Connection) locked(ctx context.Context, do func(m *Memory)) error {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	if err := c.alive(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	do(c.db)
	return nil
}

// Post implements [durable.Backend].
func (c *Connection) Post(ctx context.Context, id string, m durable.Mail) error {
	full := false
	err := c.locked(ctx, func(db *Memory) {
		if db.known[id+"\n"+m.ID] {
			return
		}
		bytes := len(m.Body)
		for _, other := range db.inbox[id] {
			bytes += len(other.Body)
		}
		if full = len(db.inbox[id]) >= 1000 || bytes > 64<<20; full {
			return
		}
		db.known[id+"\n"+m.ID] = true
		db.inbox[id] = append(db.inbox[id], mail{m, time.Now()})
		for posted := range db.notify[id] {
			select {
			case posted <- struct{}{}:
			default:
			}
		}
	})
	if err == nil && full {
		return durable.ErrFull
	}
	return err
}

// Inbox implements [durable.Backend].
func (c *Connection) Inbox(ctx context.Context, id string) (out []durable.Mail, err error) {
	err = c.locked(ctx, func(db *Memory) {
		for _, m := range db.inbox[id] {
			out = append(out, m.Mail)
		}
	})
	return out, err
}

// Settle implements [durable.Backend].
func (c *Connection) Settle(ctx context.Context, id string, ids ...string) error {
	return c.locked(ctx, func(db *Memory) {
		for _, settled := range ids {
			db.settle(id, settled)
		}
	})
}

func (m *Memory) settle(session, id string) {
	var left []mail
	for _, other := range m.inbox[session] {
		if other.ID != id {
			left = append(left, other)
		}
	}
	m.inbox[session] = left
}

// Reject implements [durable.Backend].
func (c *Connection) Reject(ctx context.Context, id, command, reason string) error {
	return c.locked(ctx, func(db *Memory) {
		if slices.ContainsFunc(db.inbox[id], func(m mail) bool { return m.ID == command }) {
			db.settle(id, command)
			db.rejected[id+"\n"+command] = reason
		}
	})
}

// Rejected implements [durable.Backend].
func (c *Connection) Rejected(ctx context.Context, id, command string) (reason string, ok bool, err error) {
	err = c.locked(ctx, func(db *Memory) { reason, ok = db.rejected[id+"\n"+command] })
	return reason, ok, err
}

// Keep implements [durable.Backend].
func (c *Connection) Keep(ctx context.Context, id, name string, m durable.Mail) error {
	return c.locked(ctx, func(db *Memory) {
		if m.Body == nil {
			delete(db.kept[id], name)
			return
		}
		if db.kept[id] == nil {
			db.kept[id] = map[string][]byte{}
		}
		db.kept[id][name] = m.Body
		db.settle(id, m.ID)
	})
}

// Kept implements [durable.Backend].
func (c *Connection) Kept(ctx context.Context, id string) (kept map[string][]byte, err error) {
	err = c.locked(ctx, func(db *Memory) { kept = maps.Clone(db.kept[id]) })
	return kept, err
}

// Unattended implements [durable.Backend].
func (c *Connection) Unattended(ctx context.Context, age time.Duration) (out []string, err error) {
	err = c.locked(ctx, func(db *Memory) {
		for id, all := range db.inbox {
			if l := db.held[id]; len(all) > 0 && time.Since(all[0].at) >= age && (l == nil || l.over()) {
				out = append(out, id)
			}
		}
	})
	return out, err
}

// Notify implements [durable.Backend].
func (c *Connection) Notify(id string) (posted <-chan struct{}, stop func()) {
	all, one := c.db.notify, make(chan struct{}, 1)
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	if all[id] == nil {
		all[id] = map[chan struct{}]bool{}
	}
	all[id][one] = true
	return one, func() {
		c.db.mu.Lock()
		defer c.db.mu.Unlock()
		delete(all[id], one)
	}
}

// Place implements [durable.Backend].
func (c *Connection) Place(ctx context.Context, id string) (place string, err error) {
	err = c.locked(ctx, func(db *Memory) { place = db.places[id] })
	return place, err
}

// SetPlace implements [durable.Backend].
func (c *Connection) SetPlace(ctx context.Context, id, place string) error {
	return c.locked(ctx, func(db *Memory) { db.places[id] = place })
}

// Publish implements [durable.Backend].
func (c *Connection) Publish(ctx context.Context, id string, signals []event.Event) error {
	return c.locked(ctx, func(db *Memory) {
		for viewer := range db.signals[id] {
			for _, e := range signals {
				select {
				case viewer <- e:
				default: // signals may be lost
				}
			}
		}
	})
}

// Signals implements [durable.Backend].
func (c *Connection) Signals(ctx context.Context, id string) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		viewer := make(chan event.Event, 1000)
		c.db.mu.Lock()
		if c.db.signals[id] == nil {
			c.db.signals[id] = map[chan event.Event]bool{}
		}
		c.db.signals[id][viewer] = true
		c.db.mu.Unlock()
		defer func() {
			c.db.mu.Lock()
			defer c.db.mu.Unlock()
			delete(c.db.signals[id], viewer)
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-viewer:
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Store implements [durable.Backend].
func (c *Connection) Store(worker string, lost func()) session.Store {
	return &memoryStore{Store: c.db.store, by: c, lost: lost}
}

// A memoryStore is a store with leases.
type memoryStore struct {
	session.Store
	by    *Connection
	lost  func()
	space string // of sub-agents: the ids above, each with a slash
}

// Under implements [session.Nester].
func (s *memoryStore) Under(id string) session.Store {
	return &memoryStore{Store: session.Under(s.Store, id), by: s.by, lost: s.lost, space: s.space + id + "/"}
}

// Wait implements [session.Waiter].
func (s *memoryStore) Wait(ctx context.Context, id string, after int64) error {
	return session.Wait(ctx, s.Store, id, after)
}

// Last implements [session.LastReader].
func (s *memoryStore) Last(ctx context.Context, id string, n int, keep func(string) bool) ([]event.Event, error) {
	if err := s.by.locked(ctx, func(*Memory) {}); err != nil {
		return nil, err
	}
	return session.Last(ctx, s.Store, id, n, keep)
}

// Stat implements [session.Stater].
func (s *memoryStore) Stat(ctx context.Context, id string) (session.Info, error) {
	return session.Stat(ctx, s.Store, id)
}

// Delete implements [session.Deleter].
func (s *memoryStore) Delete(ctx context.Context, id string) (err error) {
	failed := s.by.locked(ctx, func(db *Memory) {
		if before := db.held[s.space+id]; before != nil && (before.over() || before.lent) {
			before.lose()
		}
		err = session.Delete(ctx, s.Store, id)
	})
	return cmp.Or(failed, err)
}

// Lend lets others have a session that is open, as [durable.Backend] says.
func (s *memoryStore) Lend(ctx context.Context, id string) error {
	return s.by.locked(ctx, func(db *Memory) {
		if l := db.held[s.space+id]; l != nil && l.by == s.by {
			l.lent = true
		}
	})
}

// Recall takes a session back.
func (s *memoryStore) Recall(ctx context.Context, id string) (err error) {
	failed := s.by.locked(ctx, func(db *Memory) {
		if l := db.held[s.space+id]; l != nil && l.by == s.by {
			l.lent = false
			return
		}
		err = fmt.Errorf("session %s: %w", id, session.ErrLost)
	})
	return cmp.Or(failed, err)
}

// Read implements [session.Store].
func (s *memoryStore) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if err := s.by.locked(ctx, func(*Memory) {}); err != nil {
			yield(event.Event{}, err)
			return
		}
		s.Store.Read(ctx, id, after)(yield)
	}
}

// Open implements [session.Store].
func (s *memoryStore) Open(ctx context.Context, id string, h session.Header) (log session.Log, err error) {
	failed := s.by.locked(ctx, func(db *Memory) {
		key := s.space + id
		if before := db.held[key]; before != nil {
			if !before.over() && !before.lent {
				err = fmt.Errorf("opening session %s: %w", id, session.ErrBusy)
				return
			}
			before.lose()
		}
		var inner session.Log
		if inner, err = s.Store.Open(ctx, id, h); err == nil {
			l := &memoryLog{Log: inner, by: s.by, key: key, lost: s.lost}
			db.held[key], log = l, l
		}
	})
	if failed != nil {
		return nil, failed
	}
	return log, err
}

// A memoryLog is an open session. The lock of the database guards it.
type memoryLog struct {
	session.Log
	by    *Connection
	key   string
	until time.Time // end of the lease of a process that has died or stopped; zero: it is renewed
	lost  func()    // nil: nobody is told that another process has taken the session
	gone  bool
	lent  bool // another process may take the session
}

func (l *memoryLog) over() bool { return !l.until.IsZero() && !time.Now().Before(l.until) }

// lose takes the session away. The caller holds the lock.
func (l *memoryLog) lose() {
	l.gone = true
	if l.lost != nil {
		go l.lost()
	}
	_ = l.Log.Close()
	delete(l.by.db.held, l.key)
}

// Append implements [session.Log].
func (l *memoryLog) Append(ctx context.Context, after int64, sync bool, events ...event.Event) (err error) {
	failed := l.by.locked(ctx, func(*Memory) {
		if l.gone {
			err = fmt.Errorf("%w: %w: another worker has opened it", session.ErrBroken, session.ErrLost)
			return
		}
		err = l.Log.Append(ctx, after, sync, events...)
	})
	if failed != nil {
		return failed
	}
	return err
}

// Close implements [session.Log].
func (l *memoryLog) Close() (err error) {
	failed := l.by.locked(context.Background(), func(db *Memory) {
		if !l.gone {
			err = l.Log.Close()
			if db.held[l.key] == l {
				delete(db.held, l.key)
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

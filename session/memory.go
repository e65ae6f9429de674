package session

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
)

// Memory returns a store that forgets when the program ends. It keeps the facts
// themselves: they must not be changed later. The store also implements [Stater],
// [LastReader], [Nester], [Deleter] and [Waiter].
func Memory() Store { return new(memoryStore) }

type memoryStore struct {
	mu       sync.Mutex
	sessions map[string]*memory
	under    map[string]*memoryStore  // of the agents of a session
	changed  map[string]chan struct{} // closed when a session changes that someone waits for
}

// memory is one session; the store's mutex guards it.
type memory struct {
	header Header
	facts  chunks
	busy   bool
}

// Open implements [Store].
func (m *memoryStore) Open(ctx context.Context, id string, header Header) (Log, error) {
	if err := cmp.Or(CheckID(id), ctx.Err()); err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		header.Session = id
		header.Created = created(header.Created)
		s = &memory{header: header}
		if m.sessions == nil {
			m.sessions = make(map[string]*memory)
		}
		m.sessions[id] = s
	}
	if s.busy {
		return nil, fmt.Errorf("opening session %s: %w", id, ErrBusy)
	}
	s.busy = true
	return &memoryLog{store: m, session: s}, nil
}

// find returns the session named id. The caller holds the mutex.
func (m *memoryStore) find(id string) (*memory, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	if s := m.sessions[id]; s != nil {
		return s, nil
	}
	return nil, notFound(id)
}

// Read implements [Store].
func (m *memoryStore) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		m.mu.Lock()
		var facts chunks
		s, err := m.find(id)
		if err == nil {
			facts = s.facts
		}
		m.mu.Unlock()
		if err != nil {
			yield(event.Event{}, fmt.Errorf("reading session: %w", err))
			return
		}
		for e := range facts.after(after) {
			if err := ctx.Err(); err != nil {
				yield(event.Event{}, fmt.Errorf("reading session: %w", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// List implements [Store].
func (m *memoryStore) List(ctx context.Context) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Info, 0, len(m.sessions))
	for _, s := range m.sessions {
		list = append(list, m.info(s))
	}
	sortByUpdate(list)
	return list, nil
}

// Stat returns the Info of one session. It fails with [ErrNotFound].
func (m *memoryStore) Stat(ctx context.Context, id string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(id)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return Info{}, err
	}
	return m.info(s), nil
}

// Delete removes a session. It fails with [ErrBusy] while the session is
// open, and with [ErrNotFound].
func (m *memoryStore) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(id)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return fmt.Errorf("deleting session: %w", err)
	}
	if s.busy {
		return fmt.Errorf("deleting session %s: %w", id, ErrBusy)
	}
	delete(m.sessions, id)
	delete(m.under, id)
	m.tell(id)
	return nil
}

// info returns the Info of a session. The caller holds the mutex.
func (m *memoryStore) info(s *memory) Info {
	a := summary{Info: Info{Header: s.header, Updated: s.header.Created}}
	for e := range s.facts.after(0) {
		a.event(e)
	}
	if a.progress.unknown {
		a.progress = s.progress()
	}
	a.State = a.progress.state(func() bool { return s.busy }, func(agent string) bool {
		below := m.under[s.header.Session]
		if below == nil {
			return false
		}
		info, err := below.Stat(context.Background(), agent)
		return err == nil && info.State == StateWaiting
	})
	return a.Info
}

// progress returns the progress of a session that was rewound.
func (s *memory) progress() progress {
	var all []node
	for e := range s.facts.after(0) {
		n := node{prev: e.Prev}
		if step, ok := stepOf(e.Data); ok {
			n.step = &step
		}
		all = append(all, n)
	}
	return progressOn(all)
}

// A memoryLog is a session of a [Memory], opened for writing.
type memoryLog struct {
	store   *memoryStore
	session *memory
	closed  bool // guarded by the store's mutex
}

func (l *memoryLog) Last() int64 {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return l.session.facts.n
}

func (l *memoryLog) Append(ctx context.Context, after int64, _ bool, events ...event.Event) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	s, id := l.session, l.session.header.Session
	if l.closed {
		return fmt.Errorf("appending to session %s: %w", id, fs.ErrClosed)
	}
	if err := CheckAppend(ctx, id, s.facts.n, after, events); err != nil {
		return fmt.Errorf("appending to session %s: %w", id, err)
	}
	for _, e := range events {
		e.Session, e.Time = id, e.Time.UTC().Round(0) // as a file would bring it back
		s.facts.add(e)
	}
	l.store.tell(id)
	return nil
}

func (l *memoryLog) Close() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if !l.closed {
		l.closed, l.session.busy = true, false
	}
	return nil
}

// created returns t in UTC, or the present time if it is zero.
func created(t time.Time) time.Time {
	if t.IsZero() {
		t = time.Now()
	}
	return t.UTC().Round(0)
}

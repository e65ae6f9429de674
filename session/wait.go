package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// A Waiter is a [Store] that can wait for the facts of other writers.
type Waiter interface {
	// Wait returns nil once the session has a fact with a sequence number above after. It
	// takes no lock, and it returns when ctx ends. With after 0 it also waits for a session
	// that does not exist yet. Otherwise it fails with [ErrNotFound] when the session is
	// deleted, or when its facts end before after.
	Wait(ctx context.Context, id string, after int64) error
}

// Wait waits until a session has a fact with a sequence number above after, as a [Waiter]
// does. It reads other stores again and again, with pauses of up to 250 ms.
func Wait(ctx context.Context, s Store, id string, after int64) error {
	if w, ok := s.(Waiter); ok {
		return w.Wait(ctx, id, after)
	}
	return poll(ctx, func() (bool, error) { return readsAfter(ctx, s, id, after) })
}

// readsAfter reports whether a session has facts after the given one, which it reads too.
func readsAfter(ctx context.Context, s Store, id string, after int64) (bool, error) {
	after = max(after, 0)
	lacks := after
	for e, err := range s.Read(ctx, id, max(after-1, 0)) {
		if err != nil {
			return false, ignoreAbsence(err, after)
		}
		if e.Seq > after {
			return true, nil
		}
		lacks = 0 // the fact itself is there
	}
	return false, missing(id, lacks)
}

// missing returns the error that a fact is not there, nil for number 0.
func missing(id string, seq int64) error {
	if seq == 0 {
		return nil
	}
	return fmt.Errorf("fact %d of %s: %w", seq, id, ErrNotFound)
}

// The pauses between two looks at a session: the first one, and the longest.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// poll calls look until it returns true or an error, or until ctx ends.
func poll(ctx context.Context, look func() (bool, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for facts: %w", ctx.Err())
		case <-timer.C:
		}
		if there, err := look(); err != nil {
			return fmt.Errorf("waiting for facts: %w", err)
		} else if there {
			return nil
		}
		timer.Reset(pause)
	}
}

// ignoreAbsence returns nil if err says that there is no such session, and none of its facts
// is known yet.
func ignoreAbsence(err error, after int64) error {
	if after <= 0 && errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Wait implements [Waiter]. It looks at the size of the journal, first after 5 ms, later
// every 250 ms.
func (d folderStore) Wait(ctx context.Context, id string, after int64) error {
	folder, err := d.folder(id)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return fmt.Errorf("waiting for facts: %w", err)
	}
	path, seen := filepath.Join(folder, journalName), int64(-1)
	return poll(ctx, func() (bool, error) {
		info, err := safefile.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, ignoreAbsence(notFound(id), after)
		}
		if err != nil || info.Size() == seen {
			return false, err
		}
		seen = info.Size()
		return d.hasAfter(ctx, path, id, after)
	})
}

// hasAfter reports whether a session has facts after the given one.
func (d folderStore) hasAfter(ctx context.Context, path, id string, after int64) (bool, error) {
	last, err := d.lastSeq(path)
	switch {
	case err != nil: // its end is being written, or damaged: reading it tells
		return readsAfter(ctx, d, id, after)
	case last < after:
		return false, missing(id, after)
	}
	return last > max(after, 0), nil
}

// lastSeq returns the number of the last whole fact of a journal.
func (d folderStore) lastSeq(path string) (int64, error) {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	r, err := lastRecord(f, info.Size())
	return r.Seq, err
}

// Wait implements [Waiter].
func (m *memoryStore) Wait(ctx context.Context, id string, after int64) error {
	for {
		changed, there, err := m.look(id, after)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return fmt.Errorf("waiting for facts: %w", err)
		}
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// look reports whether a session has facts after the given one. If not, changed is closed
// when that may have changed.
func (m *memoryStore) look(id string, after int64) (changed <-chan struct{}, there bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(id)
	if err != nil {
		err = ignoreAbsence(err, after)
	} else if s.facts.n < after {
		err = missing(id, after)
	} else if s.facts.n > max(after, 0) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	if m.changed == nil {
		m.changed = map[string]chan struct{}{}
	}
	if m.changed[id] == nil {
		m.changed[id] = make(chan struct{})
	}
	return m.changed[id], false, nil
}

// tell wakes those who wait for a session. The caller holds the mutex.
func (m *memoryStore) tell(id string) {
	if c := m.changed[id]; c != nil {
		close(c)
		delete(m.changed, id)
	}
}

// Wait implements [Waiter].
func (s *shared) Wait(ctx context.Context, id string, after int64) error {
	at, err := s.at(ctx, id)
	if err != nil {
		return fmt.Errorf("waiting for facts: %w", err)
	}
	return Wait(ctx, s.Store, at, after)
}

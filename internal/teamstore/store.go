package teamstore

import (
	"context"
	"errors"
	"log/slog"
)

// Shared is everything that agents share.
type Shared interface {
	Tasks
	Teams
	Mail
	Agents
	Watcher
	EndSession(session string) error
}

// A Store is a [Shared] and what closes it. The type of package team that programs pass around
// is made of it, so each converts into the other.
type Store struct {
	shared Shared
	close  []func() error
}

// NewStore returns a Store of what is shared.
func NewStore(shared Shared, closers ...func() error) *Store { return &Store{shared, closers} }

// Shared returns what is shared. It is nil for a nil Store.
func (s *Store) Shared() Shared {
	if s == nil {
		return nil
	}
	return s.shared
}

// Close closes the store.
func (s *Store) Close() error {
	var errs []error
	for _, end := range s.close {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// A leased is what is shared, with tasks that are [Leases].
type leased struct {
	Shared
	leases *Leases
}

func (l leased) AddTask(ctx context.Context, space string, t Task) (Task, error) {
	return l.leases.AddTask(ctx, space, t)
}

func (l leased) UpdateTask(ctx context.Context, space, id string, c Change) (Task, error) {
	return l.leases.UpdateTask(ctx, space, id, c)
}

func (l leased) EndSession(session string) error { return l.leases.EndSession(session) }

// Open returns the Store of a [Dir] with [Leases]. in is [Dir.In]. log may be nil.
func Open(path, in string, log *slog.Logger) *Store {
	d := &Dir{Path: path, In: in, Log: log}
	l := &Leases{List: d}
	return NewStore(leased{d, l}, l.Close, d.Close)
}

// OpenLedger returns the Store of a [LedgerStore] with [Leases].
func OpenLedger(ledger Ledger) *Store {
	s := &LedgerStore{Ledger: ledger}
	l := &Leases{List: s, Now: s.now}
	return NewStore(leased{s, l}, l.Close, s.Close)
}

package quota

import (
	"context"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/metering"
)

// Memory returns an empty [Store] for one process.
func Memory() Store { return new(memory) }

type memory struct {
	mu    sync.Mutex
	books map[string]*ledger
	waits map[string]chan struct{} // by book; closed when a call is settled
}

// settled implements [notifier].
func (m *memory) settled(book string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.waits[book]
	if c == nil {
		c = make(chan struct{})
		if m.waits == nil {
			m.waits = map[string]chan struct{}{}
		}
		m.waits[book] = c
	}
	return c
}

// wake tells all who wait for the book. The caller holds mu.
func (m *memory) wake(book string) {
	if c := m.waits[book]; c != nil {
		close(c)
		delete(m.waits, book)
	}
}

func (m *memory) with(book string, do func(*ledger)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.books[book]
	if l == nil {
		l = new(ledger)
		if m.books == nil {
			m.books = map[string]*ledger{}
		}
		m.books[book] = l
	}
	do(l)
}

// Reserve implements [Store].
func (m *memory) Reserve(_ context.Context, r Reservation) (b Balance, err error) {
	if err := r.check(); err != nil {
		return b, err
	}
	m.with(r.Book, func(l *ledger) { b = l.reserve(r, time.Now()) })
	return b, nil
}

// Settle implements [Store].
func (m *memory) Settle(_ context.Context, book, id string, usd float64) error {
	if err := metering.CheckAmount("usd", usd); err != nil {
		return err
	}
	m.with(book, func(l *ledger) { l.settle(id, usd); m.wake(book) })
	return nil
}

// Balance implements [Store].
func (m *memory) Balance(_ context.Context, book string) (b Balance, err error) {
	m.with(book, func(l *ledger) { l.expire(time.Now()); b = l.balance() })
	return b, nil
}

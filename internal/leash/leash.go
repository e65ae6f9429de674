// Package leash has contexts that cost nothing until somebody waits for their
// end: no timer, no goroutine, no entry in a parent. A run makes two for each
// turn, and most of what runs under them never looks.
package leash

import (
	"context"
	"sync"
	"time"
)

// A Leash is a context that ends with its parent, at a deadline, or when it is
// cut. Once somebody waits for its end it is one of the context package's own. Its
// fields are set before the first use; only Extend changes one later. It must not be copied.
type Leash struct {
	Parent context.Context // its values; its end too, unless Loose
	Loose  bool            // the parent's end is none of this one's
	own    bool            // err was not the parent's; with mu
	Limit  time.Time       // the deadline; zero for none

	mu     sync.Mutex
	err    error           // of the end that was found out without real
	real   context.Context // nil until somebody waits
	cancel context.CancelFunc
}

// Deadline returns the nearer of the limit and the parent's deadline.
func (l *Leash) Deadline() (time.Time, bool) {
	limit := l.limit()
	if !l.Loose {
		if d, ok := l.Parent.Deadline(); ok && (limit.IsZero() || d.Before(limit)) {
			return d, true
		}
	}
	return limit, !limit.IsZero()
}

func (l *Leash) limit() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Limit
}

// Extend sets another limit, if l has not ended and nobody waits for its end. It
// reports whether it did.
func (l *Leash) Extend(limit time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real != nil || l.err != nil {
		return false
	}
	l.Limit = limit
	return true
}

// Value returns the parent's value.
func (l *Leash) Value(key any) any {
	l.mu.Lock()
	if l.real == nil && l.err != nil { // what is asked for may be the cause
		l.follow()
	}
	real := l.real
	l.mu.Unlock()
	if real != nil {
		return real.Value(key)
	}
	return l.Parent.Value(key)
}

// Err returns nil until the end.
func (l *Leash) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.real != nil:
		return l.real.Err()
	case l.err != nil:
	case !l.Loose && l.Parent.Err() != nil:
		l.err = l.Parent.Err()
	case !l.Limit.IsZero() && !time.Now().Before(l.Limit):
		l.err, l.own = context.DeadlineExceeded, true
	}
	return l.err
}

// Expired reports whether the limit was the end.
func (l *Leash) Expired() bool {
	limit := l.limit()
	if limit.IsZero() || l.Err() != context.DeadlineExceeded {
		return false
	}
	d, _ := l.Deadline()
	return d.Equal(limit)
}

// Done returns a channel that is closed at the end.
func (l *Leash) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real == nil {
		l.follow()
	}
	return l.real.Done()
}

// follow makes l a context of the context package. It is called with the lock.
func (l *Leash) follow() {
	parent := l.Parent
	if l.Loose || l.own { // what the parent comes to later does not count
		parent = context.WithoutCancel(parent)
	}
	if l.Limit.IsZero() || l.err == context.Canceled {
		l.real, l.cancel = context.WithCancel(parent)
	} else {
		l.real, l.cancel = context.WithDeadline(parent, l.Limit)
	}
	if l.err != nil {
		l.cancel()
	}
}

// Cut ends l. It has to be cut when it is not needed any more; cutting twice is
// harmless.
func (l *Leash) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real != nil {
		l.cancel()
	} else if l.err == nil {
		l.err, l.own = context.Canceled, true
	}
}

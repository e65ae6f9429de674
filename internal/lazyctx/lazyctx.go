// Package lazyctx has contexts that cost nothing until somebody waits for their
// end: no timer, no goroutine, no entry in a parent. A run makes two for each
// turn, and most code that runs with them never waits.
package lazyctx

import (
	"context"
	"sync"
	"time"
)

// A Context ends with its parent, at its deadline, or when it is cancelled. Once
// somebody waits for its end it is one of the context package's own. Its
// fields are set before the first use; only Extend changes one later. It must not be copied.
type Context struct {
	Parent   context.Context // its values; its end too, unless Detached
	Detached bool            // it does not end with the parent
	own      bool            // err was not the parent's; guarded by mu
	Until    time.Time       // the deadline; zero for none

	mu     sync.Mutex
	err    error           // of the end that was found out without real
	real   context.Context // nil until somebody waits
	cancel context.CancelFunc
}

// Deadline returns the earlier of Until and the parent's deadline.
func (l *Context) Deadline() (time.Time, bool) {
	limit := l.until()
	if !l.Detached {
		if d, ok := l.Parent.Deadline(); ok && (limit.IsZero() || d.Before(limit)) {
			return d, true
		}
	}
	return limit, !limit.IsZero()
}

func (l *Context) until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Until
}

// Extend sets another deadline, if l has not ended and nobody waits for its end. It
// reports whether it did.
func (l *Context) Extend(limit time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real != nil || l.err != nil {
		return false
	}
	l.Until = limit
	return true
}

// Value returns the parent's value.
func (l *Context) Value(key any) any {
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
func (l *Context) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.real != nil:
		return l.real.Err()
	case l.err != nil:
	case !l.Detached && l.Parent.Err() != nil:
		l.err = l.Parent.Err()
	case !l.Until.IsZero() && !time.Now().Before(l.Until):
		l.err, l.own = context.DeadlineExceeded, true
	}
	return l.err
}

// Expired reports whether l ended at Until.
func (l *Context) Expired() bool {
	limit := l.until()
	if limit.IsZero() || l.Err() != context.DeadlineExceeded {
		return false
	}
	d, _ := l.Deadline()
	return d.Equal(limit)
}

// Done returns a channel that is closed at the end.
func (l *Context) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real == nil {
		l.follow()
	}
	return l.real.Done()
}

// follow makes l a context of the context package. It is called with the lock.
func (l *Context) follow() {
	parent := l.Parent
	if l.Detached || l.own { // what the parent comes to later does not count
		parent = context.WithoutCancel(parent)
	}
	if l.Until.IsZero() || l.err == context.Canceled {
		l.real, l.cancel = context.WithCancel(parent)
	} else {
		l.real, l.cancel = context.WithDeadline(parent, l.Until)
	}
	if l.err != nil {
		l.cancel()
	}
}

// Cancel ends l. Call it when l is not needed any more. You may call it twice.
func (l *Context) Cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real != nil {
		l.cancel()
	} else if l.err == nil {
		l.err, l.own = context.Canceled, true
	}
}

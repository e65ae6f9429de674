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
// cut. Its fields are set before the first use. It must not be copied.
type Leash struct {
	Parent   context.Context // its values; its end too, unless Loose
	Loose    bool            // the parent's end is none of this one's
	Limit    time.Time       // the deadline; zero for none
	mu       sync.Mutex
	done     chan struct{}
	err      error // once it has ended
	timer    *time.Timer
	unfollow func() bool // stops following the parent
	after    map[*func()]struct{}
}

// Deadline returns the nearer of the limit and the parent's deadline.
func (l *Leash) Deadline() (time.Time, bool) {
	if !l.Loose {
		if d, ok := l.Parent.Deadline(); ok && (l.Limit.IsZero() || d.Before(l.Limit)) {
			return d, true
		}
	}
	return l.Limit, !l.Limit.IsZero()
}

// Value returns the parent's value.
func (l *Leash) Value(key any) any { return l.Parent.Value(key) }

// Err returns nil until the end.
func (l *Leash) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.look()
}

// Reset gives l a new limit, as if it were new. It reports false, and does
// nothing, if somebody may be waiting for the end of the old one.
func (l *Leash) Reset(limit time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done != nil {
		return false
	}
	l.Limit, l.err = limit, nil
	return true
}

// look finds out whether the end has come.
func (l *Leash) look() error {
	switch {
	case l.err != nil:
	case !l.Loose && l.Parent.Err() != nil:
		l.end(l.Parent.Err())
	case !l.Limit.IsZero() && !time.Now().Before(l.Limit):
		l.end(context.DeadlineExceeded)
	}
	return l.err
}

// Expired reports whether the limit was the end.
func (l *Leash) Expired() bool {
	return l.Err() == context.DeadlineExceeded && (l.Loose || l.Parent.Err() == nil)
}

// Done returns a channel that is closed at the end. From here on the parent and
// the limit are followed.
func (l *Leash) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done != nil {
		return l.done
	}
	l.done = make(chan struct{})
	if l.err != nil {
		close(l.done)
		return l.done
	}
	if l.look() != nil { // which has closed it
		return l.done
	}
	if !l.Limit.IsZero() {
		l.timer = time.AfterFunc(time.Until(l.Limit), func() { l.cut(context.DeadlineExceeded) })
	}
	if !l.Loose && l.Parent.Done() != nil {
		l.unfollow = context.AfterFunc(l.Parent, func() { l.cut(l.Parent.Err()) })
	}
	return l.done
}

// AfterFunc calls f in a goroutine of its own once l has ended. The context
// package uses it for the contexts made from this one.
func (l *Leash) AfterFunc(f func()) (stop func() bool) {
	l.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		go f()
		return func() bool { return false }
	}
	if l.after == nil {
		l.after = map[*func()]struct{}{}
	}
	key := &f
	l.after[key] = struct{}{}
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, waits := l.after[key]
		delete(l.after, key)
		return waits
	}
}

// Cut ends l. It has to be cut when it is not needed any more; cutting twice is
// harmless.
func (l *Leash) Cut() { l.cut(context.Canceled) }

func (l *Leash) cut(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.end(err)
	}
}

// end is called once, with the lock.
func (l *Leash) end(err error) {
	l.err = err
	if l.done != nil {
		close(l.done)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.unfollow != nil {
		l.unfollow()
	}
	for f := range l.after {
		go (*f)()
	}
	l.after = nil
}

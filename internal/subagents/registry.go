// Package subagents holds the parts of sub-agents that need no session: which of them are at
// work, what they may do and use, and what becomes of those that a crash left at work.
package subagents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrHalted is the cause of the end of agents whose session was interrupted.
var ErrHalted = errors.New("the session that it works for was interrupted")

// A Registry has the agents that a session has put to work in this program, each as an S.
// Goroutines may share it.
type Registry[S any] struct {
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	turn   chan struct{} // has room for one: for who asks a person, at the root of a tree

	mu      sync.Mutex
	closed  error              // why; nil: it is not
	blocked chan struct{}      // not nil after an interrupt, until the next run
	works   map[string]work[S] // pieces of work that go on, by key
	all     sync.WaitGroup
}

// work is a piece of work that goes on.
type work[S any] struct {
	Work
	child  S // its zero value until it is attached
	cancel context.CancelCauseFunc
}

// A Work describes a piece of work.
type Work struct {
	Key        string // names it
	Name       string // of the agent
	Session    string // the agent's
	Background bool   // it goes on when the call that starts it has returned
}

// New returns a registry without agents.
func New[S any]() *Registry[S] {
	r := &Registry[S]{works: map[string]work[S]{}, turn: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// Context returns a context that ends when the registry is closed.
func (r *Registry[S]) Context() context.Context { return r.ctx }

// enter reserves the place of one more.
func (r *Registry[S]) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed == nil {
		r.all.Add(1)
	}
	return r.closed
}

// Go calls fn in a goroutine that Close waits for. It reports false once the registry is
// closed.
func (r *Registry[S]) Go(fn func(ctx context.Context)) bool {
	if r.enter() != nil {
		return false
	}
	go func() {
		defer r.all.Done()
		fn(r.ctx)
	}()
	return true
}

// Begin notes that a piece of work goes on, in ctx or, in the background, until the registry
// is closed, and returns the context for it. Call leave when it has ended.
func (r *Registry[S]) Begin(ctx context.Context, w Work) (inner context.Context, leave func(), err error) {
	if err := r.enter(); err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.works[w.Key]; known {
		defer r.all.Done()
		return nil, nil, fmt.Errorf("agent: starting %s: this piece of work, %s, goes on", w.Name, w.Key)
	}
	if w.Background {
		if r.blocked != nil {
			defer r.all.Done()
			return nil, nil, fmt.Errorf("agent: starting %s: %w", w.Name, ErrHalted)
		}
		ctx = r.ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r.works[w.Key] = work[S]{Work: w, cancel: cancel}
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		delete(r.works, w.Key)
		r.mu.Unlock()
		r.all.Done()
	}, nil
}

// Attach notes the session of a piece of work that goes on.
func (r *Registry[S]) Attach(key string, child S) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.works[key]; ok {
		w.child = child
		r.works[key] = w
	}
}

// Child returns the session of a piece of work that goes on, the zero S before it is attached.
func (r *Registry[S]) Child(key string) (child S, works bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.works[key]
	return w.child, ok
}

// Has reports whether a piece of work goes on in this program.
func (r *Registry[S]) Has(key string) bool {
	_, ok := r.Child(key)
	return ok
}

// Stop ends a piece of work and reports whether it went on.
func (r *Registry[S]) Stop(key string, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.works[key]
	if ok {
		w.cancel(cause)
	}
	return ok
}

// StopBackground ends the work of a session in the background, and reports whether there is any.
func (r *Registry[S]) StopBackground(session string, cause error) (found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.works {
		if w.Session == session && w.Background {
			w.cancel(cause)
			found = true
		}
	}
	return found
}

// Halt ends the work in the background, and lets none begin before Allow. It returns the ids
// of the agents' sessions, sorted.
func (r *Registry[S]) Halt() (stopped []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocked == nil {
		r.blocked = make(chan struct{})
	}
	for _, w := range r.works {
		if w.Background {
			w.cancel(ErrHalted)
			stopped = append(stopped, w.Session)
		}
	}
	slices.Sort(stopped)
	return stopped
}

// Allow lets agents begin again.
func (r *Registry[S]) Allow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocked != nil {
		close(r.blocked)
		r.blocked = nil
	}
}

// Ready waits until agents may begin.
func (r *Registry[S]) Ready(ctx context.Context) error {
	for {
		r.mu.Lock()
		blocked := r.blocked
		r.mu.Unlock()
		if blocked == nil {
			return ctx.Err()
		}
		select {
		case <-blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// AskTurn waits for the turn to ask a person. done gives it back.
func (r *Registry[S]) AskTurn(ctx context.Context) (done func(), err error) {
	select {
	case r.turn <- struct{}{}:
		return func() { <-r.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends all work, lets none begin any more, and waits for the end of all.
func (r *Registry[S]) Close(cause error) {
	r.mu.Lock()
	r.closed = cause
	r.mu.Unlock()
	r.cancel(cause)
	r.all.Wait()
}

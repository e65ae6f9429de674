// Package subagents holds the parts of sub-agents that need no session: the registry of
// running tasks, permissions, shares of budgets, and recovery after a crash.
package subagents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrHalted is the reason for stopping agents whose session was interrupted.
var ErrHalted = errors.New("the parent session was interrupted")

// ErrStopped is matched by the end of an agent that the tool TaskStop or Session.StopAgent
// stopped.
var ErrStopped = errors.New("it was stopped")

// A Registry holds the tasks that a session's sub-agents run in this program. S is the type
// of a sub-agent's session. A Registry is safe for concurrent use.
type Registry[S any] struct {
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	turn   chan struct{} // capacity one: the turn to ask a person, used at the root of a tree

	mu      sync.Mutex
	closed  error              // the reason; nil: open
	blocked chan struct{}      // set by an interrupt, until the next run
	works   map[string]work[S] // running tasks, by key
	all     sync.WaitGroup
}

// work is a running task.
type work[S any] struct {
	Work
	child    S // zero until Attach
	attached bool
	cancel   context.CancelCauseFunc
	left     chan struct{} // closed when the task has ended
}

// A Work describes a task.
type Work struct {
	Key        string // identifies the task
	Name       string // name of the agent
	Session    string // id of the agent's session
	Background bool   // it continues after the call that started it has returned
}

// New returns a registry without agents.
func New[S any]() *Registry[S] {
	r := &Registry[S]{works: map[string]work[S]{}, turn: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// Context returns a context that ends when the registry is closed.
func (r *Registry[S]) Context() context.Context { return r.ctx }

// enter counts one more goroutine or task for Close to wait for. It fails if the registry
// is closed.
func (r *Registry[S]) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed == nil {
		r.all.Add(1)
	}
	return r.closed
}

// Go calls fn in a goroutine that Close waits for. It reports false if the registry is
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

// Begin registers a running task and returns its context. The context ends with ctx, or,
// for a background task, with the registry. Call leave when the task has ended. Begin fails
// if the task is already running, if the registry is closed, and with [ErrHalted].
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
	left := make(chan struct{})
	r.works[w.Key] = work[S]{Work: w, cancel: cancel, left: left}
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		delete(r.works, w.Key)
		r.mu.Unlock()
		close(left)
		r.all.Done()
	}, nil
}

// Attach sets the session of a running task.
func (r *Registry[S]) Attach(key string, child S) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.works[key]; ok {
		w.child, w.attached = child, true
		r.works[key] = w
	}
}

// Child returns the session of a running task, the zero S before Attach, and a channel that
// is closed when the task has ended. The channel is nil if the task is not running.
func (r *Registry[S]) Child(key string) (child S, left <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.works[key]
	return w.child, w.left
}

// Children returns the sessions of the running tasks.
func (r *Registry[S]) Children() (list []S) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.works {
		if w.attached {
			list = append(list, w.child)
		}
	}
	return list
}

// Has reports whether a task is running in this program.
func (r *Registry[S]) Has(key string) bool {
	_, left := r.Child(key)
	return left != nil
}

// Stop stops a task and reports whether it was running.
func (r *Registry[S]) Stop(key string, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.works[key]
	if ok {
		w.cancel(cause)
	}
	return ok
}

// StopBackground stops the background tasks of a session, and reports whether there were
// any.
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

// Halt stops the background tasks, and lets none begin before Allow. It returns the ids of
// the agents' sessions, sorted.
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

// Allow lets background tasks begin again after Halt.
func (r *Registry[S]) Allow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocked != nil {
		close(r.blocked)
		r.blocked = nil
	}
}

// Ready waits until background tasks may begin, or ctx ends.
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

// AskTurn waits for the turn to ask a person. done gives the turn back.
func (r *Registry[S]) AskTurn(ctx context.Context) (done func(), err error) {
	select {
	case r.turn <- struct{}{}:
		return func() { <-r.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close stops all tasks, lets none begin, and waits for their ends. cause is the reason
// that the tasks see.
func (r *Registry[S]) Close(cause error) {
	r.mu.Lock()
	r.closed = cause
	r.mu.Unlock()
	r.cancel(cause)
	r.all.Wait()
}

package teamstore

import (
	"context"
	"sync"
)

// A Watcher reports new mail. Stores whose [Mail] is shared by several programs also report
// mail of other programs.
type Watcher interface {
	// Watch returns a channel that gets a value when mail has come for an agent, and at
	// once if some waits already. A value stands for any number of messages, and sometimes
	// for none: call [Mail.Take]. The channel is closed when ctx ends.
	Watch(ctx context.Context, space, agent string) (<-chan struct{}, error)
}

// An address is where mail goes.
type address struct{ space, agent string }

// watchers are who waits for mail in this program.
type watchers struct {
	mu  sync.Mutex
	all map[address]map[chan struct{}]struct{}
}

// add makes a channel for the mail of an address; it is closed when ctx ends.
func (w *watchers) add(ctx context.Context, at address) chan struct{} {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	if w.all == nil {
		w.all = map[address]map[chan struct{}]struct{}{}
	}
	if w.all[at] == nil {
		w.all[at] = map[chan struct{}]struct{}{}
	}
	w.all[at][c] = struct{}{}
	w.mu.Unlock()
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.all[at], c); len(w.all[at]) == 0 {
			delete(w.all, at)
		}
		close(c)
	})
	return c
}

// tell wakes who waits for the mail of an address.
func (w *watchers) tell(at address) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all[at] {
		select {
		case c <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

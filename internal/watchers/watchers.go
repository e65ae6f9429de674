// Package watchers passes the events of runs in this process to those who watch a session or
// an agent. A run finds its watchers by a key, because they may have other values of the
// session and the agent. A run that nobody watches pays for one atomic load an event.
package watchers

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventqueue"
)

// A Watcher watches a key. [Join] makes one.
type Watcher struct {
	*eventqueue.Window
	key  any
	want func(e event.Event) bool // nil: all
}

var (
	count atomic.Int64 // of watchers
	mu    sync.RWMutex
	byKey = map[any][]*Watcher{}
)

// size is how many events wait for a watcher at most.
const size = 1024

// Join returns a new watcher of a key, which gets the events that want takes. The key must
// be comparable. nil stands for all keys that nobody watches: the watcher gets nothing.
func Join(key any, want func(e event.Event) bool) *Watcher {
	w := &Watcher{Window: eventqueue.NewWindow(size), key: key, want: want}
	if key == nil {
		return w
	}
	mu.Lock()
	defer mu.Unlock()
	byKey[key] = append(byKey[key], w)
	count.Add(1)
	return w
}

type joinedKey struct{}

// WithJoined returns a context whose watcher calls joined as soon as it gets events: a run
// that begins after that call is seen whole.
func WithJoined(ctx context.Context, joined func()) context.Context {
	return context.WithValue(ctx, joinedKey{}, joined)
}

// Joined calls the function of [WithJoined], if there is one.
func Joined(ctx context.Context) {
	if joined, ok := ctx.Value(joinedKey{}).(func()); ok {
		joined()
	}
}

// Leave ends the watcher.
func (w *Watcher) Leave() {
	mu.Lock()
	defer mu.Unlock()
	all := byKey[w.key]
	i := slices.Index(all, w)
	if i < 0 {
		return
	}
	count.Add(-1)
	if len(all) == 1 {
		delete(byKey, w.key)
		return
	}
	byKey[w.key] = slices.Delete(slices.Clone(all), i, i+1) // a Put may be going through the old list
}

// Any reports whether anyone in this process watches.
func Any() bool { return count.Load() > 0 }

// Of returns the watchers of a key. Do not change the list.
func Of(key any) []*Watcher {
	if key == nil {
		return nil
	}
	mu.RLock()
	defer mu.RUnlock()
	return byKey[key]
}

// Put passes an event to the watchers of a key. soFar is as in [eventqueue.Window.Put].
func Put(key any, e event.Event, soFar string) {
	for _, w := range Of(key) {
		if w.want == nil || w.want(e) {
			w.Window.Put(e, soFar)
		}
	}
}

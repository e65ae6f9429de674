package agent

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/session"
)

// A Feed selects events for [Agent.Watch]. The zero Feed selects all.
type Feed struct {
	// Sessions are the ids of the sessions to watch. Empty: all, those of sub-agents too.
	Sessions []string
	// Types are names of events as in JSON, such as run_end. Empty: all.
	Types []string
}

// Watch yields the events of all sessions of the agent that run in this process, from the
// call of Watch on, and those of their sub-agents. [event.Event].Session tells them apart.
// These are the sessions of every Agent with the same session store: the same value of it,
// not another value for the same folder. To follow sessions of other processes or of another
// store value, use [Session.Watch], which reads the store. To find them, list the store.
//
// Call Watch before you prompt. You may range over its events later, in another goroutine.
//
// An [event.SessionBegan] comes before the first event of a session that begins, and an
// [event.SessionEnded] when a session is closed. Events of one session come in their order. Text
// deltas are as in [Session.Watch].
//
// Leaving the loop stops no run, and a slow reader slows none. It loses events instead: an
// [event.Missed] says how many facts and signals. The store has the facts.
//
// Watch ends with the error of ctx when ctx ends. It fails with [ErrConfig] if the Agent has
// no session store, or if the Feed names an unknown type.
func (a *Agent) Watch(ctx context.Context, f Feed) iter.Seq2[event.Event, error] {
	key, err := f.key(a.Sessions)
	if err != nil {
		return func(yield func(event.Event, error) bool) { yield(event.Event{}, err) }
	}
	early := &subscription{}
	w := watchers.Join(key, f.wants)
	early.watcher.Store(w)
	runtime.AddCleanup(early, (*watchers.Watcher).Leave, w) // nobody ranges over the events
	return func(yield func(event.Event, error) bool) {
		defer runtime.KeepAlive(early) // its cleanup would end the watcher
		w := early.watcher.Swap(nil)
		if w == nil { // the second range begins now
			w = watchers.Join(key, f.wants)
		}
		defer w.Leave()
		for {
			events, missed := w.Take()
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if missed != (event.Missed{}) && !yield(event.Event{Time: now(), Data: missed}, nil) {
				return
			}
			if len(events) > 0 && ctx.Err() == nil {
				continue
			}
			select {
			case <-w.Wake():
			case <-ctx.Done():
				yield(event.Event{}, fmt.Errorf("agent: watching the agent: %w", ctx.Err()))
				return
			}
		}
	}
}

// A subscription holds the watcher of [Agent.Watch] until someone ranges over the events.
type subscription struct {
	watcher atomic.Pointer[watchers.Watcher]
}

// key returns the key of those who watch an agent with the given store.
func (f Feed) key(store session.Store) (any, error) {
	for _, name := range f.Types {
		if !slices.Contains(event.Types(), name) {
			return nil, fmt.Errorf("agent: %w: a Feed names the event type %q, which does not exist", ErrConfig, name)
		}
	}
	if store == nil {
		return nil, fmt.Errorf("agent: %w: only an Agent with a session store can be watched; set Sessions, for example to session.Memory()", ErrConfig)
	}
	key := agentKey(store)
	if key == nil {
		return nil, fmt.Errorf("agent: %w: Go cannot compare two values of the session store %T; use a pointer to one", ErrConfig, store)
	}
	return key, nil
}

// wants reports whether the feed selects an event.
func (f Feed) wants(e event.Event) bool {
	return (len(f.Sessions) == 0 || slices.Contains(f.Sessions, e.Session)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, event.Type(e.Data)))
}

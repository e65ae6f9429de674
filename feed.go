package agent

import (
	"sync"

	"github.com/openagent-go/agent/event"
)

// A feed carries events from the loop to the consumer of a stream. Putting
// never blocks. Facts wait in order; signals that the consumer is too slow for
// are merged, and beyond maxSignals the oldest are lost.
type feed struct {
	mu      sync.Mutex
	events  []event.Event
	signals int // among events
	closed  bool
	wake    chan struct{} // has room for one
}

const maxSignals = 256

func newFeed() *feed { return &feed{wake: make(chan struct{}, 1)} }

func (f *feed) put(e event.Event) {
	f.mu.Lock()
	_, isSignal := e.Data.(event.Signal)
	switch {
	case f.closed:
	case isSignal && f.merge(e):
	default:
		if isSignal {
			f.makeRoom()
			f.signals++
		}
		f.events = append(f.events, e)
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// merge joins a signal with the last one that waits, if they are alike.
func (f *feed) merge(e event.Event) bool {
	if len(f.events) == 0 {
		return false
	}
	last := &f.events[len(f.events)-1]
	switch d := e.Data.(type) {
	case event.TextDelta:
		if p, ok := last.Data.(event.TextDelta); ok && p.Key == d.Key {
			p.Text += d.Text
			last.Data = p
			return true
		}
	case event.ThinkingDelta:
		if p, ok := last.Data.(event.ThinkingDelta); ok && p.Key == d.Key {
			p.Text += d.Text
			last.Data = p
			return true
		}
	case event.ToolInputDelta:
		if p, ok := last.Data.(event.ToolInputDelta); ok && p.Key == d.Key && p.ID == d.ID {
			p.Text += d.Text
			last.Data = p
			return true
		}
	case event.ToolProgress:
		if p, ok := last.Data.(event.ToolProgress); ok && p.Call == d.Call {
			last.Data = d
			return true
		}
	}
	return false
}

// makeRoom drops the oldest signal when too many wait.
func (f *feed) makeRoom() {
	if f.signals < maxSignals {
		return
	}
	for i, e := range f.events {
		if _, ok := e.Data.(event.Signal); ok {
			f.events = append(f.events[:i], f.events[i+1:]...)
			f.signals--
			return
		}
	}
}

// next waits for an event. It reports false when the feed is closed and empty.
func (f *feed) next() (event.Event, bool) {
	for {
		f.mu.Lock()
		if len(f.events) > 0 {
			e := f.events[0]
			f.events[0] = event.Event{}
			f.events = f.events[1:]
			if _, ok := e.Data.(event.Signal); ok {
				f.signals--
			}
			f.mu.Unlock()
			return e, true
		}
		closed := f.closed
		f.mu.Unlock()
		if closed {
			return event.Event{}, false
		}
		<-f.wake
	}
}

// close ends the feed. What waits can still be read.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

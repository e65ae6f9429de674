package eventqueue

import (
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
)

// A Window holds the latest events for an observer, who takes all of them at once. Put never
// blocks. Pieces of a text that wait are merged. When the window is full, it counts further
// events and drops them, until the observer takes what waits. It is safe for concurrent use
// by many writers and one observer.
type Window struct {
	size int
	wake chan struct{} // has room for one; receives after a Put or a Wake

	mu      sync.Mutex
	waiting []entry
	missed  event.Missed
	texts   map[string]string // by session: key of the answer whose text the observer has from its beginning
}

// NewWindow returns a window for size events.
func NewWindow(size int) *Window {
	return &Window{size: size, wake: make(chan struct{}, 1)}
}

// Put adds an event. soFar, unless "", is the whole text of the answer that a text delta
// belongs to. The observer gets it, as a restart, if the window lacks the text before the
// delta. The event may be an AgentEvent with such a delta.
func (w *Window) Put(e event.Event, soFar string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, isSignal := e.Data.(event.Signal)
	if isSignal {
		e.Time = time.Now().UTC()
	}
	inner := innermost(&e)
	delta, isText := inner.Data.(event.TextDelta)
	isText = isText && soFar != ""
	begins := isText && w.texts[inner.Session] != delta.Key
	n := len(w.waiting)
	switch {
	case n > 0 && isSignal && !begins && w.waiting[n-1].Session == e.Session && w.waiting[n-1].merge(e):
	case n >= w.size && isSignal:
		w.missed.Signals++
		clear(w.texts) // who misses a signal begins again with the texts
	case n >= w.size:
		w.missed.Facts++
	case begins:
		if w.texts == nil {
			w.texts = map[string]string{}
		}
		w.texts[inner.Session] = delta.Key
		w.waiting = append(w.waiting, entry{Event: withText(e, soFar)})
	default:
		w.waiting = append(w.waiting, entry{Event: e})
	}
	switch inner.Data.(type) {
	case event.AssistantMessage, event.ModelFailed, event.RunEnd:
		delete(w.texts, inner.Session)
	}
	w.notify()
}

// innermost returns the event of a sub-agent that an event is about, otherwise the event.
func innermost(e *event.Event) *event.Event {
	for {
		a, ok := e.Data.(event.AgentEvent)
		if !ok || a.Event == nil {
			return e
		}
		e = a.Event
	}
}

// withText returns an event whose innermost text delta has another text.
func withText(e event.Event, text string) event.Event {
	switch d := e.Data.(type) {
	case event.TextDelta:
		d.Restart = len(text) > len(d.Text)
		d.Text = text
		e.Data = d
	case event.AgentEvent:
		inner := withText(*d.Event, text)
		d.Event = &inner
		e.Data = d
	}
	return e
}

// notify wakes the observer. It is called with the lock.
func (w *Window) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Wake returns a channel that receives when there may be events.
func (w *Window) Wake() <-chan struct{} { return w.wake }

// Take returns the events that wait, and how many were dropped after them.
func (w *Window) Take() ([]event.Event, event.Missed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var events []event.Event
	for i := range w.waiting {
		events = append(events, w.waiting[i].whole())
	}
	clear(w.waiting)
	missed := w.missed
	w.waiting, w.missed = w.waiting[:0], event.Missed{}
	return events, missed
}

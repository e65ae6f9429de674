package agent

import (
	"iter"
	"sync"

	"github.com/openagent-go/agent/event"
)

// A eventQueue carries events from the loop to the consumer of a stream. Putting
// never blocks. Facts wait in order; of those beyond maxFacts only the place is
// kept, and they are read again from the session's store when their turn comes.
// Signals that the consumer is too slow for are merged, and beyond maxSignals the
// oldest are lost.
type eventQueue struct {
	reread func(after int64) iter.Seq2[event.Event, error]

	mu      sync.Mutex
	waiting []entry
	room    []entry // where waiting begins when it was empty
	first   int     // how many were taken from waiting before
	signals []int   // places of the signals that wait, counted from the beginning
	facts   int     // that wait
	failed  error   // of reading again
	closed  bool
	idle    bool          // the reader waits for wake
	wakeCh  chan struct{} // has room for one
}

// An entry is an event that waits. Merged deltas have their text in text.
type entry struct {
	event.Event
	text []byte
}

const (
	maxSignals = 256
	maxFacts   = 1024
)

// newEventQueue returns a feed that reads facts again by reread.
func newEventQueue(reread func(after int64) iter.Seq2[event.Event, error]) *eventQueue {
	return &eventQueue{reread: reread, room: make([]entry, 0, 8), wakeCh: make(chan struct{}, 1)}
}

func (f *eventQueue) put(e event.Event) {
	f.mu.Lock()
	_, isSignal := e.Data.(event.Signal)
	switch {
	case f.closed:
	case isSignal && len(f.waiting) > 0 && f.waiting[len(f.waiting)-1].merge(e):
	default:
		if isSignal {
			e.Time = now()
			f.makeRoom()
			f.signals = append(f.signals, f.first+len(f.waiting))
		}
		if !isSignal {
			if f.facts++; f.facts > maxFacts {
				e = event.Event{Seq: e.Seq}
			}
		}
		f.waiting = append(f.waiting, entry{Event: e})
	}
	f.wake()
	f.mu.Unlock()
}

// appendText adds text to the event that was put last and is still waiting, if that is
// a piece of the same answer's text. It reports false if it is not.
func (f *eventQueue) appendText(key, text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return false
	}
	w := &f.waiting[len(f.waiting)-1]
	d, ok := w.Data.(event.TextDelta)
	if !ok || d.Key != key {
		return false
	}
	w.add(d.Text, text)
	return true
}

// wake wakes the reader if it waits. It is called with the lock.
func (f *eventQueue) wake() {
	if f.idle {
		f.idle = false
		f.wakeCh <- struct{}{}
	}
}

// merge joins the signal e to the entry, if they are alike.
func (w *entry) merge(e event.Event) bool {
	switch d := e.Data.(type) {
	case event.TextDelta:
		if p, ok := w.Data.(event.TextDelta); ok && p.Key == d.Key {
			w.add(p.Text, d.Text)
			return true
		}
	case event.ThinkingDelta:
		if p, ok := w.Data.(event.ThinkingDelta); ok && p.Key == d.Key {
			w.add(p.Text, d.Text)
			return true
		}
	case event.ToolInputDelta:
		if p, ok := w.Data.(event.ToolInputDelta); ok && p.Key == d.Key && p.ID == d.ID {
			w.add(p.Text, d.Text)
			return true
		}
	case event.ToolProgress:
		if p, ok := w.Data.(event.ToolProgress); ok && p.Call == d.Call && p.ID == d.ID && p.Phase == d.Phase {
			w.Data = d
			return true
		}
	}
	return false
}

func (w *entry) add(first, more string) {
	if w.text == nil {
		w.text = append(make([]byte, 0, 4*(len(first)+len(more))), first...)
	}
	if len(w.text)+len(more) > cap(w.text) { // append alone grows by a quarter
		w.text = append(make([]byte, 0, 2*cap(w.text)+len(more)), w.text...)
	}
	w.text = append(w.text, more...)
}

// whole returns the event with the text of all that was merged into it.
func (w *entry) whole() event.Event {
	if w.text == nil {
		return w.Event
	}
	switch d := w.Data.(type) {
	case event.TextDelta:
		d.Text = string(w.text)
		w.Data = d
	case event.ThinkingDelta:
		d.Text = string(w.text)
		w.Data = d
	case event.ToolInputDelta:
		d.Text = string(w.text)
		w.Data = d
	}
	return w.Event
}

// makeRoom drops the oldest signal when too many wait. Its place stays, empty.
func (f *eventQueue) makeRoom() {
	if len(f.signals) >= maxSignals {
		f.waiting[f.signals[0]-f.first] = entry{}
		f.signals = f.signals[1:]
	}
}

// next waits for an event. It reports false when the feed is closed and empty.
func (f *eventQueue) next() (event.Event, bool) {
	for {
		f.mu.Lock()
		if len(f.waiting) > 0 {
			w := f.waiting[0]
			f.waiting[0] = entry{}
			if f.waiting = f.waiting[1:]; len(f.waiting) == 0 {
				f.waiting = f.room[:0]
			}
			if len(f.signals) > 0 && f.signals[0] == f.first {
				f.signals = f.signals[1:]
			}
			f.first++
			if w.Seq > 0 {
				f.facts--
			}
			f.mu.Unlock()
			switch {
			case w.Data == nil && w.Seq == 0: // a signal that was dropped
				continue
			case w.Data == nil:
				if w.Event = f.reload(w.Seq); w.Data == nil {
					continue
				}
			}
			return w.whole(), true
		}
		closed := f.closed
		f.idle = !closed
		f.mu.Unlock()
		if closed {
			return event.Event{}, false
		}
		<-f.wakeCh
	}
}

// err returns why facts are missing, nil if none is.
func (f *eventQueue) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// reload reads a fact from the store. Its neighbours that were put aside as well
// come with it, so that catching up reads each fact once.
func (f *eventQueue) reload(seq int64) event.Event {
	out := event.Event{Seq: seq}
	last := seq
	for e, err := range f.reread(seq - 1) {
		if err != nil {
			f.mu.Lock()
			f.failed = err
			f.mu.Unlock()
			break
		}
		if e.Seq > last {
			break
		}
		if e.Seq == seq {
			out = e
		}
		if last = f.restore(e); last == 0 {
			break
		}
	}
	return out
}

// restore puts a fact back into its place and returns the number of the next one
// that was put aside, 0 where enough are there again.
func (f *eventQueue) restore(e event.Event) (next int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.waiting[:min(len(f.waiting), maxFacts)] {
		w := &f.waiting[i]
		if w.Data == nil && w.Seq == e.Seq {
			w.Event = e
		} else if w.Data == nil && w.Seq > e.Seq {
			return w.Seq
		}
	}
	return 0
}

// close ends the feed. What waits can still be read.
func (f *eventQueue) close() {
	f.mu.Lock()
	f.closed = true
	f.wake()
	f.mu.Unlock()
}

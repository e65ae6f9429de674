// Package eventqueue carries the events of a run to the reader of its stream. The run never
// waits for the reader.
package eventqueue

import (
	"iter"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
)

// A Queue holds events until the reader takes them. Put never blocks, and memory is
// bounded. Facts keep their order. Beyond maxFacts the queue keeps only a fact's number,
// and reads the fact from the session's store when its turn comes. Signals that wait
// are merged; beyond maxSignals the oldest are dropped. It is safe for concurrent use
// by many writers and one reader.
type Queue struct {
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

// New returns a queue. It reads the facts that it did not keep by reread.
func New(reread func(after int64) iter.Seq2[event.Event, error]) *Queue {
	return &Queue{reread: reread, room: make([]entry, 0, 8), wakeCh: make(chan struct{}, 1)}
}

// Put adds an event. It drops it when the queue is closed.
func (q *Queue) Put(e event.Event) {
	q.mu.Lock()
	_, isSignal := e.Data.(event.Signal)
	switch {
	case q.closed:
	case isSignal && len(q.waiting) > 0 && q.waiting[len(q.waiting)-1].merge(e):
	default:
		if isSignal {
			e.Time = time.Now().UTC()
			q.makeRoom()
			q.signals = append(q.signals, q.first+len(q.waiting))
		}
		if !isSignal {
			if q.facts++; q.facts > maxFacts {
				e = event.Event{Seq: e.Seq, Call: e.Call}
			}
		}
		q.waiting = append(q.waiting, entry{Event: e})
	}
	q.wake()
	q.mu.Unlock()
}

// AppendText adds text to the event that was put last and is still waiting, if that is
// a piece of the same answer's text. It reports false if it is not.
func (q *Queue) AppendText(key, text string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return false
	}
	w := &q.waiting[len(q.waiting)-1]
	d, ok := w.Data.(event.TextDelta)
	if !ok || d.Key != key {
		return false
	}
	w.add(d.Text, text)
	return true
}

// wake wakes the reader if it waits. It is called with the lock.
func (q *Queue) wake() {
	if q.idle {
		q.idle = false
		q.wakeCh <- struct{}{}
	}
}

// merge joins the signal e to the entry, if it continues that.
func (w *entry) merge(e event.Event) bool {
	if !continues(w.Data, e.Data) {
		return false
	}
	if more, ok := textOf(e.Data); ok {
		first, _ := textOf(w.Data)
		w.add(first, more)
	} else {
		w.Data = e.Data
	}
	return true
}

//go:noinline // called from many places: every program stays smaller
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
	w.Data = setText(w.Data, string(w.text))
	return w.Event
}

// makeRoom drops the oldest signal when too many wait. Its place stays, empty.
func (q *Queue) makeRoom() {
	if len(q.signals) >= maxSignals {
		q.waiting[q.signals[0]-q.first] = entry{}
		q.signals = q.signals[1:]
	}
}

// Next waits for an event. It reports false when the queue is closed and empty.
func (q *Queue) Next() (event.Event, bool) {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			w := q.waiting[0]
			q.waiting[0] = entry{}
			if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
				q.waiting = q.room[:0]
			}
			if len(q.signals) > 0 && q.signals[0] == q.first {
				q.signals = q.signals[1:]
			}
			q.first++
			if w.Seq > 0 {
				q.facts--
			}
			q.mu.Unlock()
			switch {
			case w.Data == nil && w.Seq == 0: // a signal that was dropped
				continue
			case w.Data == nil:
				e := q.reload(w.Seq)
				if e.Call = w.Call; e.Data == nil {
					continue
				}
				w.Event = e
			}
			return w.whole(), true
		}
		closed := q.closed
		q.idle = !closed
		q.mu.Unlock()
		if closed {
			return event.Event{}, false
		}
		<-q.wakeCh
	}
}

// Err returns why facts are missing, nil if none is.
func (q *Queue) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// reload reads a fact from the store. Its neighbours that were put aside as well
// come with it, so that catching up reads each fact once.
func (q *Queue) reload(seq int64) event.Event {
	out := event.Event{Seq: seq}
	last := seq
	for e, err := range q.reread(seq - 1) {
		if err != nil {
			q.mu.Lock()
			q.failed = err
			q.mu.Unlock()
			break
		}
		if e.Seq > last {
			break
		}
		if e.Seq == seq {
			out = e
		}
		if last = q.restore(e); last == 0 {
			break
		}
	}
	return out
}

// restore puts a fact back into its place and returns the number of the next one that was
// put aside, 0 if enough are loaded again.
func (q *Queue) restore(e event.Event) (next int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.waiting[:min(len(q.waiting), maxFacts)] {
		w := &q.waiting[i]
		if w.Data == nil && w.Seq == e.Seq {
			e.Call = w.Call
			w.Event = e
		} else if w.Data == nil && w.Seq > e.Seq {
			return w.Seq
		}
	}
	return 0
}

// Close ends the queue. Waiting events can still be read.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.wake()
	q.mu.Unlock()
}

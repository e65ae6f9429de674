package eventqueue

import (
	"fmt"
	"iter"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// A reader that lags gets every fact in order, merged deltas, and the latest of
// too many signals.
func TestQueue(t *testing.T) {
	q := New(nil)
	const n = 1000
	for i := range n {
		q.Put(event.Event{Data: event.TextDelta{Key: fmt.Sprint(i % 2), Text: "a"}})
		q.Put(event.Event{Data: event.TextDelta{Key: fmt.Sprint(i % 2), Text: "b"}})
		if i%10 == 0 {
			q.Put(event.Event{Seq: int64(i) + 1, Data: fact.Waited{}})
		}
	}
	q.Close()
	q.Put(event.Event{Data: fact.Waited{}}) // no reader takes it any more
	facts, signals, last := 0, 0, int64(0)
	for {
		e, ok := q.Next()
		if !ok {
			break
		}
		switch d := e.Data.(type) {
		case event.TextDelta:
			signals++
			if d.Text != "ab" {
				t.Fatalf("a merged delta is %q", d.Text)
			}
		case fact.Waited:
			facts++
			if e.Seq <= last {
				t.Fatalf("fact %d comes after %d", e.Seq, last)
			}
			last = e.Seq
		}
	}
	if facts != n/10 || signals != maxSignals {
		t.Errorf("%d facts, %d signals", facts, signals)
	}
}

// For facts that are not read for long only the place is kept; they are read again from the
// store, each once.
func TestQueueRereads(t *testing.T) {
	const n = 5000
	var stored []event.Event
	read := 0
	q := New(func(after int64) iter.Seq2[event.Event, error] {
		return func(yield func(event.Event, error) bool) {
			for _, e := range stored[after:] {
				if read++; !yield(e, nil) {
					return
				}
			}
		}
	})
	for i := range int64(n) {
		e := event.Event{Seq: i + 1, Data: fact.Waited{Key: fmt.Sprint(i)}}
		stored = append(stored, e)
		e.Call = &event.Call{ID: fmt.Sprint(i)}
		q.Put(e)
		q.Put(event.Event{Data: event.TextDelta{Key: fmt.Sprint(i), Text: "x"}})
	}
	held := 0
	for _, w := range q.waiting {
		if _, ok := w.Data.(event.Fact); ok {
			held++
		}
	}
	if held != maxFacts {
		t.Errorf("%d facts are held", held)
	}
	q.Close()
	next := int64(1)
	for {
		e, ok := q.Next()
		if !ok {
			break
		}
		if w, ok := e.Data.(fact.Waited); ok {
			if e.Seq != next || w.Key != fmt.Sprint(next-1) || e.Call == nil || e.Call.ID != w.Key {
				t.Fatalf("fact %d is %+v", next, e)
			}
			next++
		}
	}
	if next != n+1 || read > 2*n {
		t.Errorf("%d facts came, %d were read", next-1, read)
	}
}

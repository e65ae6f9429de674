package agent

import (
	"fmt"
	"testing"

	"github.com/openagent-go/agent/event"
)

// A reader that lags gets every fact in order, merged deltas, and the latest of
// too many signals.
func TestFeed(t *testing.T) {
	f := newFeed()
	const n = 1000
	for i := range n {
		f.put(event.Event{Data: event.TextDelta{Key: fmt.Sprint(i % 2), Text: "a"}})
		f.put(event.Event{Data: event.TextDelta{Key: fmt.Sprint(i % 2), Text: "b"}})
		if i%10 == 0 {
			f.put(event.Event{Seq: int64(i) + 1, Data: event.Waited{}})
		}
	}
	f.close()
	f.put(event.Event{Data: event.Waited{}}) // nobody takes it any more
	facts, signals, last := 0, 0, int64(0)
	for {
		e, ok := f.next()
		if !ok {
			break
		}
		switch d := e.Data.(type) {
		case event.TextDelta:
			signals++
			if d.Text != "ab" {
				t.Fatalf("a merged delta is %q", d.Text)
			}
		case event.Waited:
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

package session

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/event"
)

// Chunks are read like a slice, at every size and from every place, also while
// more is added.
func TestChunks(t *testing.T) {
	var c chunks
	var want []event.Event
	read := func(c chunks, want []event.Event) {
		t.Helper()
		if got := slices.Collect(c.backward()); !slices.Equal(got, reversed(want)) || c.n != int64(len(want)) {
			t.Fatalf("%d facts of %d backward, and %d counted", len(got), len(want), c.n)
		}
		for _, n := range []int{-1, 0, 1, minChunk - 1, minChunk, minChunk + 1, len(want) - 1, len(want), len(want) + 1} {
			rest := want[min(max(n, 0), len(want)):]
			if got := slices.Collect(c.after(int64(n))); !slices.Equal(got, rest) {
				t.Fatalf("%d of %d facts after %d", len(got), len(rest), n)
			}
		}
	}
	for i := range int64(5 * maxChunk) {
		read(c, want)
		old := c
		e := event.Event{Seq: i + 1}
		c.add(e)
		read(old, want)
		want = append(want, e)
	}
	for range c.after(3) {
		break
	}
	for range c.backward() {
		break
	}
}

func reversed(events []event.Event) []event.Event {
	events = slices.Clone(events)
	slices.Reverse(events)
	return events
}

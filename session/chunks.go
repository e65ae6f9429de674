package session

import (
	"iter"
	"slices"

	"github.com/openagent-go/agent/event"
)

// chunks hold facts that are only appended. A growing slice is copied again and again;
// chunks are not. A copy keeps its content: it may be read while others append.
type chunks struct {
	full [][]event.Event
	last []event.Event // has room
	n    int64         // how many there are
}

// Chunks hold half as many facts as those before them, within these bounds.
const (
	minChunk = 16
	maxChunk = 256
)

func (c *chunks) add(e event.Event) {
	if len(c.last) == cap(c.last) {
		if c.last != nil {
			c.full = append(c.full, c.last)
		}
		c.last = make([]event.Event, 0, min(max(int(c.n)/2, minChunk), maxChunk))
	}
	c.last = append(c.last, e)
	c.n++
}

// after yields all but the first n facts.
func (c chunks) after(n int64) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		skip := max(0, n)
		for i := range len(c.full) + 1 {
			facts := c.last
			if i < len(c.full) {
				facts = c.full[i]
			}
			here := min(skip, int64(len(facts)))
			skip -= here
			for _, e := range facts[here:] {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// backward yields all facts, the last one first.
func (c chunks) backward() iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		facts := c.last
		for i := len(c.full); ; {
			for _, e := range slices.Backward(facts) {
				if !yield(e) {
					return
				}
			}
			if i--; i < 0 {
				return
			}
			facts = c.full[i]
		}
	}
}

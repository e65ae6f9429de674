package view

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventtable"
	_ "github.com/openagent-go/agent/internal/fact"
)

// A view knows every event.
func TestEveryEventIsKnown(t *testing.T) {
	for name, zero := range eventtable.Zero {
		var s State
		if !s.apply(event.Event{Seq: 1, Data: zero.(event.Data)}) {
			t.Errorf("State.apply in session/view/apply.go neither handles nor ignores %s (%T)", name, zero)
		}
	}
}

// No event, in no order, stops the fold.
func FuzzApply(f *testing.F) {
	var all []event.Data
	for _, zero := range eventtable.Zero {
		all = append(all, zero.(event.Data))
	}
	f.Add([]byte("0123456789 abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		for i, b := range data {
			e := event.Event{Data: all[int(b)%len(all)]}
			if _, ok := e.Data.(event.Fact); ok {
				e.Seq, e.Prev = int64(i+1), int64(b%8)
			}
			s.Apply(e)
		}
	})
}

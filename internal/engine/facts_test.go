package engine

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// Both projections know every fact.
func TestEveryFactIsKnown(t *testing.T) {
	for _, f := range fact.All() {
		s := &State{inbox: inbox{known: map[string]bool{}}}
		if _, known := s.apply(event.Event{Data: f}); !known {
			t.Errorf("State.apply neither handles nor ignores %T", f)
		}
		if !new(Transcript).apply(event.Event{Data: f}) {
			t.Errorf("Transcript.apply neither handles nor ignores %T", f)
		}
	}
}

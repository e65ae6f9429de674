package export

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// An export knows every fact.
func TestEveryFactIsKnown(t *testing.T) {
	for _, f := range fact.All() {
		r := &reader{yield: func(turn, error) bool { return true }, held: map[string]said{}}
		if !r.fact(event.Event{Data: f}) {
			t.Errorf("reader.fact in session/export/turn.go neither handles nor ignores %T", f)
		}
	}
}

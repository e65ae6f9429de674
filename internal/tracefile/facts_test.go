package tracefile

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// A trace knows every fact.
func TestEveryFactIsKnown(t *testing.T) {
	for _, f := range fact.All() {
		s := sessionSpans{builder: new(builder), run: new(Record),
			open: map[string]*Record{}, asked: map[string]*Record{}, calls: map[string]string{}, tools: map[string]string{}}
		if !s.fact(event.Event{Data: f}) {
			t.Errorf("journal.go neither handles nor ignores %T", f)
		}
	}
}

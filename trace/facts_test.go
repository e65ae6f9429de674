package trace

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// A trace knows every fact.
func TestEveryFactIsKnown(t *testing.T) {
	for _, f := range fact.All() {
		s := sessionSpans{builder: new(builder), run: new(openSpan),
			open: map[string]*openSpan{}, asked: map[string]*openSpan{}, calls: map[string]string{}, tools: map[string]string{}}
		if !s.fact(event.Event{Data: f}) {
			t.Errorf("trace/journal.go neither handles nor ignores %T", f)
		}
	}
}

package trace

import (
	"testing"

	"github.com/openagent-go/agent/event"
)

// A trace knows every fact.
func TestEveryFactIsKnown(t *testing.T) {
	for _, f := range event.Facts() {
		s := sessionSpans{builder: new(builder), run: new(stretch),
			open: map[string]*stretch{}, asked: map[string]*stretch{}, calls: map[string]string{}, tools: map[string]string{}}
		if !s.fact(event.Event{Data: f}) {
			t.Errorf("trace/journal.go neither handles nor ignores %T", f)
		}
	}
}

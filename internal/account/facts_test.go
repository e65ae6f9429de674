package account

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// An account knows every fact.
func TestEveryFactIsKnown(t *testing.T) {
	for _, f := range fact.All() {
		b := new(Book)
		b.open()
		if !b.count(event.Event{Data: f}, "") {
			t.Errorf("Book.count neither handles nor ignores %T", f)
		}
	}
}

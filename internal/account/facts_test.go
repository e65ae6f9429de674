package account

import (
	"testing"

	"github.com/openagent-go/agent/event"
)

// An account knows every fact.
func TestEveryFactIsKnown(t *testing.T) {
	for _, f := range event.Facts() {
		b := new(Book)
		b.open()
		if !b.count(event.Event{Data: f}, "") {
			t.Errorf("Book.count neither handles nor ignores %T", f)
		}
	}
}

package driver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/openagent-go/agent/event"
)

// A call whose start cannot be recorded is not made.
func TestNothingRunsWithoutARecord(t *testing.T) {
	full := errors.New("the disk is full")
	ran := false
	h := newRun(t, calling("look"), does("look", func(context.Context) (string, error) {
		ran = true
		return "seen", nil
	}))
	h.journal.fail = func(events []event.Event) error {
		for _, e := range events {
			if _, ok := e.Data.(event.ToolStart); ok {
				return full
			}
		}
		return nil
	}
	h.run(t, "Look.")
	if ran || !errors.Is(h.Failed(), full) {
		t.Errorf("the tool ran: %v; the run failed with %v", ran, h.Failed())
	}
}

package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/session"
)

// heldBy is the error of a store that knows who has a session.
type heldBy struct{ error }

func (heldBy) Busy() string { return "blue-1 since 2026-11-27 09:00:00 UTC" }

func (heldBy) Unwrap() error { return session.ErrBusy }

// TestBusyNamesTheHolder: a client learns who has a session, if the store knows it.
func TestBusyNamesTheHolder(t *testing.T) {
	e := errorOf(fmt.Errorf("deleting: %w", heldBy{session.ErrBusy}))
	if e.Code != "session_busy" || e.Message != "the session is in use by blue-1 since 2026-11-27 09:00:00 UTC" {
		t.Errorf("%+v", e)
	}
	if e := errorOf(session.ErrBusy); e.Code != "session_busy" || strings.Contains(e.Message, "by") {
		t.Errorf("%+v", e)
	}
}

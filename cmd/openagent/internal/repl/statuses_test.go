package repl

import (
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/tool"
)

func TestStatuses(t *testing.T) {
	s := newStatuses()
	shown := func(id, text string, phase event.ToolPhase, after time.Duration) bool {
		return s.news(event.ToolProgress{ID: id, Phase: phase, Status: tool.Status{Text: text}, Elapsed: after}) != ""
	}
	// A call that writes a line every 10 ms for two minutes.
	n := 0
	for after := time.Duration(0); after < 2*time.Minute; after += 10 * time.Millisecond {
		if shown("a", fmt.Sprint(after), fact.ToolDoing, after) {
			n++
		}
	}
	if n < 4 || n > 8 {
		t.Errorf("%d statuses in two minutes", n)
	}
	if shown("b", "soon done", fact.ToolDoing, time.Second) {
		t.Error("the status of a call that has just begun")
	}
	if !shown("b", "x", fact.ToolDoing, 3*time.Second) || shown("b", "x", fact.ToolDoing, time.Minute) {
		t.Error("the same status is shown once")
	}
	if shown("b", "x", fact.ToolSucceeded, time.Minute) || len(s.next) != 1 {
		t.Error("a call that has ended is forgotten")
	}
}

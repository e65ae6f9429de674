package subagent_test

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// A member that could not announce its end stays in its team.
func TestTeammateStays(t *testing.T) {
	s := newStage(t)
	n := 0
	s.plays("ann's work", use("SendMessage", map[string]any{"to": "nobody", "message": "bye", "type": "shutdown_response"}), "ann is done",
		func(r *llmtest.Request) llmtest.Step {
			n++
			return llmtest.Step{Text: "ann goes on"}
		})
	lead := func(r *llmtest.Request) llmtest.Step {
		switch last := told(r); {
		case strings.Contains(last, "ann is done") && !strings.Contains(last, "Message sent to ann") && !strings.Contains(last, "cannot be reached"):
			return llmtest.Call(use("SendMessage", map[string]any{"to": "ann", "message": "more"}))
		default:
			return llmtest.Step{Text: "waiting"}
		}
	}
	s.plays("go", use("TeamCreate", map[string]any{"name": "red", "members": []string{"ann"}}), spawn("ann's work", map[string]any{"name": "ann"}), lead, lead, lead, lead, lead)
	s.prompt("go")
	if n != 1 {
		t.Errorf("ann was called %d times", n)
	}
}

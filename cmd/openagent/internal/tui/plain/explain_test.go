package plain

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// What the model said before a question stands above it, also if the end of the text comes later
// than the question. A text without an end holds up no question.
func TestTextBeforeQuestion(t *testing.T) {
	for _, ends := range []bool{true, false} {
		now := time.Unix(1_900_000_000, 0)
		c := &Console{Model: ui.NewPlain(true), Theme: draw.Theme{Bare: true}}
		tell := func(d event.Data, seq int64) {
			c.Update(now, event.Event{Time: now, Session: "s", Seq: seq, Prev: max(seq-1, 0), Data: d})
		}
		c.Update(now, ui.Facts{Version: "1", Model: "m", Dir: "/d"})
		tell(event.UserMessage{ID: "p", Message: llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: "go"}}}}, 1)
		said := string(c.Take())
		tell(event.TextDelta{Key: "k", Text: "I run it."}, 0)
		c.Update(now, ui.Pose{Question: ui.Question{ID: 1, Tool: "Bash"}})
		said += string(c.Take())
		if strings.Contains(said, "? Bash") {
			t.Fatalf("the question comes first: %s", said)
		}
		if ends {
			tell(event.AssistantMessage{Key: "k", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "I run it."}, llm.ToolUse{ID: "u", Name: "Bash"}}}}}, 2)
		} else {
			now = c.Wake()
			c.Update(now, ui.Tick{})
		}
		said += string(c.Take())
		text, question := strings.Index(said, "I run it."), strings.Index(said, "? Bash")
		if question < 0 || ends && (text < 0 || text > question) {
			t.Errorf("ends %v: %s", ends, said)
		}
	}
}

package subagent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// TaskOutput and TaskGet know an agent that TaskStop has ended, by its name and its id:
// that it was stopped, and its last output.
func TestStoppedAgentIsKnown(t *testing.T) {
	s := newStage(t)
	s.plays("work", func(*llmtest.Request) llmtest.Step {
		return llmtest.Step{Text: "half of it", Calls: []llm.ToolUse{use("Bash", map[string]any{"command": "touch begun; sleep 60"})}}
	})
	var answers []string
	last := func(r *llmtest.Request) (text string) {
		for _, m := range r.Messages {
			for _, b := range m.Content {
				if result, ok := b.(llm.ToolResult); ok {
					text = result.Content.Text()
				}
			}
		}
		return text
	}
	ask := func(name string, input map[string]any) func(r *llmtest.Request) llmtest.Step {
		return func(r *llmtest.Request) llmtest.Step {
			answers = append(answers, last(r))
			return llmtest.Call(use(name, input))
		}
	}
	s.plays("go", spawn("work", map[string]any{"run_in_background": true, "name": "ann"}),
		func(r *llmtest.Request) llmtest.Step {
			for _, err := os.Stat(filepath.Join(s.dir, "begun")); err != nil; _, err = os.Stat(filepath.Join(s.dir, "begun")) {
				time.Sleep(time.Millisecond)
			}
			return llmtest.Call(use("TaskStop", map[string]any{"id": "ann"}))
		},
		ask("TaskOutput", map[string]any{"id": "ann"}), ask("TaskGet", map[string]any{"id": "ann"}), ask("TaskStop", map[string]any{"id": "ann"}),
		func(r *llmtest.Request) llmtest.Step {
			answers = append(answers, last(r))
			return llmtest.Step{Text: "end"}
		})
	s.prompt("go")
	for i, text := range answers {
		if !strings.Contains(text, "was stopped") || !strings.Contains(text, "half of it") {
			t.Errorf("answer %d: %q", i, text)
		}
	}
	if len(answers) != 4 {
		t.Errorf("%d answers", len(answers))
	}
}

package subagent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
)

// The requests of ten agents at once, half of them in the background, and of the one
// that they work for are such as a strict server accepts, by either client.
func TestAgentsKeepTheRules(t *testing.T) {
	for name, client := range map[string]func(url string) llm.Model{
		"anthropic": func(url string) llm.Model {
			return (&anthropic.Client{APIKey: "k", BaseURL: url}).Model("claude-sonnet-4-6")
		},
		"openai": func(url string) llm.Model { return (&openai.Client{APIKey: "k", BaseURL: url}).Model("gpt-4.1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			server := llmtest.NewServer(t) // fails the test for a request that breaks the rules
			server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
				switch first := r.Messages[0].Text(); {
				case first == "go" && len(r.Messages) == 1:
					var calls []llm.ToolUse
					for i := range 10 {
						calls = append(calls, spawn(fmt.Sprint("work ", i), map[string]any{"run_in_background": i%2 == 0}))
					}
					return llmtest.Step{Calls: calls}
				case strings.HasPrefix(first, "work") && len(r.Messages) < 5:
					return llmtest.Call(use("Glob", map[string]any{"pattern": "*"}), use("Bash", map[string]any{"command": "echo x"}))
				}
				return llmtest.Step{Text: "done"}
			}
			s.agent.Model, s.agent.AwaitAgents, s.agent.MaxParallelCalls = client(server.URL), true, 10
			run := s.agent.Session("")
			defer run.Close()
			if _, err := run.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			messages, err := run.Messages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, m := range messages {
				text.WriteString(m.Text() + "\n")
			}
			if n := strings.Count(text.String(), "is done: completed"); n != 5 {
				t.Errorf("told of %d ends in the background:\n%s", n, text.String())
			}
		})
	}
}

package app

import (
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/llm"
)

// TestUnthinking has what is said where an effort has no effect.
func TestUnthinking(t *testing.T) {
	for _, c := range []struct {
		name  string
		think llm.Thought
		tools int
		said  bool
	}{
		{"openai:gpt-5.4", llm.Thought{Effort: "high"}, 1, true},
		{"openai:gpt-5.4", llm.Thought{Budget: 1}, 1, true},
		{"openai:gpt-5.4", llm.Thought{Mode: llm.ThinkOff}, 1, false},
		{"openai:gpt-5.4", llm.Thought{}, 1, false},
		{"openai:gpt-5.4", llm.Thought{Effort: "high"}, 0, false},
		{"openai-responses:gpt-5.4", llm.Thought{Effort: "high"}, 1, false},
		{"openrouter:openai/gpt-5.4", llm.Thought{Effort: "high"}, 1, false},
		{"openai:gpt-5.2", llm.Thought{Effort: "high"}, 1, false},
		{"anthropic:claude-opus-5", llm.Thought{Effort: "high"}, 1, false},
	} {
		p, err := provider.New(new(settings.Options), func(name string) string {
			return map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "OPENROUTER_API_KEY": "r"}[name]
		}, settings.ProviderSettings{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.FindModel(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := unthinking(m, c.think, c.tools); (got != "") != c.said {
			t.Errorf("%s with %+v and %d tools: %q", c.name, c.think, c.tools, got)
		}
		p.ToolsInPrompt = true
		if m, err = p.FindModel(c.name); err != nil || unthinking(m, c.think, c.tools) != "" {
			t.Errorf("%s with its tools in the prompt: %v", c.name, err)
		}
	}
}

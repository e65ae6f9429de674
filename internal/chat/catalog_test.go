package chat

import (
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// TestNamesOfRouters has models with their maker before the name: a size is the model's,
// a price only where the host passes the maker's on.
func TestNamesOfRouters(t *testing.T) {
	var table catalog.Table
	for _, e := range []catalog.Entry{
		{Name: "deepseek-chat", Provider: "deepseek", Window: 7, Price: &llm.Price{Input: 1, Output: 2}},
		{Name: "anthropic/claude-haiku-4.5", Provider: "openai", Window: 8, Price: &llm.Price{Input: 3, Output: 4}},
		{Name: "x/any", Window: 9},
		{Name: "own", Provider: "openai", Window: 10, Price: &llm.Price{Input: 5, Output: 6}},
	} {
		if err := table.Register(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		profile, name string
		window        int
		input         float64 // 0: the price is not known
	}{
		{"openrouter", "anthropic/claude-opus-5", 1_000_000, 5},
		{"openrouter", "anthropic/claude-opus-5.5", 1_000_000, 4},
		{"openrouter", "anthropic/claude-opus-5-5", 1_000_000, 4},
		{"openrouter", "anthropic/claude-sonnet-4.5", 200_000, 3},
		{"openrouter", "anthropic/claude-3.7-sonnet", 200_000, 3},
		{"openrouter", "openai/gpt-5.2", 400_000, 1.75},
		{"openrouter", "openai/gpt-5.2-2025-12-11", 400_000, 1.75},
		{"vercel", "openai/gpt-4o", 128_000, 2.5},
		// Who serves the model is chosen, and so the price.
		{"openrouter", "anthropic/claude-opus-5:nitro", 1_000_000, 0},
		{"openrouter", "openai/gpt-4o:free", 128_000, 0},
		// Models of their own price, or of other makers.
		{"openrouter", "anthropic/claude-opus-5-fast", 0, 0},
		{"openrouter", "someone/gpt-4o", 0, 0},
		{"openrouter", "/gpt-4o", 0, 0},
		{"openrouter", "openai/claude-opus-5", 0, 0},
		// Hosts that say nothing of prices.
		{"generic", "anthropic/claude-opus-5", 1_000_000, 0},
		{"huggingface", "openai/gpt-4o", 128_000, 0},
		{"groq", "gpt-4o", 128_000, 0},
		{"openai", "gpt-4o", 128_000, 2.5},
		{"azure", "gpt-4o", 128_000, 2.5},
		{"generic", "gpt-4o", 128_000, 2.5},
		// What the user's catalogue says counts first.
		{"deepseek", "deepseek-chat", 7, 1},
		{"kimi", "deepseek-chat", 0, 0},
		{"openrouter", "anthropic/claude-haiku-4.5", 8, 3},
		{"openrouter", "x/any", 9, 0},
		{"groq", "own", 10, 5},
	} {
		p, ok := ProfileOf(c.profile)
		if c.profile == "generic" {
			p, ok = ProfileAt("https://gateway.example/v1"), true
		}
		if !ok {
			t.Fatal(c.profile)
		}
		m := (&Client{APIKey: "k", BaseURL: "https://gateway.example/v1", Profile: p, Catalog: &table}).Model(c.name)
		i, input := llm.InfoOf(m), 0.0
		if i.Price != nil {
			input = i.Price.Input
		}
		if i.Window != c.window || input != c.input || i.Provider != provider || m.Name() != c.name && c.name != "" {
			t.Errorf("%s at %s: window %d, input %v, %+v", c.name, c.profile, i.Window, input, i)
		}
	}
}

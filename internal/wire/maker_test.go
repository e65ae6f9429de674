package wire

import "testing"

func TestMadeBy(t *testing.T) {
	for _, tt := range []struct {
		maker, model string
		same         bool
	}{
		{"claude-sonnet-4-5", "claude-sonnet-4-5", true},
		{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5", true},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", true},
		{"claude-sonnet-4-5@20250929", "anthropic/Claude-Sonnet-4-5", true},
		{"gpt-5.2-2025-12-11", "openai/gpt-5.2", true},
		{"moonshotai/kimi-k2:free", "kimi-k2", true},
		{"claude-3-5-haiku-latest", "claude-3-5-haiku", true},
		{"", "m", true},
		{"claude-opus-4-5", "claude-sonnet-4-5", false},
		{"claude-opus-4", "claude-opus-4-5", false},
		{"gpt-5", "gpt-5-mini", false},
		{"gpt-5.1", "gpt-5.2", false},
		{":", "m", false},
		{"deepseek:deepseek-chat", "deepseek-chat", true},
		{"openai:o3", "azure:o3", true},
		{"openai:o3", "openai:o1", false},
		{"openai:o3", "openai", false},
		{"bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", true},
		{"vertex:claude-haiku-4-5@20251001", "claude-haiku-4-5", true},
		{"llama3.3:70b", "llama3.3", true},
		{"mistral:7b", "mistral:7b", true},
		{"mistral:7b", "vicuna:7b", false},
	} {
		if got := (&Turn{Maker: tt.maker}).MadeBy(tt.model); got != tt.same {
			t.Errorf("%s for %s: %v", tt.maker, tt.model, got)
		}
	}
}

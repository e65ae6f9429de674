package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm"
)

// What makes a host keep the prompt is sent to those that take it, and to no others.
func TestCache(t *testing.T) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	for name, tt := range map[string]struct {
		base, model string
		session     string
		cache       llm.Cache
		want        []string
	}{
		"OpenAI":              {DefaultBaseURL, "gpt-5", "s-1", llm.Cache{}, []string{`"prompt_cache_key":"s-1"`}},
		"OpenAI, no session":  {DefaultBaseURL, "gpt-5", "", llm.Cache{}, nil},
		"OpenAI, off":         {DefaultBaseURL, "gpt-5", "s-1", llm.Cache{Off: true}, nil},
		"OpenAI, a long key":  {DefaultBaseURL, "gpt-5", strings.Repeat("k", 65), llm.Cache{}, nil},
		"OpenRouter, Claude":  {"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", "s-1", llm.Cache{}, []string{`"session_id":"s-1"`, mark}},
		"OpenRouter, an hour": {"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", "", llm.Cache{TTL: time.Hour}, []string{`"cache_control":{"type":"ephemeral","ttl":"1h"}`}},
		"OpenRouter, another": {"https://openrouter.ai/api/v1", "z-ai/glm-4.6", "s-1", llm.Cache{}, []string{`"session_id":"s-1"`}},
		"OpenRouter, off":     {"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", "s-1", llm.Cache{Off: true}, nil},
		"Mistral":             {"https://api.mistral.ai/v1", "mistral-large-latest", "s-1", llm.Cache{}, nil},
		"a local host":        {"http://localhost:11434/v1", "qwen3:8b", "s-1", llm.Cache{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			body := string(encoded(t, tt.base, tt.model, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Session: tt.session, Cache: tt.cache}))
			for _, w := range tt.want {
				if !strings.Contains(body, w) {
					t.Errorf("no %s in %s", w, body)
				}
			}
			if n := strings.Count(body, `"prompt_cache_key"`) + strings.Count(body, `"session_id"`) + strings.Count(body, `"cache_control"`); n != len(tt.want) {
				t.Errorf("%d members about the cache in %s", n, body)
			}
		})
	}
}

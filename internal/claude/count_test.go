package claude

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

func TestCountTokens(t *testing.T) {
	s := llmtest.NewServer(t)
	var m llm.Model = (&Client{APIKey: "k", BaseURL: s.URL}).Model("claude-sonnet-4-6")
	half := 0.5
	req := &llm.Request{System: "be good", Tools: []llm.Tool{{Name: "f", Description: strings.Repeat("does something ", 100)}}, Temperature: &half, Stop: []string{"x"},
		Messages: []llm.Message{user(say("q"))}, Cache: llm.Cache{TTL: time.Hour}, Thinking: llm.Thought{Effort: "low"}, MaxTokens: 4000}
	few, err := m.(llm.Counter).CountTokens(t.Context(), req)
	if err != nil || few < 300 || few > 600 {
		t.Fatalf("%d, %v", few, err)
	}
	req.Messages = append(req.Messages, assistant(say("a")), user(say(strings.Repeat("more ", 1000))))
	if more, err := m.(llm.Counter).CountTokens(t.Context(), req); err != nil || more < few+1000 {
		t.Errorf("%d after %d, %v", more, few, err)
	}
	s.Close()
	var api *llm.APIError
	if _, err := m.(llm.Counter).CountTokens(t.Context(), req); !errors.As(err, &api) || api.Class != llm.Network {
		t.Errorf("without a server: %v", err)
	}
	if _, err := m.(llm.Counter).CountTokens(t.Context(), &llm.Request{}); !errors.As(err, &api) || api.Class != llm.Invalid {
		t.Errorf("without a message: %v", err)
	}
}

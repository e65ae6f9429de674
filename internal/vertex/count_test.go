package vertex

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

func TestCountTokens(t *testing.T) {
	s := llmtest.NewServer(t)
	m := client(s.URL, nil).Model("claude-sonnet-4-5@20250929").(llm.Counter)
	half := 0.5
	req := &llm.Request{System: "be good", Temperature: &half, MaxTokens: 4000, Thinking: llm.Thought{Effort: "low"}, Stop: []string{"x"}, Cache: llm.Cache{TTL: time.Hour},
		Tools: []llm.Tool{{Name: "f", Description: strings.Repeat("does something ", 100)}}, Messages: []llm.Message{llm.UserText("q")}}
	few, err := m.CountTokens(t.Context(), req)
	if err != nil || few < 300 || few > 700 {
		t.Fatalf("%d, %v", few, err)
	}
	req.Messages = []llm.Message{llm.UserText(strings.Repeat("more ", 1000))}
	if more, err := m.CountTokens(t.Context(), req); err != nil || more < few+1000 {
		t.Errorf("%d after %d, %v", more, few, err)
	}
	alone(t)
	const rest = "/publishers/anthropic/models/count-tokens:rawPredict"
	for region, want := range map[string]string{
		"":                "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5" + rest,
		"eu":              "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1" + rest,
		"asia-southeast1": "https://asia-southeast1-aiplatform.googleapis.com/v1/projects/p/locations/asia-southeast1" + rest,
	} {
		session := &session{client: &Client{Project: "p", Region: region}}
		if got, err := session.tally("claude-x@default"); err != nil || got.URL != want || got.Model != "claude-x" {
			t.Errorf("%s: %+v, %v", region, got, err)
		}
	}
}

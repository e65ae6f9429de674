package bedrock

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

func TestCountTokens(t *testing.T) {
	s := llmtest.NewServer(t)
	m := client(s.URL, nil).Model("us.anthropic.claude-sonnet-4-6").(llm.Counter)
	half := 0.5
	req := &llm.Request{System: "be good", Temperature: &half, MaxTokens: 4000, Thinking: llm.Thought{Effort: "low"}, Stop: []string{"x"},
		Tools: []llm.Tool{{Name: "f", Description: strings.Repeat("does something ", 100)}}, Messages: []llm.Message{llm.UserText("q")}}
	few, err := m.CountTokens(t.Context(), req)
	if err != nil || few < 300 || few > 700 {
		t.Fatalf("%d, %v", few, err)
	}
	req.Messages = []llm.Message{llm.UserText(strings.Repeat("more ", 1000))}
	if more, err := m.CountTokens(t.Context(), req); err != nil || more < few+1000 {
		t.Errorf("%d after %d, %v", more, few, err)
	}
	const arn = "arn:aws:bedrock:us-east-1:123456789012:"
	for id, want := range map[string]string{
		"anthropic.claude-haiku-4-5-20251001-v1:0":                            "anthropic.claude-haiku-4-5-20251001-v1:0",
		"global.anthropic.claude-haiku-4-5-20251001-v1:0":                     "anthropic.claude-haiku-4-5-20251001-v1:0",
		arn + "inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0": "anthropic.claude-haiku-4-5-20251001-v1:0",
		arn + "application-inference-profile/abc":                             arn + "application-inference-profile/abc",
	} {
		if got := foundation(id); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// Models that Bedrock does not count are asked about once.
func TestCountTokensRefused(t *testing.T) {
	asked := 0
	h := wiretest.Handler(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("X-Amzn-Errortype", "ValidationException:http://internal.amazon.com/")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"message":"The provided model doesn't support counting tokens."}`))
	})
	m := client(h.URL, nil).Model("anthropic.claude-opus-4-6-v1").(llm.Counter)
	for range 2 {
		if _, err := m.CountTokens(t.Context(), &request); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "doesn't support") {
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

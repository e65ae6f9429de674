package agent_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
)

// carrier takes the body of a request and carries it nowhere.
type carrier struct{ body bytes.Buffer }

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	io.Copy(&c.body, r.Body)
	return nil, io.ErrClosedPipe
}

// checkWire holds a request, as each of the three clients sends it, against the whole of
// its provider's rules.
func checkWire(t *testing.T, r *llm.Request) {
	t.Helper()
	for name, api := range map[string]struct {
		model func(*http.Client) llm.Model
		check func([]byte) []strictapi.Violation
	}{
		"anthropic": {func(h *http.Client) llm.Model {
			return (&anthropic.Client{APIKey: "k", BaseURL: "https://api.anthropic.com", HTTP: h}).Model("claude-sonnet-4-5")
		}, strictapi.CheckAnthropic},
		"openai": {func(h *http.Client) llm.Model {
			return (&openai.Client{APIKey: "k", BaseURL: "https://api.openai.com/v1", HTTP: h}).Model("gpt-5.2")
		}, strictapi.CheckOpenAI},
		"responses": {func(h *http.Client) llm.Model {
			return (&responses.Client{APIKey: "k", BaseURL: "https://api.openai.com/v1", HTTP: h}).Model("gpt-5.2")
		}, strictapi.CheckResponses},
	} {
		c := new(carrier)
		own := *r
		own.Memo = nil
		if _, err := llm.Collect(t.Context(), api.model(&http.Client{Transport: c}), &own); err == nil || c.body.Len() == 0 {
			t.Errorf("%s: nothing was sent: %v", name, err)
		}
		for _, v := range api.check(c.body.Bytes()) {
			t.Errorf("%s: %v", name, v)
		}
	}
}

package llmtest_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
)

const key = "sk-test-0123456789abcdef"

// TestClients runs the suite on models that differ in what they refuse.
func TestClients(t *testing.T) {
	for _, name := range []string{"claude-sonnet-4-20250514", "claude-sonnet-4-6", "claude-opus-5-5"} {
		t.Run(name, func(t *testing.T) {
			llmtest.RunModelTests(t, func(baseURL string) llm.Model {
				return (&anthropic.Client{APIKey: key, BaseURL: baseURL, HTTP: leadingTo(baseURL)}).Model(name)
			})
		})
	}
	for _, c := range []struct{ name, baseURL string }{
		{"gpt-4o", ""},
		{"o4-mini", "https://api.openai.com/v1"},
		{"kimi-k2", "https://api.moonshot.ai/v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			llmtest.RunModelTests(t, func(baseURL string) llm.Model {
				client := &openai.Client{APIKey: key, BaseURL: cmp.Or(c.baseURL, baseURL), HTTP: leadingTo(baseURL)}
				return client.Model(c.name)
			})
		})
	}
}

// leadingTo is an HTTP client whose every connection goes to a server, without
// TLS, whatever host it believes to talk to.
func leadingTo(baseURL string) *http.Client {
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, strings.TrimPrefix(baseURL, "http://"))
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DialTLSContext: dial}}
}

// TestIdleTimeoutInVirtualTime has a server that falls silent for an hour, in
// no time, and a client that gives up by its own clock.
func TestIdleTimeoutInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := llmtest.NewPipe(t, llmtest.Step{Text: "some text", Stall: time.Hour, StallAfter: 4})
		client := &anthropic.Client{APIKey: key, BaseURL: s.URL, HTTP: s.Client(), IdleTimeout: time.Minute}
		start := time.Now()
		req := &llm.Request{Messages: []llm.Message{llm.UserText("Go on.")}}
		_, err := llm.Collect(t.Context(), client.Model("claude-sonnet-4-5"), req)
		var e *llm.APIError
		if !errors.As(err, &e) || e.Class != llm.Timeout {
			t.Errorf("got %v, want a timeout", err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("gave up after %v, want 1m", d)
		}
	})
}

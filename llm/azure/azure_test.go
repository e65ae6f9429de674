package azure

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
)

func TestBaseURL(t *testing.T) {
	for _, tt := range []struct{ endpoint, version, want string }{
		{"https://me.openai.azure.com/", "", "https://me.openai.azure.com/openai/v1"},
		{"https://me.openai.azure.com/openai/v1", "", "https://me.openai.azure.com/openai/v1"},
		{"https://me.openai.azure.com", "2024-10-21", "https://me.openai.azure.com/openai/deployments/my%20d?api-version=2024-10-21"},
		{"https://gateway.example/azure", "2024-10-21", "https://gateway.example/azure/openai/deployments/my%20d?api-version=2024-10-21"},
		{"me.openai.azure.com", "", "is not a URL"},
	} {
		got, err := BaseURL(tt.endpoint, tt.version, "my d")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && !strings.Contains(got, tt.want) || got == "" {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// Both styles of addresses, and both kinds of keys.
func TestRequests(t *testing.T) {
	const token = "eyJhbGciOi.J9payload.signature"
	for _, tt := range []struct{ version, key, path, query, header string }{
		{"", "0123456789abcdef", "/openai/v1/chat/completions", "", "Api-Key"},
		{"2024-10-21", token, "/openai/deployments/gpt-4.1/chat/completions", "api-version=2024-10-21", "Authorization"},
	} {
		server := llmtest.NewPipe(t, llmtest.Step{Text: "ok"})
		query := ""
		hc := server.Client()
		inner := hc.Transport
		hc.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			query = r.URL.RawQuery
			return inner.RoundTrip(r)
		})
		c := &Client{Endpoint: server.URL, APIVersion: tt.version, Client: openai.Client{APIKey: tt.key, HTTP: hc}}
		m, err := c.Model("gpt-4.1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Collect(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}); err != nil {
			t.Fatal(err)
		}
		r := server.Requests()[0]
		if r.Path != tt.path || query != tt.query || strings.TrimPrefix(r.Header.Get(tt.header), "Bearer ") != tt.key {
			t.Errorf("%s?%s %v", r.Path, query, r.Header)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package llmtest_test

import (
	"net/http"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// plain is an HTTP client of its own, so that what the suite looks for is not
// mixed with other tests' connections.
func plain() *http.Client { return &http.Client{Transport: &http.Transport{}} }

func TestAnthropicClient(t *testing.T) {
	llmtest.RunModelTests(t, func(baseURL string) llm.Model {
		client := &anthropic.Client{APIKey: "sk-ant-test-0123456789abcdef", BaseURL: baseURL, HTTP: plain()}
		return client.Model("claude-sonnet-4-5")
	})
}

package claude_test

import (
	"net/http"
	"testing"

	"github.com/openagent-go/agent/internal/claude"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// TestContract runs the suite that every client of a model must pass.
func TestContract(t *testing.T) {
	llmtest.RunModelTests(t, func(baseURL string) llm.Model {
		c := &claude.Client{APIKey: "sk-ant-test-0123456789abcdef", BaseURL: baseURL, HTTP: &http.Client{Transport: &http.Transport{}}}
		return c.Model("claude-sonnet-4-6")
	})
}

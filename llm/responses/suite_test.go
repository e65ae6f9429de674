package responses_test

import (
	"net/http"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/responses"
)

// TestContract runs the suite that every client of a model must pass.
func TestContract(t *testing.T) {
	for _, name := range []string{"gpt-4.1", "gpt-5.2"} {
		t.Run(name, func(t *testing.T) {
			llmtest.RunModelTests(t, func(baseURL string) llm.Model {
				c := &responses.Client{APIKey: "sk-test-0123456789abcdef", BaseURL: baseURL, HTTP: &http.Client{Transport: &http.Transport{}}}
				return c.Model(name)
			})
		})
	}
}

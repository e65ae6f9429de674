package bedrock_test

import (
	"net/http"
	"testing"

	"github.com/openagent-go/agent/internal/bedrock"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// TestContract runs the suite that every client of a model must pass, against a
// server that speaks Bedrock.
func TestContract(t *testing.T) {
	llmtest.RunModelTests(t, func(baseURL string) llm.Model {
		c := &bedrock.Client{Region: "us-east-1", Credentials: bedrock.Static("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""),
			Client: anthropic.Client{BaseURL: baseURL, HTTP: &http.Client{Transport: &http.Transport{}}}}
		return c.Model("us.anthropic.claude-sonnet-4-6")
	})
}

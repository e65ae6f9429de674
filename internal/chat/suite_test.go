package chat_test

import (
	"net/http"
	"testing"

	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// TestContract runs the suite that every client of a model must pass, with the
// profile of each host.
func TestContract(t *testing.T) {
	for _, p := range append(chat.Profiles(), chat.Profile{}) {
		t.Run(p.Name, func(t *testing.T) {
			// The suite's server is none of these hosts.
			p.Members, p.KeyHeader, p.NoStreamOptions, p.AnswersFirst, p.IDs = nil, "", false, false, chat.IDsShort
			llmtest.RunModelTests(t, func(baseURL string) llm.Model {
				c := &chat.Client{APIKey: "sk-test-0123456789abcdef", BaseURL: baseURL, HTTP: &http.Client{Transport: &http.Transport{}}, Profile: &p}
				return c.Model("gpt-4.1")
			})
		})
	}
}

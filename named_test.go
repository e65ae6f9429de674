package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// An agent can use the same model of two providers under two names. Under one name it is
// refused, because the second would never be used.
func TestOneModelOfTwoProviders(t *testing.T) {
	busy := &llmtest.Model{ID: "m", Facts: llm.Info{Provider: "one"}, Rule: func(*llmtest.Request, int) llmtest.Step {
		return llmtest.Fail(&llm.APIError{Class: llm.Overloaded, RetryAfter: -1})
	}}
	spare := &llmtest.Model{ID: "m", Facts: llm.Info{Provider: "two"}, Rule: func(*llmtest.Request, int) llmtest.Step { return say("from the spare") }}
	a := &agent.Agent{Model: busy, Fallbacks: []llm.Model{spare}, Retry: &agent.Retry{Tries: 1, Base: time.Millisecond}}
	if _, err := a.Prompt(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), `two models are named "m", of "one" and of "two"`) {
		t.Errorf("got %v", err)
	}
	a.Fallbacks = []llm.Model{llm.Named(spare, "two:m")}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil || res.Text != "from the spare" || len(spare.Requests()) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	a.Model, a.Fallbacks, a.SmallModel = spare, nil, &llmtest.Model{ID: "m", Facts: llm.Info{Provider: "two"}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil { // one model twice
		t.Error(err)
	}
}

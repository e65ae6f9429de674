package suggest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/suggest"
)

// A meter notes the models whose calls it counts.
type meter struct{ models []string }

func (m *meter) Meter(model llm.Model) llm.Model {
	m.models = append(m.models, model.Name())
	return model
}

// A suggestion counts for the quota, costs no more than the budget of a prompt, and asks for a short answer.
func TestBounds(t *testing.T) {
	counted := &meter{}
	small := llmtest.Script(llmtest.Say("Run the tests"), llmtest.Say("Run them again"))
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say(strings.Repeat("The parser is fixed. ", 1000))), SmallModel: small, Quota: counted}
	s := a.Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "Fix the parser."); err != nil {
		t.Fatal(err)
	}
	before := len(counted.models)
	if got, _, err := suggest.Next(t.Context(), s); got != "Run the tests" || err != nil {
		t.Fatal(got, err)
	}
	if len(counted.models) == before {
		t.Error("the suggestion does not count for the quota")
	}
	if r := small.Requests()[0]; r.MaxTokens <= 0 || r.MaxTokens > 1000 || len(r.Prompt()) > 4000 {
		t.Errorf("asked for %d tokens with %d bytes", r.MaxTokens, len(r.Prompt()))
	}
	if err := s.SetBudget(t.Context(), agent.Budget{USD: 1e-12}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := suggest.Next(t.Context(), s); got != "" || !errors.Is(err, agent.ErrLimit) || len(small.Requests()) != 1 {
		t.Errorf("beyond the budget: %q, %v, %d requests", got, err, len(small.Requests()))
	}
}

// A long conversation is not sent again for a suggestion.
func TestLongConversation(t *testing.T) {
	answers, small := []llmtest.Step{}, llmtest.Script(llmtest.Say("Run the tests"))
	for range 20 {
		answers = append(answers, llmtest.Say("It is done."))
	}
	s := (&agent.Agent{Model: llmtest.Script(answers...), SmallModel: small}).Session("")
	defer s.Close()
	for range answers {
		if _, err := s.Prompt(t.Context(), "Go ahead."); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := suggest.Next(t.Context(), s); got == "" || err != nil {
		t.Fatal(got, err)
	}
	if asked := small.Requests()[0].Prompt(); strings.Count(asked, "It is done.") != 4 {
		t.Errorf("asked %q", asked)
	}
}

package agent_test

import (
	"testing"
	"time"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// breaking is a model whose first streams break after a part of the answer.
func breaking(times int, after time.Duration) *llmtest.Model {
	return &llmtest.Model{Facts: llm.Info{Price: &llm.Price{Input: 3, Output: 15}}, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n < times {
			return llmtest.Step{Text: "half an answer", EventDelay: after, CutAfter: 2}
		}
		return say("an answer")
	}}
}

// A stream that breaks early costs the budget little: what was sent and streamed, and what
// the model can have written in that time.
func TestBrokenStreamLeavesBudget(t *testing.T) {
	a := &agent.Agent{Model: breaking(3, 0), Budget: agent.Budget{USD: 0.2}, Retry: &agent.Retry{Base: time.Millisecond}}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil || res.Reason != event.Completed {
		t.Fatalf("got %+v, %v", res, err)
	}
	if cost := *res.CostUSD; cost <= 0 || cost > 0.002 {
		t.Errorf("the prompt cost %v", cost)
	}
}

// The bound holds for an expensive break as well: a stream that took long can have written
// much that was not shown, so the next call gets less.
func TestBrokenStreamKeepsBound(t *testing.T) {
	slow := breaking(1, 300*time.Millisecond)
	budget, rate := 0.02, 250*15e-6 // USD a second that an answer costs at most
	a := &agent.Agent{Model: slow, Budget: agent.Budget{USD: budget}, Retry: &agent.Retry{Base: time.Millisecond}}
	var failed event.ModelFailed
	var reserved []float64
	for e, err := range a.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch f := e.Data.(type) {
		case fact.ModelStart:
			reserved = append(reserved, f.ReservedUSD)
		case event.ModelFailed:
			failed = f
		}
	}
	if least := failed.Duration.Seconds() * rate; len(reserved) != 2 || reserved[0] < 0.019 || reserved[1] > budget-least || reserved[1] < budget-2*least-0.001 {
		t.Errorf("the calls had %v, the first took %v", reserved, failed.Duration)
	}
}

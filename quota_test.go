package agent_test

import (
	"context"
	"math"
	"strings"
	"testing"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/tool"
)

// A quota counts every call of a tree of agents: a child with a model and a quota of its own,
// one in the background, the small model, a compaction, and a fork.
func TestQuotaOfTree(t *testing.T) {
	model := func(id string, rule func(*llmtest.Request, int) llmtest.Step) *llmtest.Model {
		return &llmtest.Model{ID: id, Rule: rule, Facts: llm.Info{Price: &llm.Price{Input: 3, Output: 15}}}
	}
	speak := func(*llmtest.Request, int) llmtest.Step { return say("spoken") }
	mine, own := &quota.Account{Store: quota.Memory(), Key: "mine", USD: 5}, &quota.Account{Store: quota.Memory(), Key: "own", USD: 5}
	helper := &agent.Agent{Name: "helper", Model: model("helper", speak), Quota: own}
	long := tool.New(tool.Spec{Name: "long", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		return tool.Text(strings.Repeat("long ", 500)), nil
	})
	main := model("main", func(r *llmtest.Request, n int) llmtest.Step {
		switch {
		case wantsSummary(&r.Request):
			return say("<summary>All of it.</summary>")
		case n == 0:
			return uses("delegate", "behind", "long")
		}
		return say("an answer")
	})
	a := &agent.Agent{Model: main, SmallModel: model("small", speak), SummarizeOver: 1000, Quota: mine, AwaitAgents: true, Compaction: &agent.Compaction{Keep: 1},
		Permissions: permission.Policy{Mode: permission.Bypass}, Tools: []tool.Tool{delegate(helper, false), delegateAs("behind", helper, true), long}}
	s := a.Session("")
	defer s.Close()
	cost, models := 0.0, map[string]bool{}
	prompt := func(s *agent.Session) {
		t.Helper()
		res, err := s.Prompt(t.Context(), strings.Repeat("words ", 400))
		if err != nil {
			t.Fatal(err)
		}
		cost += *res.CostUSD
		for name := range res.Models {
			models[name] = true
		}
	}
	prompt(s)
	if err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	cost += *s.Result().CostUSD
	fork, err := s.Fork(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	prompt(fork)
	b, err := mine.Balance(t.Context())
	if err != nil || b.Reserved != 0 || math.Abs(b.Spent-cost) > 1e-9 || len(models) != 3 {
		t.Errorf("got %+v, %v, want %v by three of %v", b, err, cost, models)
	}
	if b, err := own.Balance(t.Context()); err != nil || b.Spent != 0 {
		t.Errorf("the child's own quota has %+v, %v", b, err)
	}
}

// nearlySpent returns a session whose first prompt spends most of its budget of 0.0145 USD
// with the fourth of its five answers.
func nearlySpent() *agent.Session {
	m := &llmtest.Model{Facts: llm.Info{Price: &llm.Price{Input: 0.01, Output: 1}}, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n == 4 {
			return say("end")
		}
		s := llmtest.Call(llmtest.Use("", "double", number{n}))
		s.Usage = llm.Usage{Input: 10, Output: 3_000}
		return s
	}}
	return (&agent.Agent{Model: m, MaxTokens: 4000, Tools: []tool.Tool{double}, Budget: agent.Budget{USD: 0.0145}}).Session("")
}

// A run warns once when most of its own budget is spent.
func TestBudgetWarning(t *testing.T) {
	s := nearlySpent()
	defer s.Close()
	var got []event.BudgetWarning
	answers := 0
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case event.AssistantMessage:
			answers++
		case event.BudgetWarning:
			got = append(got, d)
			if answers != 4 {
				t.Errorf("the warning came after %d answers", answers)
			}
		}
	}
	if len(got) != 1 || got[0].LimitUSD != 0.0145 || got[0].SpentUSD < 0.8*0.0145 || got[0].Account != "" {
		t.Errorf("got %+v", got)
	}
}

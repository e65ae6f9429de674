package quota_test

import (
	"math"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/quota"
)

// A host that reports negative tokens does not give back what other calls have spent.
func TestNegativeUsage(t *testing.T) {
	for name, s := range stores(t) {
		account := &quota.Account{Store: s, Key: "ada", USD: 1}
		if err := s.Settle(t.Context(), "ada", "another", 0.5); err != nil {
			t.Fatal(err)
		}
		a := &agent.Agent{MaxTokens: 1000, Quota: account, Model: priced(func(*llmtest.Request, int) llmtest.Step {
			return llmtest.Step{Text: "hi", Usage: llm.Usage{Input: math.MinInt, Output: math.MinInt, CacheRead: math.MinInt}}
		})}
		_, _ = a.Prompt(t.Context(), "go") // such an answer may be refused
		if b, err := account.Balance(t.Context()); err != nil || b.Spent < 0.5 {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

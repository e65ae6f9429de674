package quota_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/tool"
)

// A call that costs nothing fits every account: that of a model at no charge, and one that a
// program makes itself.
func TestFreeCalls(t *testing.T) {
	store := quota.Memory()
	account := &quota.Account{Store: store, Key: "ada", USD: 1}
	model := llmtest.Script(llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three"))
	model.Facts.Price = new(llm.Price)
	a := &agent.Agent{Model: model, Quota: account, Tools: []tool.Tool{tool.Func(tool.Spec{Name: "count", ReadOnly: true},
		func(context.Context, struct{}) (int, error) { return 7, nil })}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Errorf("a prompt: %v", err)
	}
	result, err := a.CallTool(t.Context(), "count", json.RawMessage("{}"))
	if err != nil || result.Text() != "7" {
		t.Errorf("a tool: %v, %v", result, err)
	}
	if b, err := account.Balance(t.Context()); err != nil || b.Spent != 0 || b.Reserved != 0 {
		t.Errorf("the balance is %+v, %v", b, err)
	}
	if err := store.Settle(t.Context(), "ada", "all", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Errorf("a prompt with an account that is used up: %v", err)
	}
	model.Facts.Price = &llm.Price{Output: 1}
	if _, err := a.Prompt(t.Context(), "go"); !errors.Is(err, quota.ErrExhausted) {
		t.Errorf("a prompt that costs something: %v", err)
	}
}

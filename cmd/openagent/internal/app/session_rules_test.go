package app

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A rule of the session answers the question of a tool's author, and not one that is about
// a single call.
func TestSessionRuleForApproval(t *testing.T) {
	fn := func(context.Context, tool.Call, json.RawMessage) (*tool.Result, error) { return tool.Text(""), nil }
	schema := json.RawMessage(`{"type":"object"}`)
	wanted := tool.New(tool.Spec{Name: "pay", ReadOnly: true, Input: schema, NeedsApproval: tool.AskAlways("it pays")}, fn)
	single := tool.New(tool.Spec{Name: "plan", Input: schema}, fn).OnClassify(func(tool.Call, json.RawMessage) tool.Traits {
		return tool.Traits{ConfirmReason: "approve this plan"}
	})
	g := &SessionRules{Agent: &agent.Agent{Tools: []tool.Tool{wanted, single}}, permits: func(permission.Rule) error { return nil }}
	verdict := permission.Decision{Behavior: permission.Asked, Source: policies.FromMode}
	covers := func(name string) bool {
		return g.Covers(t.Context(), tool.Call{Name: name, Input: json.RawMessage(`{}`)}, verdict)
	}
	g.Add("other")
	if covers("pay") {
		t.Error("a rule for another tool answers, since the call only reads")
	}
	g.Add("pay", "plan")
	if !covers("pay") || covers("plan") {
		t.Errorf("pay is covered: %v, plan: %v", covers("pay"), covers("plan"))
	}
}

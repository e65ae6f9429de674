//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/agentserver"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/tool"
)

// A server says in _meta which calls of its tools need approval.
func TestServerWantsApproval(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	for name, meta := range map[string]sdk.Meta{
		"none":    nil,
		"always":  {"openagent/needsApproval": true},
		"never":   {"openagent/needsApproval": false},
		"some":    {"openagent/needsApproval": map[string]any{"description": "it is large", "properties": map[string]any{"n": map[string]any{"minimum": 100}}}},
		"broken":  {"openagent/needsApproval": "yes"},
		"endless": {"openagent/needsApproval": map[string]any{"$ref": "#"}},
	} {
		s.AddTool(&sdk.Tool{Name: name, Meta: meta, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	all, _ := connect(t, map[string]mcp.Config{"s": onNetwork(t, s)})
	found, err := all.Tools(t.Context())
	if err != nil || len(found) != 6 {
		t.Fatalf("%d tools, %v", len(found), err)
	}
	for _, f := range found {
		small, large := toolrun.Approval(f, tool.Call{Input: json.RawMessage(`{"n":5}`)}), toolrun.Approval(f, tool.Call{Input: json.RawMessage(`{"n":500}`)})
		name := strings.TrimPrefix(f.Spec().Name, "mcp__s__")
		wantLarge := map[string]string{"always": "the tool asks for approval", "some": "it is large", "broken": "its server asks for approval in a form that cannot be read", "endless": "its server asks for approval in a form that cannot be read"}[name]
		wantSmall := wantLarge
		if name == "some" {
			wantSmall = ""
		}
		if small != wantSmall || large != wantLarge {
			t.Errorf("%s: %q, %q", name, small, large)
		}
	}
}

// A server that asks nobody does not serve tools that need approval. One of an agent does.
func TestServeToolThatNeedsApproval(t *testing.T) {
	pay := tool.Func(tool.Spec{Name: "pay", NeedsApproval: tool.AskAlways("it pays")}, func(context.Context, struct{}) (string, error) { return "paid", nil })
	if _, err := server.New(server.Options{Name: "s", Tools: []tool.Tool{pay}}); err == nil || !strings.Contains(err.Error(), "agentserver.Tools") {
		t.Errorf("it is served: %v", err)
	}
	s, err := agentserver.Tools(&agent.Agent{Tools: []tool.Tool{pay}}, server.Options{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

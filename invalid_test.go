package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Nobody is asked about invalid input. The model learns what is wrong, in every mode. So a
// person cannot be led to allow all calls of the tool.
func TestInvalidIsNotAsked(t *testing.T) {
	type command struct {
		Command string `json:"command"`
	}
	shell := tool.New(tool.Spec{Name: "shell"}, func(context.Context, tool.Call, command) (*tool.Result, error) {
		return tool.Text("ran"), nil
	}).OnClassify(func(_ tool.Call, in command) tool.Traits {
		return tool.Traits{Access: []permission.Access{{Kind: permission.RunCommand, Target: in.Command}}}
	})
	for _, mode := range policies.Modes {
		asked := 0
		a := &agent.Agent{Tools: []tool.Tool{shell}, Permissions: permission.Policy{Mode: mode},
			CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
				asked++
				return permission.Allow(), nil
			},
			Model: llmtest.Script(llmtest.Call(llmtest.Use("", "shell", map[string]string{"cmd": "ls"})), say("end"))}
		var result event.ToolResult
		for e, err := range a.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := e.Data.(event.ToolResult); ok {
				result = r
			}
		}
		if asked > 0 || result.Fault != toolrun.InvalidInput || !strings.Contains(result.Result.Text(), "command is required") {
			t.Errorf("%s: asked %d times, %+v", mode, asked, result)
		}
	}
	// A hook may repair the input first.
	repaired := pre(hook.Output{Permission: permission.Allowed, Input: []byte(`{"command":"ls"}`)}, nil)
	a := &agent.Agent{Tools: []tool.Tool{shell}, Hooks: []hook.Hook{repaired}, Permissions: bypass,
		Model: llmtest.Script(llmtest.Call(llmtest.Use("", "shell", map[string]string{"cmd": "ls"})), say("end"))}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil || res.Tools["shell"].Calls != 1 || res.Tools["shell"].Failures != 0 {
		t.Errorf("%+v %v", res, err)
	}
}

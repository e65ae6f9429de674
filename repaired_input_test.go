package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

type fileList struct {
	Files []string `json:"files"`
	Force bool     `json:"force,omitempty"`
}

type noSecrets struct{}

func (noSecrets) Decide(r permission.Request) permission.Decision {
	var in fileList
	if json.Unmarshal(r.Input, &in) == nil && strings.Contains(strings.Join(in.Files, " "), "secret") {
		return permission.Deny("secret")
	}
	return permission.Decision{}
}

// Hooks, policies and callbacks see the input that the tool gets, repaired as it is.
func TestJudgesSeeTheRepairedInput(t *testing.T) {
	for name, set := range map[string]func(*agent.Agent){
		"hook": func(a *agent.Agent) {
			a.Hooks = []hook.Hook{{On: hook.PreToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
				var l fileList
				if json.Unmarshal(in.Input, &l) == nil && strings.Contains(strings.Join(l.Files, " "), "secret") {
					return hook.Output{Permission: permission.Denied, Reason: "secret"}, nil
				}
				return hook.Output{}, nil
			}}}
		},
		"policy": func(a *agent.Agent) { a.Deciders = []permission.Decider{noSecrets{}} },
		"callback": func(a *agent.Agent) {
			a.CanUseTool = func(_ context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
				var l fileList
				if json.Unmarshal(c.Input, &l) == nil && strings.Contains(strings.Join(l.Files, " "), "secret") {
					return permission.Deny("secret"), nil
				}
				return permission.Decision{}, nil
			}
		},
	} {
		for _, input := range []string{`{"files":["secret"]}`, `{"files":"[\"secret\"]"}`, `{"files":["secret"],"force":"true"}`} {
			var got []string
			del := tool.New(tool.Spec{Name: "delete"}, func(_ context.Context, _ tool.Call, in fileList) (*tool.Result, error) {
				got = append(got, in.Files...)
				return tool.Text("ok"), nil
			})
			a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llm.ToolUse{ID: "1", Name: "delete", Input: json.RawMessage(input)}), say("end")), Tools: []tool.Tool{del}, Permissions: bypass}
			set(a)
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if len(got) > 0 {
				t.Errorf("%s, input %s: the tool deleted %q", name, input, got)
			}
		}
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// If a hook changes the input of a call, the changed input is asked about, deferred and
// run, also in a batch. The model's input does not run.
func TestChangedInputIsAskedAbout(t *testing.T) {
	change := hook.Hook{On: hook.PreToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
		return hook.Output{Input: json.RawMessage(strings.ReplaceAll(string(in.Input), `"n":0`, `"n":7`))}, nil
	}}
	for name, first := range map[string]llmtest.Step{"call": llmtest.Call(llmtest.Use("", "write", number{0})), "batch": batch("write")} {
		for _, defers := range []bool{false, true} {
			var ran []int
			w := write(func(_ context.Context, _ tool.Call, n int) (*tool.Result, error) {
				ran = append(ran, n)
				return tool.Text("ok"), nil
			})
			asked := ""
			a := &agent.Agent{Model: llmtest.Script(first, say("end")), Tools: []tool.Tool{w, tools.Batch()}, Sessions: session.Memory(), Hooks: []hook.Hook{change},
				Permissions: permission.Policy{Ask: []permission.Rule{"write", "Batch"}},
				CanUseTool: func(_ context.Context, call tool.Call, v permission.Decision) (permission.Decision, error) {
					if v.Behavior != permission.Asked {
						return permission.Decision{}, nil
					}
					asked += string(call.Input)
					if defers {
						return permission.Defer(), nil
					}
					return permission.Allow(), nil
				}}
			s := a.Session("s")
			_, err := s.Prompt(t.Context(), "go")
			for errors.Is(err, agent.ErrSuspended) {
				pending, _ := s.Pending(t.Context())
				for _, q := range pending {
					if err := s.Decide(t.Context(), q.Call.ID, permission.Allow()); err != nil {
						t.Fatal(err)
					}
				}
				err = nil
				for _, failed := range s.Resume(t.Context()) {
					err = errors.Join(err, failed)
				}
			}
			s.Close()
			if err != nil || len(ran) != 1 || ran[0] != 7 || strings.Contains(asked, `"n":0`) {
				t.Errorf("%s, deferred %v: %v ran, want 7; asked about %s; %v", name, defers, ran, asked, err)
			}
		}
	}
}

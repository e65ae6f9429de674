package agent_test

import (
	"context"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// What a host's definition of a child restricts holds for the child.
func TestChildKeepsItsOwnRestrictions(t *testing.T) {
	for name, own := range map[string]permission.Policy{
		"restriction": {Restriction: &permission.Restriction{By: "the host", Only: []permission.Rule{"Read"}}},
		"parents":     permission.Policy{Mode: permission.Bypass}.Within(permission.Policy{Mode: permission.Plan}),
		"deny within": permission.Policy{Mode: permission.Bypass}.Within(permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"Bash(touch *)"}}),
		"private":     {Private: []string{"/keys"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			command := "touch a"
			edits := tool.New(tool.Spec{Name: "Edit"}, func(_ context.Context, _ tool.Call, in line) (*tool.Result, error) {
				ran = append(ran, in.Command)
				return tool.Text("ok"), nil
			}).OnClassify(func(_ tool.Call, in line) tool.Traits {
				return tool.Traits{Access: []permission.Access{{Kind: permission.EditFile, Target: "/keys/a"}}}
			})
			helper := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{command})), say("done")), Permissions: own}
			if name == "private" {
				helper.Model = llmtest.Script(llmtest.Call(llmtest.Use("", "Edit", line{"x"})), say("done"))
			}
			// By itself the agent does not run the command.
			alone := *helper
			if name == "private" {
				alone.Model = llmtest.Script(llmtest.Call(llmtest.Use("", "Edit", line{"x"})), say("done"))
			} else {
				alone.Model = llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{command})), say("done"))
			}
			alone.Permissions.Mode = permission.Bypass
			alone.Tools = []tool.Tool{lines(&ran), edits}
			if _, err := alone.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if len(ran) > 0 {
				t.Fatalf("alone it ran %q", ran)
			}
			a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end")), Permissions: permission.Policy{Mode: permission.Bypass}}
			a.Tools = []tool.Tool{lines(&ran), edits, tool.New(tool.Spec{Name: "delegate"}, func(ctx context.Context, call tool.Call, n number) (*tool.Result, error) {
				p, _ := agent.ParentOf(ctx)
				res, err := p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: "go"}})
				if err != nil {
					return nil, err
				}
				return tool.Text(res.Text), nil
			}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if len(ran) > 0 {
				t.Errorf("as a child it ran %q", ran)
			}
		})
	}
}

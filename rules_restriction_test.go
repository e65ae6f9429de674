package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

func onlyReads() permission.Policy {
	return permission.Policy{Mode: permission.Bypass, Restriction: &permission.Restriction{By: "the host", Only: []permission.Rule{"Read", "delegate"}}}
}

// An agent's own restriction holds after a hook has added a rule, even one that forbids.
func TestRestrictionOutlivesRulesOfHooks(t *testing.T) {
	var ran []string
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch a"})), llmtest.Call(llmtest.Use("", "Bash", line{"touch b"})), say("end")),
		Permissions: onlyReads(), Tools: []tool.Tool{lines(&ran)}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || len(ran) > 0 {
		t.Fatalf("without hooks: %v, ran %q", err, ran)
	}
	a.Model = llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch a"})), llmtest.Call(llmtest.Use("", "Bash", line{"touch b"})), say("end"))
	a.Hooks = []hook.Hook{on(hook.PreToolUse, hook.Output{Updates: []hook.Update{{Type: "addRules", Behavior: permission.Denied, Rules: []permission.Rule{"WebFetch"}}}})}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if len(ran) > 0 {
		t.Errorf("with a hook that denies more: ran %q", strings.Join(ran, "; "))
	}
}

// An agent's own restriction bounds its agents.
func TestRestrictionBoundsAgents(t *testing.T) {
	var ran []string
	helper := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch a"})), say("done"))}
	a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end")), Permissions: onlyReads()}
	a.Tools = []tool.Tool{lines(&ran), tool.New(tool.Spec{Name: "delegate"}, func(ctx context.Context, call tool.Call, n number) (*tool.Result, error) {
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
		t.Errorf("ran %q", ran)
	}
}

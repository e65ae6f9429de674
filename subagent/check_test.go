package subagent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// TestMisconfiguredKinds checks that mistakes in a Manager are told before an agent is started: an
// error for a kind that cannot be, a warning for a misspelt name of a tool.
func TestMisconfiguredKinds(t *testing.T) {
	kind := func(a agent.Agent) subagent.Definition { return subagent.Definition{Agent: &a, Description: "d"} }
	for name, c := range map[string]struct {
		manager    *subagent.Manager
		fail, warn string // part of the error or of the warning; "": none
	}{
		"fine": {manager: &subagent.Manager{Definitions: []subagent.Definition{
			kind(agent.Agent{Name: "reader", AllowedTools: []string{"mine", "its", "Read", "mcp__papers__read"}, Tools: []tool.Tool{nothing("its")}}),
			kind(agent.Agent{Name: "other", Permissions: permission.Policy{Deny: []permission.Rule{"elsewhere", "Bash(rm *)"}}}),
		}}},
		"no agent":   {manager: &subagent.Manager{Definitions: []subagent.Definition{{}}}, fail: "the sub-agent 1 of the Manager has no Agent"},
		"nil agent":  {manager: &subagent.Manager{Agents: []*agent.Agent{nil}}, fail: "the sub-agent 1 of the Manager has no Agent"},
		"no name":    {manager: &subagent.Manager{Definitions: []subagent.Definition{kind(agent.Agent{})}}, fail: "has no name: set Agent.Name"},
		"isolation":  {manager: &subagent.Manager{Definitions: []subagent.Definition{{Agent: &agent.Agent{Name: "reader"}, Isolation: "wortree"}}}, fail: `the sub-agent reader: there is no Isolation "wortree", only "worktree"`},
		"tool":       {manager: &subagent.Manager{Definitions: []subagent.Definition{kind(agent.Agent{Name: "reader", AllowedTools: []string{"mien"}})}}, warn: `the sub-agent reader: AllowedTools: there is no tool "mien"; did you mean mine?`},
		"deny rule":  {manager: &subagent.Manager{Agents: []*agent.Agent{{Name: "reader", Permissions: permission.Policy{Deny: []permission.Rule{"Bsh"}}}}}, warn: `the sub-agent reader: the deny rule Bsh: there is no tool "Bsh"`},
		"allow rule": {manager: &subagent.Manager{Agents: []*agent.Agent{{Name: "reader", Permissions: permission.Policy{Allow: []permission.Rule{"Bsh"}}}}}, warn: `the sub-agent reader: the allow rule Bsh: there is no tool "Bsh"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{
				Model: llmtest.Script(llmtest.Say("ok")), Tools: []tool.Tool{nothing("mine"), tools.Agent(c.manager)},
				Permissions: permission.Policy{KnownTools: []string{"elsewhere"}},
			}
			warnings, err := a.CheckTools(t.Context())
			if c.warn == "" && warnings != nil || c.warn != "" && !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, c.warn) }) {
				t.Errorf("warnings %q, want %q", warnings, c.warn)
			}
			_, prompted := a.Prompt(t.Context(), "Go.")
			for _, err := range []error{err, prompted} {
				if (err == nil) != (c.fail == "") || err != nil && (!errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), c.fail)) {
					t.Errorf("got %v, want %q", err, c.fail)
				}
			}
		})
	}
}

func nothing(name string) tool.Tool {
	return tool.Func(tool.Spec{Name: name}, func(context.Context, struct{}) (string, error) { return "", nil })
}

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A name that nobody knows is an error if it should forbid something, otherwise a warning.
// The first prompt says so too.
func TestNamesOfTools(t *testing.T) {
	nothing := func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }
	rules := func(r ...permission.Rule) []permission.Rule { return r }
	for name, c := range map[string]struct {
		a          agent.Agent
		fail, warn string // parts of the error and of the warning; "": none
	}{
		"nothing named":         {},
		"disallowed":            {a: agent.Agent{DisallowedTools: []string{"Bsah"}}, fail: `DisallowedTools: there is no tool "Bsah"; did you mean Bash?`},
		"allowed":               {a: agent.Agent{AllowedTools: []string{"mine", "mien"}}, fail: `AllowedTools: there is no tool "mien"; did you mean mine?`},
		"deny":                  {a: agent.Agent{Permissions: permission.Policy{Deny: rules("Bsah(rm *)")}}, fail: "the deny rule Bsah(rm *): "},
		"deny, case":            {a: agent.Agent{Permissions: permission.Policy{Deny: rules("bash")}}, fail: "did you mean Bash?"},
		"ask, with its origin":  {a: agent.Agent{Permissions: permission.Policy{Ask: rules("Wirte"), Origins: []permission.Origin{{Behavior: permission.Asked, Rule: "Wirte", From: "rules.json:3"}}}}, fail: "the ask rule Wirte of rules.json:3: "},
		"deny of a parent":      {a: agent.Agent{Permissions: permission.Policy{}.Within(permission.Policy{Deny: rules("Bsah")})}, fail: "the deny rule Bsah"},
		"nothing near":          {a: agent.Agent{DisallowedTools: []string{"billing_report"}}, fail: "if another agent has it, add it to the known tools"},
		"pattern":               {a: agent.Agent{DisallowedTools: []string{"Bsa*"}}, fail: `"Bsa*"`},
		"allow":                 {a: agent.Agent{Permissions: permission.Policy{Allow: rules("Bsah(ls)")}}, warn: "the allow rule Bsah(ls): "},
		"deferred":              {a: agent.Agent{DeferredTools: []string{"Bsah"}}, warn: "DeferredTools: "},
		"restriction":           {a: agent.Agent{Permissions: permission.Policy{Restriction: &permission.Restriction{By: "the host", Only: rules("mine", "Bsah")}}}, warn: "the restriction by the host: "},
		"hook":                  {a: agent.Agent{Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "Write|Bsah", Func: nothing}}}, warn: `the hook for PreToolUse with Match "Write|Bsah": there is no tool "Bsah"`},
		"hook, not of tools":    {a: agent.Agent{Hooks: []hook.Hook{{On: hook.SessionStart, Match: "startup", Func: nothing}}}},
		"hook, expression":      {a: agent.Agent{Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "^Wr.*", Func: nothing}}}},
		"no tool left":          {a: agent.Agent{AllowedTools: []string{"Read"}}, warn: "leave the agent without a tool"},
		"built-in, not here":    {a: agent.Agent{Permissions: permission.Policy{Deny: rules("Bash", "Edit(/tests/**)", "WebFetch(domain:x.example)", "LS", "Task")}}},
		"own tool":              {a: agent.Agent{DisallowedTools: []string{"mine"}, AllowedTools: []string{"other"}}},
		"alias":                 {a: agent.Agent{Permissions: permission.Policy{Deny: rules("also")}}},
		"of a tool set":         {a: agent.Agent{Toolsets: []tool.Set{&growingSet{tools: []tool.Tool{named("later")}}}, Permissions: permission.Policy{Ask: rules("later")}}},
		"of a server":           {a: agent.Agent{Permissions: permission.Policy{Deny: rules("mcp__tickets", "mcp__tickets__delete", "mcp__*")}}},
		"known of other agents": {a: agent.Agent{Permissions: permission.Policy{Deny: rules("billing_report", "crm_delete"), KnownTools: []string{"billing_report", "crm_*"}}}},
		"tool choice":           {a: agent.Agent{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "mien"}}, fail: `ToolChoice names "mien", which is no tool of the agent; did you mean mine?`},
		"tool choice, known":    {a: agent.Agent{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "mine"}}},
		"tool choice, server":   {a: agent.Agent{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "mcp__tickets__open"}}},
		"everything":            {a: agent.Agent{Permissions: permission.Policy{Deny: rules("mine*"), Allow: rules("*")}}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			a := c.a
			a.Model, a.Log = llmtest.Script(say("ok"), say("ok")), slog.New(slog.NewTextHandler(&log, nil))
			a.Tools = []tool.Tool{named("mine"), tool.Func(tool.Spec{Name: "other", Aliases: []string{"also"}}, func(context.Context, number) (string, error) { return "", nil })}
			warnings, err := a.CheckTools(t.Context())
			s := a.Session("")
			defer s.Close()
			_, prompted := s.Prompt(t.Context(), "go")
			if _, again := s.Prompt(t.Context(), "again"); (again == nil) != (c.fail == "") {
				t.Errorf("the next prompt: %v", again)
			}
			for _, err := range []error{err, prompted} {
				if (err == nil) != (c.fail == "") || err != nil && (!errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), c.fail)) {
					t.Errorf("%v, want %q", err, c.fail)
				}
			}
			if got := strings.Join(warnings, "\n"); (got == "") != (c.warn == "") || !strings.Contains(got, c.warn) {
				t.Errorf("the warnings are %q, want %q", got, c.warn)
			}
			if n := strings.Count(log.String(), "a name of a tool has no effect"); n != len(warnings) {
				t.Errorf("%d warnings are in the log, want each of %q once", n, warnings)
			}
		})
	}
}

// The names in a sub-agent's definition are checked when it starts. Those that it inherits
// were checked with its parent.
func TestNamesOfToolsInChildren(t *testing.T) {
	for name, c := range map[string]struct {
		helper agent.Agent
		want   string
	}{
		"inherited":           {},
		"own tools":           {helper: agent.Agent{Tools: []tool.Tool{named("theirs")}, AllowedTools: []string{"theirs"}}},
		"tools of the parent": {helper: agent.Agent{Tools: []tool.Tool{named("theirs")}, DisallowedTools: []string{"mine", "set", "shared"}}},
		"misspelt":            {helper: agent.Agent{DisallowedTools: []string{"mien"}}, want: "did you mean mine?"},
		"misspelt rule":       {helper: agent.Agent{Permissions: permission.Policy{Deny: []permission.Rule{"Bsah"}}}, want: "the deny rule Bsah"},
	} {
		for _, background := range []bool{false, true} {
			helper := c.helper
			helper.Name, helper.Model = "helper", modelNamed("worker", say("done"))
			var failed error
			a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end"), say("end")), AwaitAgents: true, DisallowedTools: []string{"hidden"},
				Tools: []tool.Tool{named("mine"), named("hidden"), delegate(&helper, background, &failed)}, Toolsets: []tool.Set{&growingSet{tools: []tool.Tool{named("set")}}},
				Permissions: permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"hidden", "shared"}, KnownTools: []string{"shared"}}}
			_, err := a.Prompt(t.Context(), "go")
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if ran := len(helper.Model.(*llmtest.Model).Requests()) > 0; ran != (c.want == "") {
				t.Errorf("%s, background %v: the sub-agent ran: %v", name, background, ran)
			}
			if !background && (c.want == "") != (failed == nil) || failed != nil && !strings.Contains(failed.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, failed, c.want)
			}
		}
	}
}

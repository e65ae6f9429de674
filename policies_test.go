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
	"github.com/openagent-go/agent/tool"
)

// A judgeFunc is a judge of one's own.
type judgeFunc func(permission.Request) permission.Decision

func (f judgeFunc) Decide(r permission.Request) permission.Decision { return f(r) }

func judges(d permission.Decision) []permission.Decider {
	return []permission.Decider{judgeFunc(func(permission.Request) permission.Decision { return d })}
}

// Deciders combine with rules, modes, hooks and the callback.
func TestPolicies(t *testing.T) {
	ran := 0
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })
	allow, no := judges(permission.Allow()), judges(permission.Deny("not here"))
	rules := func(mode permission.Mode, deny, ask string) (p permission.Policy) {
		p.Mode = mode
		if deny != "" {
			p.Deny = []permission.Rule{permission.Rule(deny)}
		}
		if ask != "" {
			p.Ask = []permission.Rule{permission.Rule(ask)}
		}
		return p
	}
	yes := answer(permission.Allow())
	for name, test := range map[string]struct {
		agent.Agent
		runs int
	}{
		"denies in mode default":                  {agent.Agent{Deciders: no, CanUseTool: yes}, 0},
		"denies in mode bypassPermissions":        {agent.Agent{Deciders: no, Permissions: bypass, CanUseTool: yes}, 0},
		"denies what a rule allows":               {agent.Agent{Deciders: no, Permissions: permission.Policy{Allow: []permission.Rule{"write"}}}, 0},
		"denies what a hook allows":               {agent.Agent{Deciders: no, Hooks: []hook.Hook{pre(hook.Output{Permission: permission.Allowed}, nil)}}, 0},
		"allows what the mode would ask":          {agent.Agent{Deciders: allow}, 1},
		"allows nothing that a rule denies":       {agent.Agent{Deciders: allow, Permissions: rules("", "write(*)", "")}, 0},
		"allows nothing that a rule asks":         {agent.Agent{Deciders: allow, Permissions: rules("", "", "write")}, 0},
		"allows nothing that waits for a plan":    {agent.Agent{Deciders: allow, Permissions: rules(permission.Plan, "", "")}, 0},
		"allows nothing that a hook blocks":       {agent.Agent{Deciders: allow, Hooks: []hook.Hook{pre(hook.Output{Permission: permission.Denied, Reason: "no"}, nil)}}, 0},
		"allows nothing that dontAsk denies":      {agent.Agent{Deciders: allow, Permissions: rules(permission.DontAsk, "", "")}, 0},
		"allows nothing that the callback denies": {agent.Agent{Deciders: allow, CanUseTool: answer(permission.Deny("no"))}, 0},
		"without an opinion the mode asks":        {agent.Agent{Deciders: judges(permission.Decision{})}, 0},
		"asks in mode bypassPermissions":          {agent.Agent{Deciders: judges(permission.Ask("?")), Permissions: bypass}, 0},
		"asks, and a person says yes":             {agent.Agent{Deciders: judges(permission.Ask("?")), Permissions: bypass, CanUseTool: yes}, 1},
		"asks in mode dontAsk":                    {agent.Agent{Deciders: judges(permission.Ask("?")), Permissions: permission.Policy{Mode: permission.DontAsk, Allow: []permission.Rule{"write"}}, CanUseTool: yes}, 0},
		"panics":                                  {agent.Agent{Permissions: bypass, Deciders: []permission.Decider{judgeFunc(func(permission.Request) permission.Decision { panic("x") })}}, 0},
		"wants another input":                     {agent.Agent{Permissions: bypass, Deciders: judges(permission.AllowWith(json.RawMessage(`{"n":1}`)))}, 0},
		"one of several denies":                   {agent.Agent{Permissions: bypass, Deciders: append(judges(permission.Allow()), permission.DenyList("write"))}, 0},
		"an empty allow list":                     {agent.Agent{Permissions: bypass, Deciders: []permission.Decider{permission.AllowList()}}, 0},
		"an empty deny list":                      {agent.Agent{Permissions: bypass, Deciders: []permission.Decider{permission.DenyList()}}, 1},
		"read-only":                               {agent.Agent{Permissions: bypass, Deciders: []permission.Decider{permission.ReadOnly()}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ran = 0
			a := test.Agent
			a.Model, a.Tools = llmtest.Script(uses("write"), say("end")), []tool.Tool{w}
			res, err := a.Prompt(t.Context(), "go")
			if err != nil {
				t.Fatal(err)
			}
			if ran != test.runs || len(res.Denials) != 1-test.runs {
				t.Fatalf("ran %d times, denials %+v", ran, res.Denials)
			}
		})
	}
}

// Deciders also judge input that a hook or the callback has changed.
func TestPoliciesJudgeChangedInput(t *testing.T) {
	small := judgeFunc(func(r permission.Request) permission.Decision {
		if strings.Contains(string(r.Input), "7") {
			return permission.Deny("seven is too much")
		}
		return permission.Allow()
	})
	seven := permission.AllowWith(json.RawMessage(`{"n":7}`))
	for name, a := range map[string]*agent.Agent{
		"callback":           {CanUseTool: answer(seven)},
		"callback of bypass": {Permissions: bypass, CanUseTool: answer(seven)},
		"hook":               {Hooks: []hook.Hook{pre(hook.Output{Permission: seven.Behavior, Input: seven.Input}, nil)}},
		"answer":             {Permissions: permission.Policy{Ask: []permission.Rule{"write"}}, CanUseTool: answer(seven)},
	} {
		ran := 0
		a.Deciders = []permission.Decider{small}
		a.Model = llmtest.Script(uses("write"), say("end"))
		a.Tools = []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })}
		if _, err := a.Prompt(t.Context(), "go"); err != nil || ran != 0 {
			t.Errorf("%s: ran %d times, %v", name, ran, err)
		}
	}
}

func TestPoliciesHoldNil(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(say("x")), Deciders: []permission.Decider{nil}}
	if _, err := a.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("got %v", err)
	}
}

// A policy that says no when the call starts is heard: what it judges may have
// changed since the call was asked about.
func TestPoliciesAtStart(t *testing.T) {
	ran, asked := 0, 0
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Tools: []tool.Tool{
		write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })}}
	a.Deciders = []permission.Decider{judgeFunc(func(permission.Request) permission.Decision {
		if asked++; asked == 1 {
			return permission.Allow()
		}
		return permission.Deny("not any more")
	})}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || ran != 0 || asked != 2 {
		t.Errorf("ran %d times, asked %d times, %v", ran, asked, err)
	}
}

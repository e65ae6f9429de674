package agent_test

import (
	"context"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The next Session of the same program keeps the mode of the conversation. Another program
// begins with its own mode, unless the old one forbids more.
func TestModeOfNextSession(t *testing.T) {
	for _, c := range []struct {
		left, own   permission.Mode
		first, next string // programs
		want        permission.Mode
	}{
		{permission.AcceptEdits, "", "p", "p", permission.AcceptEdits},
		{permission.Bypass, permission.Default, "p", "p", permission.Bypass},
		{permission.Plan, permission.AcceptEdits, "p", "p", permission.Plan},
		{permission.AcceptEdits, "", "", "", permission.Default},
		{permission.Bypass, "", "p", "q", permission.Default},
		{permission.Bypass, permission.Auto, "p", "", permission.Auto},
		{permission.Plan, "", "", "", permission.Plan},
		{permission.Plan, permission.Bypass, "p", "q", permission.Plan},
		{permission.DontAsk, permission.AcceptEdits, "", "", permission.DontAsk},
		{permission.DontAsk, permission.Plan, "", "", permission.Plan},
	} {
		for _, when := range []string{"while it runs", "at rest"} {
			a := &agent.Agent{Sessions: session.Memory(), Program: c.first, Model: llmtest.Script(uses("set"), say("end"), say("end"))}
			first := a.Session("s")
			set := func() error { return first.SetMode(t.Context(), c.left) }
			a.Tools = []tool.Tool{tool.Func(tool.Spec{Name: "set", ReadOnly: true}, func(context.Context, number) (string, error) { return "", set() })}
			first.Close()
			first = a.Session("s")
			if when == "at rest" {
				a.Tools = nil
			}
			if _, err := first.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if when == "at rest" {
				if err := set(); err != nil {
					t.Fatal(err)
				}
			}
			first.Close()
			later := *a
			later.Program, later.Permissions.Mode = c.next, c.own
			next := later.Session("s")
			mode, err := next.Mode(t.Context())
			if err != nil || mode != c.want {
				t.Errorf("left in %s by %q %s, a session of %q with mode %q says that it has mode %s, want %s; %v", c.left, c.first, when, c.next, c.own, mode, c.want, err)
			}
			for e, err := range next.Stream(t.Context(), "go") {
				if err != nil {
					t.Fatal(err)
				}
				if f, ok := e.Data.(fact.Configured); ok && f.Mode != c.want {
					t.Errorf("left in %s by %q %s, the next prompt of %q begins in %s, want %s", c.left, c.first, when, c.next, f.Mode, c.want)
				}
			}
			next.Close()
		}
	}
}

// A rule allowed for the session stays in its next Session of the same program.
func TestRulesOfNextSession(t *testing.T) {
	for program, want := range map[string]int{"p": 1, "": 0, "q": 0} { // the call that adds the rule is judged without it
		ran := 0
		w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })
		a := &agent.Agent{Sessions: session.Memory(), Program: "p", Model: llmtest.Script(uses("write"), say("end"), uses("write"), say("end")), Tools: []tool.Tool{w},
			Hooks: []hook.Hook{{On: hook.PreToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) {
				return hook.Output{Updates: []hook.Update{{Type: "addRules", Behavior: permission.Allowed, Rules: []permission.Rule{"write"}}}}, nil
			}}}}
		for _, own := range []string{"p", program} {
			a.Program = own
			s := a.Session("s")
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			s.Close()
			a.Hooks = nil
		}
		if ran != want {
			t.Errorf("a later session of program %q: the call ran %d times in all, want %d", program, ran, want)
		}
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// refunds is a tool that needs approval above 100. paid are the amounts that it paid.
func refunds(paid *[]int) *tool.Typed[number] {
	return tool.New(tool.Spec{Name: "refund", NonDestructive: true, NeedsApproval: tool.AskIf(func(in number) string {
		if in.N > 100 {
			return fmt.Sprintf("%d is more than 100", in.N)
		}
		return ""
	})}, func(_ context.Context, _ tool.Call, in number) (*tool.Result, error) {
		*paid = append(*paid, in.N)
		return tool.Text("paid"), nil
	})
}

// refundOf is a call of the tool with an input, which may break the schema.
func refundOf(input string) llmtest.Step {
	return llmtest.Call(llm.ToolUse{ID: "1", Name: "refund", Input: json.RawMessage(input)})
}

// asker approves of what it is asked, and notes the reasons.
func asker(asked *[]string) agent.CanUseToolFunc {
	return func(_ context.Context, call tool.Call, v permission.Decision) (permission.Decision, error) {
		if v.Behavior != permission.Asked {
			return permission.Decision{}, nil
		}
		*asked = append(*asked, v.Reason+" "+string(call.Input))
		return permission.Allow(), nil
	}
}

// The author's wish holds in every mode, for the input that the tool will use, unless a
// rule allows the call.
func TestNeedsApproval(t *testing.T) {
	hooked := func(f func(in *hook.Input) hook.Output) []hook.Hook {
		return []hook.Hook{{On: hook.PreToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) { return f(in), nil }}}
	}
	allow := func(*hook.Input) hook.Output { return hook.Output{Permission: permission.Allowed} }
	raise := func(in *hook.Input) hook.Output {
		return hook.Output{Permission: permission.Allowed, Input: json.RawMessage(`{"n":500}`)}
	}
	lower := func(in *hook.Input) hook.Output {
		return hook.Output{Permission: permission.Allowed, Input: json.RawMessage(`{"n":5}`)}
	}
	rule := []permission.Rule{"refund"}
	for _, c := range []struct {
		name   string
		policy permission.Policy
		input  string
		hooks  []hook.Hook
		judges []permission.Decider
		batch  bool
		asked  bool
		paid   []int
	}{
		{name: "auto", policy: permission.Policy{Mode: permission.Auto}, input: `{"n":500}`, asked: true, paid: []int{500}},
		{name: "auto, less", policy: permission.Policy{Mode: permission.Auto}, input: `{"n":5}`, paid: []int{5}},
		{name: "accept edits", policy: permission.Policy{Mode: permission.AcceptEdits}, input: `{"n":500}`, asked: true, paid: []int{500}},
		{name: "bypass", policy: bypass, input: `{"n":500}`, asked: true, paid: []int{500}},
		{name: "bypass, less", policy: bypass, input: `{"n":5}`, paid: []int{5}},
		{name: "dontAsk", policy: permission.Policy{Mode: permission.DontAsk}, input: `{"n":500}`},
		{name: "dontAsk, a rule", policy: permission.Policy{Mode: permission.DontAsk, Allow: rule}, input: `{"n":500}`, paid: []int{500}},
		{name: "plan", policy: permission.Policy{Mode: permission.Plan, Allow: rule}, input: `{"n":500}`},
		{name: "a rule", policy: permission.Policy{Allow: rule}, input: `{"n":500}`, paid: []int{500}},
		{name: "a rule, bypass", policy: permission.Policy{Mode: permission.Bypass, Allow: rule}, input: `{"n":500}`, paid: []int{500}},
		{name: "a rule denies", policy: permission.Policy{Allow: rule, Deny: rule}, input: `{"n":500}`},
		{name: "a policy allows", judges: []permission.Decider{permission.AllowList("refund")}, input: `{"n":500}`, asked: true, paid: []int{500}},
		{name: "a policy allows less", judges: []permission.Decider{permission.AllowList("refund")}, input: `{"n":5}`, paid: []int{5}},
		{name: "a hook allows", hooks: hooked(allow), input: `{"n":500}`, asked: true, paid: []int{500}},
		{name: "a hook raises", policy: bypass, hooks: hooked(raise), input: `{"n":5}`, asked: true, paid: []int{500}},
		{name: "a hook lowers", hooks: hooked(lower), input: `{"n":500}`, paid: []int{5}},
		{name: "a repaired input", policy: bypass, input: `{"n":"500"}`, asked: true, paid: []int{500}},
		{name: "in a batch", policy: bypass, input: `{"tool_calls":[{"tool":"refund","parameters":{"n":5}},{"tool":"refund","parameters":{"n":500}}]}`, batch: true, asked: true, paid: []int{5, 500}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paid []int
			var asked []string
			step := refundOf(c.input)
			if c.batch {
				step = llmtest.Call(llm.ToolUse{ID: "1", Name: "Batch", Input: json.RawMessage(c.input)})
			}
			a := &agent.Agent{Model: llmtest.Script(step, say("end")), Tools: []tool.Tool{refunds(&paid), tools.Batch()}, Permissions: c.policy, Hooks: c.hooks, Deciders: c.judges, CanUseTool: asker(&asked)}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if slices.Sort(paid); !slices.Equal(paid, c.paid) {
				t.Errorf("paid %v, want %v", paid, c.paid)
			}
			if got := strings.Join(asked, "\n"); strings.Contains(got, "500 is more than 100") != c.asked || len(asked) > 1 {
				t.Errorf("asked %q", got)
			}
		})
	}
}

// A callback that makes an allowed call into one that needs approval is asked about it.
func TestChangedInputNeedsApproval(t *testing.T) {
	var paid []int
	var asked []permission.Behavior
	a := &agent.Agent{Model: llmtest.Script(refundOf(`{"n":5}`), say("end")), Tools: []tool.Tool{refunds(&paid)}, Permissions: bypass,
		CanUseTool: func(_ context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
			asked = append(asked, v.Behavior)
			if v.Behavior == permission.Asked {
				return permission.Deny("too much"), nil
			}
			return permission.AllowWith(json.RawMessage(`{"n":500}`)), nil
		}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || len(paid) > 0 || !slices.Equal(asked, []permission.Behavior{permission.Allowed, permission.Asked}) {
		t.Errorf("paid %v, asked %v, %v", paid, asked, err)
	}
}

// A tool that panics when it is asked needs approval, and so does a call that came to need
// it after it was allowed.
func TestNeedsApprovalFailsClosed(t *testing.T) {
	for name, needs := range map[string]func(tool.Call) string{
		"panics":      func(tool.Call) string { panic("no") },
		"says no why": tool.AskAlways(""),
		"wrong type":  tool.AskIf(func(string) string { return "" }),
	} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			w := tool.New(tool.Spec{Name: "pay", NeedsApproval: needs}, func(context.Context, tool.Call, number) (*tool.Result, error) {
				ran++
				return tool.Text("paid"), nil
			})
			a := &agent.Agent{Model: llmtest.Script(uses("pay"), say("end")), Tools: []tool.Tool{w}, Permissions: bypass}
			res, err := a.Prompt(t.Context(), "go")
			if err != nil || ran > 0 || len(res.Denials) != 1 || !res.Denials[0].Nobody {
				t.Errorf("ran %d times, %+v, %v", ran, res, err)
			}
		})
	}
	classifies := func(tool.Call, number) tool.Traits { panic("no") }
	var paid []int
	a := &agent.Agent{Model: llmtest.Script(refundOf(`{"n":500}`), say("end")), Tools: []tool.Tool{refunds(&paid).OnClassify(classifies)}, Permissions: bypass}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || len(paid) > 0 {
		t.Errorf("a tool whose traits are not known paid %v, %v", paid, err)
	}
}

// The question of a sub-agent's call reaches the callback at the root, also in
// bypassPermissions. A rule of the parent allows it.
func TestAgentNeedsApproval(t *testing.T) {
	for _, rules := range [][]permission.Rule{nil, {"refund"}} {
		var paid []int
		var asked []string
		kind := &agent.Agent{Name: "helper", Model: llmtest.Script(refundOf(`{"n":500}`), say("helped")), Tools: []tool.Tool{refunds(&paid)}}
		a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end")), Tools: []tool.Tool{delegate(kind, false)}, CanUseTool: asker(&asked),
			Permissions: permission.Policy{Mode: permission.Bypass, Allow: rules}}
		if _, err := a.Prompt(t.Context(), "go"); err != nil || len(paid) != 1 || len(asked) != 1-len(rules) {
			t.Errorf("rules %v: paid %v, asked %q, %v", rules, paid, asked, err)
		}
	}
}

// A denial with Interrupt ends the run. It makes no further model request, and the denial is recorded.
// This holds for a callback, for Decide and for a late decision.
func TestDenialInterrupts(t *testing.T) {
	stop := permission.Deny("enough")
	stop.Interrupt = true
	check := func(t *testing.T, model *llmtest.Model, r *agent.Result, paid []int) {
		t.Helper()
		if r == nil || r.Reason != event.Interrupted || len(r.Denials) != 1 || len(model.Requests()) != 1 || len(paid) > 0 {
			t.Errorf("%+v after %d requests, paid %v", r, len(model.Requests()), paid)
		}
	}
	for range 20 {
		var paid []int
		model := llmtest.Script(refundOf(`{"n":500}`), llmtest.Step{Text: "late"})
		a := agent.Agent{Model: model, Tools: []tool.Tool{refunds(&paid)}, CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { return stop, nil }}
		r, _ := a.Session("").Prompt(t.Context(), "go")
		check(t, model, r, paid)
	}
	t.Run("decided", func(t *testing.T) {
		var paid []int
		model := llmtest.Script(refundOf(`{"n":500}`), llmtest.Step{Text: "late"})
		a := agent.Agent{Model: model, Tools: []tool.Tool{refunds(&paid)}, CanUseTool: func(ctx context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Decision{}, ctx.Err()
		}}
		s := a.Session("")
		var got *agent.Result
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				continue
			}
			if q, ok := e.Data.(event.PermissionRequest); ok {
				if err := s.Decide(t.Context(), q.Call.ID, stop); err != nil {
					t.Error(err)
				}
			}
		}
		got = s.Result()
		check(t, model, got, paid)
	})
	t.Run("decided later", func(t *testing.T) {
		var paid []int
		model := llmtest.Script(refundOf(`{"n":500}`), llmtest.Step{Text: "late"})
		a := agent.Agent{Model: model, Tools: []tool.Tool{refunds(&paid)}, CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Defer(), nil
		}}
		s := a.Session("")
		if r, _ := s.Prompt(t.Context(), "go"); r.Reason != event.Suspended {
			t.Fatalf("%+v", r)
		}
		open, err := s.Pending(t.Context())
		if err != nil || len(open) != 1 {
			t.Fatal(open, err)
		}
		if err := s.Decide(t.Context(), open[0].Call.ID, stop); err != nil {
			t.Fatal(err)
		}
		for range s.Resume(t.Context()) {
		}
		check(t, model, s.Result(), paid)
	})
}

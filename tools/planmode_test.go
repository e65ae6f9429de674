package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

func TestPlanModeContract(t *testing.T) {
	enter, exit := PlanMode()
	tooltest.Check(t, enter)
	tooltest.Check(t, exit)
}

func TestPlanModeBefore(t *testing.T) {
	enter, exit := PlanMode()
	_, other := PlanMode()
	plan := tooltest.Input(t, exitPlanModeInput{Plan: "# Do it"})
	for _, c := range []struct{ before, after, elsewhere permission.Mode }{
		{"", permission.Default, permission.Default},
		{permission.Default, permission.Default, permission.Default},
		{permission.AcceptEdits, permission.AcceptEdits, permission.Default},
		{permission.Auto, permission.Auto, permission.Default},
		{permission.Bypass, permission.Bypass, permission.Default},
		{permission.DontAsk, permission.DontAsk, permission.DontAsk},
	} {
		r := tooltest.RunCall(t, enter, tool.Call{Mode: c.before})
		if r.IsError || r.Patch.Mode != permission.Plan {
			t.Fatalf("%s: %+v", c.before, r)
		}
		for tl, want := range map[tool.Tool]permission.Mode{exit: c.after, other: c.elsewhere} {
			call := tool.Call{Mode: permission.Plan, State: r.Patch.State, Input: plan}
			if asks := toolrun.Classify(tl, call).ConfirmReason; !strings.HasSuffix(asks, " "+string(want)) {
				t.Errorf("after %s the question is %q, want the mode %s", c.before, asks, want)
			}
			out := tooltest.RunCall(t, tl, call)
			var d planDetails
			if err := json.Unmarshal(out.Details, &d); err != nil || out.Patch.Mode != want || d.Mode != want || d.Plan != "# Do it" {
				t.Errorf("after %s comes %s with %+v, %v; want %s", c.before, out.Patch.Mode, d, err, want)
			}
		}
	}
	for _, state := range []string{"", "null", "{}", `{"before":"plan"}`, `{"before":"root"}`, `{"before":7}`, `{"before":"bypassPermissions"}`} {
		out := tooltest.RunCall(t, exit, tool.Call{Mode: permission.Plan, State: json.RawMessage(state), Input: plan})
		if out.Patch.Mode != permission.Default {
			t.Errorf("with the state %s comes %s", state, out.Patch.Mode)
		}
	}
}

func TestPlanModeRefusals(t *testing.T) {
	enter, exit := PlanMode()
	for _, c := range []struct {
		tool  tool.Tool
		mode  permission.Mode
		input string
		want  string
		asks  bool
	}{
		{enter, permission.Plan, `{}`, "already", false},
		{exit, permission.Default, `{"plan":"x"}`, "not in plan mode", true},
		{exit, permission.Bypass, `{"plan":"x"}`, "not in plan mode", true},
		{exit, permission.Plan, `{"plan":" \n"}`, "empty", false},
		{exit, permission.Plan, `{}`, "plan", false},
		{exit, permission.Plan, `{"plan":"x","approved":true}`, "approved", false},
		{exit, permission.Plan, `{"plan":"` + strings.Repeat("x", maxPlan+1) + `"}`, "shorter", false},
	} {
		call := tool.Call{Mode: c.mode, Input: json.RawMessage(c.input)}
		r := tooltest.RunCall(t, c.tool, call)
		if !r.IsError || !strings.Contains(r.Text(), c.want) || r.Patch.Mode != "" {
			t.Errorf("%s in %s: %q, mode %s; want an error with %q", c.tool.Spec().Name, c.mode, r.Text(), r.Patch.Mode, c.want)
		}
		if got := toolrun.Classify(c.tool, call).ConfirmReason != ""; got != c.asks {
			t.Errorf("%s in %s %.40s: asks is %v", c.tool.Spec().Name, c.mode, c.input, got)
		}
	}
	if p := exit.(tool.Previewer).Preview(tool.Call{Input: json.RawMessage(`{"plan":"# Do it"}`)}); p != "# Do it" {
		t.Errorf("a person is shown %q", p)
	}
}

package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A call that was approved is judged once more when it starts: by the rules as they are then, by
// the mode, and by what it would do with its final input.
func TestRecheck(t *testing.T) {
	type in struct {
		N int `json:"n"`
	}
	named := func(n int) tool.Traits {
		return tool.Traits{Access: []permission.Access{{Kind: permission.UseName, Target: fmt.Sprint(n)}}}
	}
	for _, c := range []struct {
		name   string
		policy permission.Policy
		mode   permission.Mode
		judged tool.Traits
		input  string
		why    string // "": the call runs
	}{
		{name: "as approved", judged: named(2), input: `{"n":2}`},
		{name: "denied since", policy: permission.Policy{Deny: []permission.Rule{"double(2)"}}, judged: named(2), input: `{"n":2}`, why: "double(2)"},
		{name: "plan mode since", mode: permission.Plan, judged: named(2), input: `{"n":2}`, why: "mode plan"},
		{name: "more than was approved", judged: named(2), input: `{"n":3}`, why: "has changed since it was judged"},
		{name: "more, and a rule allows it", policy: permission.Policy{Allow: []permission.Rule{"double(3)"}}, judged: named(2), input: `{"n":3}`},
	} {
		ran := false
		double := tool.Func(tool.Spec{Name: "double"}, func(context.Context, in) (string, error) { ran = true; return "", nil }).
			OnClassify(func(_ tool.Call, v in) tool.Traits { return named(v.N) })
		s := setting{policy: c.policy, mode: c.mode}
		call := doubling
		call.Input = json.RawMessage(c.input)
		f := executing(t, &s, double).Do(t.Context(), &executor.Input{Effect: engine.RunTool{Call: call.ID, Mode: permission.Default}, Call: call, Class: c.judged, Signals: new(signals)})
		r, ok := f.(event.ToolResult)
		if !ok || ran != (c.why == "") || c.why != "" && (r.Cause != fact.ByDenial || !strings.Contains(r.Result.Text(), c.why)) {
			t.Errorf("%s: ran %v, %+v", c.name, ran, f)
		}
	}
}

// A call does not run on an approval that has ended, or that was for another session.
func TestApprovalsEnd(t *testing.T) {
	for name, j := range map[string]executor.Input{
		"ended":  {Expires: time.Now().Add(-time.Second)},
		"forked": {Foreign: true},
	} {
		ran := false
		s := setting{run: func() (string, error) { ran = true; return "", nil }}
		j.Call = doubling
		f, _ := s.do(t, engine.RunTool{Call: doubling.ID}, j)
		if d, ok := f.(fact.Authorized); ran || !ok || d.Decision.Behavior != permission.Asked {
			t.Errorf("%s: ran %v, %+v", name, ran, f)
		}
	}
	s := setting{callback: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Allow(), nil
	}}
	f, _ := s.do(t, engine.Ask{}, executor.Input{Call: doubling, Verdict: &permission.Decision{Behavior: permission.Asked, Expires: time.Now().Add(-time.Second)}})
	if d := decided(t, f); d.Behavior != permission.Denied || !strings.Contains(d.Reason, "nobody answered") {
		t.Errorf("a question that has expired: %+v", d)
	}
}

// A call that its tool wants asked about in every mode needs a person, or a rule that names it: not
// in the mode that asks nothing either.
func TestRuleAllowsWhatAsks(t *testing.T) {
	for _, c := range []struct {
		mode  permission.Mode
		allow []permission.Rule
		want  permission.Behavior
	}{
		{permission.Bypass, nil, permission.Asked},
		{permission.Bypass, []permission.Rule{"double"}, permission.Allowed},
		{permission.Default, nil, permission.Asked},
		{permission.Default, []permission.Rule{"double"}, permission.Allowed},
		{permission.DontAsk, nil, permission.Denied},
	} {
		always := func(tool.Call) string { return "it schedules a command" }
		double := tool.Func(tool.Spec{Name: "double", NeedsApproval: always}, func(context.Context, struct {
			N int `json:"n"`
		}) (string, error) {
			return "", nil
		})
		s := setting{policy: permission.Policy{Allow: c.allow}}
		f := executing(t, &s, double).Do(t.Context(), &executor.Input{Effect: engine.Authorize{Mode: c.mode}, Call: doubling, Signals: new(signals)})
		if d := decided(t, f); d.Behavior != c.want {
			t.Errorf("mode %s, rules %q: %+v", c.mode, c.allow, d)
		}
	}
}

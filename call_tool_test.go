package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A direct call is judged like a call of the model.
func TestCall(t *testing.T) {
	type input struct {
		Text string `json:"text"`
	}
	seen := ""
	w := tool.New(tool.Spec{Name: "Note"}, func(_ context.Context, _ tool.Call, in input) (*tool.Result, error) {
		seen = in.Text
		return tool.Text("noted " + in.Text), nil
	})
	for _, test := range []struct {
		name   string
		call   string
		policy permission.Policy
		want   string
		isErr  bool
	}{
		{name: "allowed", call: "Note", policy: permission.Policy{Allow: []permission.Rule{"Note"}}, want: "noted hi"},
		{name: "nobody to ask", call: "Note", want: "Permission denied", isErr: true},
		{name: "denied", call: "Note", policy: permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"Note"}}, want: "there is no tool", isErr: true},
		{name: "unknown", call: "Nota", policy: bypass, want: "did you mean Note?", isErr: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen = ""
			a := &agent.Agent{Tools: []tool.Tool{w}, Permissions: test.policy}
			r, err := a.CallTool(t.Context(), test.call, json.RawMessage(`{"text":"hi"}`))
			if err != nil || r == nil || !strings.Contains(r.Text(), test.want) || r.IsError != test.isErr {
				t.Fatalf("%+v %v", r, err)
			}
			if test.isErr != (seen == "") {
				t.Errorf("the tool saw %q", seen)
			}
		})
	}
	if _, err := (&agent.Agent{Tools: []tool.Tool{w}}).CallTool(t.Context(), "Note", json.RawMessage("{")); err == nil {
		t.Error("broken JSON is no error")
	}
}

// asking is a read-only tool whose calls a person has to agree to.
func asking(ran *atomic.Int32) tool.Tool {
	return tool.New(tool.Spec{Name: "Approve", Aliases: []string{"Agree"}, ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		ran.Add(1)
		return tool.Text("ok"), nil
	}).OnClassify(func(tool.Call, number) tool.Traits {
		return tool.Traits{ReadOnly: true, ConfirmReason: "to be approved"}
	})
}

// A call that needs approval is asked about in every mode, unless a rule allows it.
func TestAsks(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy permission.Policy
		answer agent.CanUseToolFunc
		runs   int
	}{
		{name: "nobody"},
		{name: "nobody in bypass", policy: bypass},
		{name: "dontAsk", policy: permission.Policy{Mode: permission.DontAsk}, answer: answer(permission.Allow())},
		{name: "no", policy: bypass, answer: answer(permission.Deny("no"))},
		{name: "yes", answer: answer(permission.Allow()), runs: 1},
		{name: "yes in plan mode", policy: permission.Policy{Mode: permission.Plan}, answer: answer(permission.Allow()), runs: 1},
		{name: "a rule", policy: permission.Policy{Allow: []permission.Rule{"Approve"}}, runs: 1},
		{name: "a rule in bypass", policy: permission.Policy{Mode: permission.Bypass, Allow: []permission.Rule{"Approve"}}, runs: 1},
		{name: "a rule in bypass, under a ceiling", policy: permission.Policy{Mode: permission.Bypass, Allow: []permission.Rule{"Approve"}}.Within(bypass), runs: 1},
		{name: "a rule of the ceiling alone", policy: bypass.Within(permission.Policy{Mode: permission.Bypass, Allow: []permission.Rule{"Approve"}})},
		{name: "a rule in auto", policy: permission.Policy{Mode: permission.Auto, Allow: []permission.Rule{"Approve"}}, runs: 1},
		{name: "a rule that asks in bypass", policy: permission.Policy{Mode: permission.Bypass, Ask: []permission.Rule{"Approve"}, Allow: []permission.Rule{"Approve"}}},
		{name: "a rule for another in bypass", policy: permission.Policy{Mode: permission.Bypass, Allow: []permission.Rule{"Read"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var ran atomic.Int32
			a := agent.Agent{Model: llmtest.Script(uses("Approve"), say("end")), Tools: []tool.Tool{asking(&ran)}, Permissions: test.policy, CanUseTool: test.answer}
			res, err := a.Prompt(t.Context(), "go")
			if err != nil || int(ran.Load()) != test.runs || len(res.Denials) != 1-test.runs {
				t.Errorf("ran %d times, %+v, %v", ran.Load(), res, err)
			}
		})
	}
}

// A tool answers to its other names, whatever their case; a tool of that name
// comes first.
func TestAliases(t *testing.T) {
	var ran atomic.Int32
	other := 0
	script := llmtest.Script(llmtest.Call(llmtest.Use("1", "Agree", number{1}), llmtest.Use("2", "aGREE", number{2})), say("end"))
	a := agent.Agent{Model: script, Tools: []tool.Tool{asking(&ran)}, CanUseTool: answer(permission.Allow())}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || ran.Load() != 2 {
		t.Fatal(ran.Load(), err)
	}
	a.Model = llmtest.Script(uses("Agree"), say("end"))
	a.Tools = append(a.Tools, tool.Func(tool.Spec{Name: "Agree", ReadOnly: true}, func(context.Context, number) (string, error) { other++; return "", nil }))
	if _, err := a.Prompt(t.Context(), "go"); err != nil || ran.Load() != 2 || other != 1 {
		t.Fatal(ran.Load(), other, err)
	}
}

// What a call is told of the mode is the one in force, and what changes only the
// session's own records needs no permission.
func TestInternal(t *testing.T) {
	var mode permission.Mode
	record := tool.New(tool.Spec{Name: "Record"}, func(_ context.Context, c tool.Call, _ number) (*tool.Result, error) {
		mode = c.Mode
		return tool.Text("ok"), nil
	}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{Internal: true} })
	a := agent.Agent{Model: llmtest.Script(uses("Record"), say("end")), Tools: []tool.Tool{record}, Permissions: permission.Policy{Mode: permission.Plan}}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil || len(res.Denials) > 0 || mode != permission.Plan {
		t.Error(res, err, mode)
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

type line struct {
	Command string `json:"command"`
}

// lines is a tool that runs command lines, and notes them.
func lines(ran *[]string) tool.Tool {
	return tool.New(tool.Spec{Name: "Bash"}, func(_ context.Context, _ tool.Call, in line) (*tool.Result, error) {
		*ran = append(*ran, in.Command)
		return tool.Text("ok"), nil
	}).OnClassify(func(_ tool.Call, in line) tool.Traits {
		return tool.Traits{Access: []permission.Access{{Kind: permission.RunCommand, Target: in.Command}}}
	})
}

// Input that a PermissionRequest hook changes is judged as any other.
func TestPermissionRequestHookChangesInput(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy permission.Policy
		input  string
		ran    string
	}{
		{"fine", permission.Policy{}, `{"command":"touch b"}`, "touch b"},
		{"denied", permission.Policy{Deny: []permission.Rule{"Bash(git push *)"}}, `{"command":"git push x"}`, ""},
		{"asked", permission.Policy{Ask: []permission.Rule{"Bash(git push *)"}}, `{"command":"git push x"}`, ""},
		{"no input of the tool", permission.Policy{}, `{"command":7}`, ""},
	} {
		var ran []string
		a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch a"})), say("end")), Permissions: c.policy, Tools: []tool.Tool{lines(&ran)},
			Hooks: []hook.Hook{on(hook.PermissionRequest, hook.Output{Permission: permission.Allowed, Input: json.RawMessage(c.input)})}}
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(c.name, err)
		}
		if got := strings.Join(ran, ";"); got != c.ran {
			t.Errorf("%s: ran %q, want %q", c.name, got, c.ran)
		}
	}
}

// CanUseTool sees calls that a PermissionRequest hook allows, and may deny them.
func TestCanUseToolSeesWhatHooksAllow(t *testing.T) {
	var ran, seen []string
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch a"})), llmtest.Call(llmtest.Use("", "Bash", line{"touch b"})), say("end")), Tools: []tool.Tool{lines(&ran)},
		Hooks: []hook.Hook{on(hook.PermissionRequest, hook.Output{Permission: permission.Allowed})},
		CanUseTool: func(_ context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
			seen = append(seen, string(verdict.Behavior))
			if strings.Contains(string(call.Input), "touch b") {
				return permission.Deny("not b"), nil
			}
			return permission.Decision{}, nil
		}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ran, []string{"touch a"}) || !slices.Equal(seen, []string{"allow", "allow"}) {
		t.Errorf("ran %q, the callback saw %q", ran, seen)
	}
}

// A PermissionRequest hook may end the run, and may say something without deciding.
func TestPermissionRequestHookEndsTheRun(t *testing.T) {
	var ran []string
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch a"})), say("end")), Tools: []tool.Tool{lines(&ran)},
		Hooks: []hook.Hook{on(hook.PermissionRequest, hook.Output{Stop: true, StopReason: "enough", Context: "so"})},
		CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Allow(), nil
		}}
	res, _ := a.Prompt(t.Context(), "go")
	if res == nil || res.Reason != event.HookStopped || len(ran) > 0 {
		t.Errorf("ran %q, %+v", ran, res)
	}
}

// Rules that hooks have added hold for a run that is resumed.
func TestHookRulesAfterResume(t *testing.T) {
	for _, rule := range []permission.Rule{"Bash(touch *)", ""} {
		var ran []string
		store := session.Memory()
		deferring := func(_ context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
			if v.Behavior == permission.Asked {
				return permission.Defer(), nil
			}
			return permission.Decision{}, nil
		}
		var updates []hook.Update
		if rule != "" {
			updates = []hook.Update{{Type: "addRules", Behavior: permission.Denied, Rules: []permission.Rule{rule}}}
		}
		a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"make"}))), Permissions: permission.Policy{}, Sessions: store, Tools: []tool.Tool{lines(&ran)},
			Hooks: []hook.Hook{on(hook.UserPromptSubmit, hook.Output{Updates: updates})}, CanUseTool: deferring}
		s := a.Session("s")
		if res, _ := s.Prompt(t.Context(), "go"); res == nil || res.Reason != event.Suspended {
			t.Fatalf("%+v", res)
		}
		s.Close()
		b := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch x"})), say("end")), Permissions: permission.Policy{Allow: []permission.Rule{"Bash(touch *)"}}, Sessions: store, Tools: []tool.Tool{lines(&ran)}}
		s = b.Session("s")
		pending, err := s.Pending(t.Context())
		if err != nil || len(pending) != 1 {
			t.Fatal(pending, err)
		}
		if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Deny("no")); err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Resume(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		if len(ran) > 0 != (rule == "") {
			t.Errorf("with the rule %q ran %q", rule, ran)
		}
	}
}

// A question about a call whose tool is not there any more can be looked at.
func TestQuestionWithoutTool(t *testing.T) {
	var ran []string
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"make"}))), Sessions: store, Tools: []tool.Tool{lines(&ran)},
		CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Defer(), nil
		}}
	s := a.Session("s")
	if res, _ := s.Prompt(t.Context(), "go"); res == nil || res.Reason != event.Suspended {
		t.Fatalf("%+v", res)
	}
	s.Close()
	b := &agent.Agent{Model: llmtest.Script(say("end")), Sessions: store, Tools: []tool.Tool{double},
		Hooks: []hook.Hook{on(hook.PermissionRequest, hook.Output{Permission: permission.Allowed})},
		CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Allow(), nil
		}}
	s = b.Session("s")
	defer s.Close()
	if pending, err := s.Pending(t.Context()); err != nil || len(pending) != 1 {
		t.Errorf("%+v, %v", pending, err)
	}
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	res := s.Result()
	for _, d := range res.Denials {
		if strings.Contains(d.Reason, "panic") {
			t.Errorf("%+v", d)
		}
	}
	if len(res.Denials) != 1 {
		t.Errorf("%+v", res.Denials)
	}
}

// Nothing of secrets is in the reasons that hosts give.
func TestReasonsWithoutSecrets(t *testing.T) {
	const secret = "hunter2-hunter2"
	for name, set := range map[string]func(a *agent.Agent){
		"policy": func(a *agent.Agent) { a.Deciders = judges(permission.Deny("not with " + secret)) },
		"callback": func(a *agent.Agent) {
			a.CanUseTool = func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
				return permission.Deny("not with " + secret), nil
			}
		},
		"hook": func(a *agent.Agent) {
			a.Hooks = []hook.Hook{on(hook.PreToolUse, hook.Output{Permission: permission.Denied, Reason: "not with " + secret})}
		},
		"hook that is asked": func(a *agent.Agent) {
			a.Hooks = []hook.Hook{on(hook.PermissionRequest, hook.Output{Permission: permission.Denied, Reason: "not with " + secret})}
		},
	} {
		var ran []string
		told := ""
		store := session.Memory()
		a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"make"})), say("end")), Sessions: store, Tools: []tool.Tool{lines(&ran)}, Secrets: []string{secret}}
		set(a)
		a.Hooks = append(a.Hooks, hook.Hook{On: hook.PermissionDenied, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			told = in.Reason
			return hook.Output{}, nil
		}})
		s := a.Session("s")
		res, err := s.Prompt(t.Context(), "go")
		if err != nil || len(res.Denials) != 1 || !strings.Contains(told, "not with") {
			t.Fatalf("%s: %+v, %v, told %q", name, res, err, told)
		}
		s.Close()
		kept, err := json.Marshal(history(t, store, "s"))
		if err != nil || strings.Contains(string(kept)+told+res.Denials[0].Reason, secret) {
			t.Errorf("%s: %s\n%s, %v", name, told, kept, err)
		}
	}
}

// Hooks of what happened before a run went on later are not called again.
func TestHooksOnceUnderReplay(t *testing.T) {
	var ran, called []string
	store := session.Memory()
	var hooks []hook.Hook
	for _, e := range []hook.Event{hook.Setup, hook.SessionStart, hook.UserPromptSubmit, hook.PreToolUse, hook.PostToolUse, hook.PostToolBatch, hook.Stop, hook.SessionEnd} {
		hooks = append(hooks, hook.Hook{On: e, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			called = append(called, string(in.Event))
			return hook.Output{Context: "seen"}, nil
		}})
	}
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"make"})), say("end")), Sessions: store, Tools: []tool.Tool{lines(&ran)}, Hooks: hooks,
		CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Defer(), nil
		}}
	s := a.Session("s")
	if res, _ := s.Prompt(t.Context(), "go"); res == nil || res.Reason != event.Suspended {
		t.Fatalf("%+v", res)
	}
	s.Close()
	if got, want := strings.Join(called, " "), "Setup SessionStart UserPromptSubmit PreToolUse Stop SessionEnd"; got != want {
		t.Errorf("at first %s, want %s", got, want)
	}
	called = nil
	b := *a
	b.CanUseTool = nil
	s = b.Session("s")
	pending, err := s.Pending(t.Context())
	if err != nil || len(pending) != 1 {
		t.Fatal(pending, err)
	}
	if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); err != nil {
		t.Fatal(err)
	}
	if len(called) > 0 {
		t.Errorf("an answer calls %s", called)
	}
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if got, want := strings.Join(called, " "), "SessionStart PostToolUse PostToolBatch Stop SessionEnd"; got != want || len(ran) != 1 {
		t.Errorf("then %s, want %s; ran %q", got, want, ran)
	}
}

// A rule that a hook adds allows nothing where the host does not let it; one that
// denies counts all the same.
func TestHookRulesOfHost(t *testing.T) {
	var ran []string
	updates := []hook.Update{
		{Type: "addRules", Behavior: permission.Allowed, Rules: []permission.Rule{"Bash(touch *)", "Bash(make *)"}},
		{Type: "replaceRules", Behavior: permission.Allowed, Rules: []permission.Rule{"Bash(touch *)", "Bash(make *)"}},
		{Type: "addRules", Behavior: permission.Denied, Rules: []permission.Rule{"Bash(make b)"}},
	}
	a := &agent.Agent{Tools: []tool.Tool{lines(&ran)}, Hooks: []hook.Hook{on(hook.UserPromptSubmit, hook.Output{Updates: updates})},
		Model: llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", line{"touch a"}), llmtest.Use("", "Bash", line{"make a"}), llmtest.Use("", "Bash", line{"make b"})), say("end")),
		AllowRuleGrant: func(r permission.Rule) error {
			if r != "Bash(make *)" {
				return errors.New("not listed")
			}
			return nil
		}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ran, []string{"make a"}) {
		t.Errorf("ran %q", ran)
	}
}

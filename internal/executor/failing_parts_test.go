package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// executing returns an executor with one tool.
func executing(t *testing.T, s *setting, only tool.Tool) *executor.Executor {
	t.Helper()
	set, err := hookrun.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	x := executor.New(executor.Config{Driver: s, Session: "s", Hooks: set, Secrets: secrets.Of(nil, nil, nil), Log: slog.New(slog.DiscardHandler)}, []tool.Tool{only}, nil)
	x.Rules.Store(policies.Compile(s.policy))
	x.Unreadable.Store(policies.Unreadable(s.policy, nil))
	return x
}

// A tool that cannot say what a call does is asked about as one that writes, even if it
// says of itself that it only reads.
func TestClassifyPanics(t *testing.T) {
	double := tool.Func(tool.Spec{Name: "double", ReadOnly: true}, func(context.Context, struct {
		N int `json:"n"`
	}) (string, error) {
		return "", nil
	}).OnClassify(func(tool.Call, struct {
		N int `json:"n"`
	}) tool.Traits {
		panic("oh")
	})
	f := executing(t, new(setting), double).Do(t.Context(), &executor.Input{Effect: engine.Authorize{}, Call: doubling, Signals: new(signals)})
	if d := decided(t, f); d.Behavior != permission.Asked {
		t.Errorf("a call of a tool that panics: %+v", d)
	}
}

// What a hook says is shown without control sequences, and a secret cannot hide behind one.
func TestHooksSayPlainTexts(t *testing.T) {
	s := setting{hooks: hook.Output{Permission: permission.Denied, Reason: "\x1b]0;owned\x07no, hunter2\x1b[0mhunter2"}}
	f, _ := s.do(t, engine.Authorize{}, executor.Input{Call: doubling})
	if d := decided(t, f); d.Reason != "no, ***" {
		t.Errorf("the reason of a hook is %q", d.Reason)
	}
}

// A result is withheld if the run was stopped while a hook was to look at it: the hook may
// have taken something out.
func TestResultWithoutItsHook(t *testing.T) {
	s := new(setting)
	s.onHook = func() { s.cancel() }
	s.hooks = hook.Output{Result: tool.Text("***")}
	done := &fact.ToolDone{Call: "c1", Cause: fact.ByTool, Result: *tool.Text("private")}
	f, _ := s.do(t, engine.RunHooks{Call: "c1"}, executor.Input{Call: doubling, Done: done})
	if r := f.(event.ToolResult).Result; r.Text() == "private" || !r.IsError {
		t.Errorf("the result is on record: %q", r.Text())
	}
}

// A hook that wants a person asked does not lift a rule that denies.
func TestHookAsksAboutWhatIsDenied(t *testing.T) {
	s := setting{policy: permission.Policy{Deny: []permission.Rule{"double"}}, hooks: hook.Output{Permission: permission.Asked}}
	f, _ := s.do(t, engine.Authorize{}, executor.Input{Call: doubling})
	if d := decided(t, f); d.Behavior != permission.Denied || d.Source != policies.FromRule {
		t.Errorf("a call that a rule denies: %+v", d)
	}
}

// An input to which the callback changes a call is judged by the rules.
func TestCallbackChangesInputToDenied(t *testing.T) {
	type in struct {
		N int `json:"n"`
	}
	double := tool.Func(tool.Spec{Name: "double"}, func(context.Context, in) (string, error) { return "", nil }).
		OnClassify(func(_ tool.Call, v in) tool.Traits {
			return tool.Traits{Access: []permission.Access{{Kind: permission.UseName, Target: fmt.Sprint(v.N)}}}
		})
	s := setting{policy: permission.Policy{Allow: []permission.Rule{"double(2)"}, Deny: []permission.Rule{"double(3)"}},
		callback: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Decision{Behavior: permission.Allowed, Input: json.RawMessage(`{"n":3}`)}, nil
		}}
	f := executing(t, &s, double).Do(t.Context(), &executor.Input{Effect: engine.Authorize{}, Call: doubling, Signals: new(signals)})
	if d := decided(t, f); d.Behavior != permission.Denied || d.Source != policies.FromRule {
		t.Errorf("a call whose input became a denied one: %+v", d)
	}
}

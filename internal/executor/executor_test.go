package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// driver is what an executor needs of the driver of a run. A person allows every call.
type driver struct{}

func (driver) CanUseTool() executor.Callback {
	return func(_ context.Context, _ tool.Call, d permission.Decision) (permission.Decision, error) {
		if d.Behavior == permission.Asked {
			d = permission.Decision{Behavior: permission.Allowed}
		}
		return d, nil
	}
}

func (driver) AskTurn(context.Context) (func(), error)            { return func() {}, nil }
func (driver) StrictestMode(mode permission.Mode) permission.Mode { return mode }
func (driver) BoundsCost() bool                                   { return false }
func (driver) SessionTag(context.Context) string                  { return "" }

// signals shows nothing.
type signals struct{ span executor.OpenSpan }

func (*signals) Watched() bool                                     { return false }
func (*signals) Show(event.Signal)                                 {}
func (*signals) Text(string, string, string)                       {}
func (s *signals) OpenSpan(end func(trace.End)) *executor.OpenSpan { return s.span.Begin(end) }

func newExecutor(t *testing.T) *executor.Executor {
	t.Helper()
	hooks, err := hookrun.Compile([]hook.Hook{{On: hook.Stop, Func: func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Block: true, Reason: "go on, hunter2hunter2"}, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	double := tool.Func(tool.Spec{Name: "double", ReadOnly: true}, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		return fmt.Sprintf("%d hunter2hunter2", 2*in.N), nil
	})
	x := executor.New(executor.Config{Driver: driver{}, Session: "s", Hooks: hooks, Secrets: secrets.Of([]string{"hunter2hunter2"}, nil, nil),
		Log: slog.New(slog.DiscardHandler), Summarizes: true, Retry: func(*llm.APIError, int) executor.Retry { return executor.Retry{} },
		AskUser: func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
			return []tool.Answer{{Text: "blue"}}, nil
		},
		Checkpoint: func(context.Context, engine.TakeCheckpoint) (string, error) {
			return "", errors.New("the disk is full of hunter2hunter2")
		}}, []tool.Tool{double}, nil)
	x.Rules.Store(policies.Compile(permission.Policy{}))
	x.Unreadable.Store(policies.Unreadable(permission.Policy{}, nil))
	return x
}

// Each effect is carried out without a session, and is a fact with all that it needs.
func TestEveryEffect(t *testing.T) {
	call := tool.Call{ID: "c1", Name: "double", Input: []byte(`{"n":2}`), Session: "s"}
	model := func(text string) llm.Model { return llmtest.Script(llmtest.Step{Text: text}) }
	done := &fact.ToolDone{Call: "c1", Cause: fact.ByTool, Result: *tool.Text("4"), Digest: "what is it?"}
	asked := &fact.ToolDone{Call: "c1", Result: tool.Result{Questions: []tool.Question{{Text: "Which?"}}}}
	request := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	inputs := []struct {
		effect engine.Effect
		in     executor.Input
		want   func(event.Fact) bool
	}{
		{engine.CallModel{Model: "script"}, executor.Input{Model: model("said"), Request: request}, func(f event.Fact) bool {
			m, ok := f.(event.AssistantMessage)
			return ok && m.Response.Message.Text() == "said"
		}},
		{engine.Authorize{Call: "c1"}, executor.Input{Call: call}, func(f event.Fact) bool {
			a, ok := f.(fact.Authorized)
			return ok && a.Decision.Behavior == permission.Allowed && a.Class.ReadOnly
		}},
		{engine.Ask{Call: "c1"}, executor.Input{Call: call, Verdict: &permission.Decision{Behavior: permission.Asked}}, func(f event.Fact) bool {
			a, ok := f.(fact.Answered)
			return ok && a.Decision.Behavior == permission.Allowed && a.Decision.Source == policies.FromCallback
		}},
		{engine.RunTool{Call: "c1"}, executor.Input{Call: call, Class: tool.Traits{ReadOnly: true}}, func(f event.Fact) bool {
			d, ok := f.(event.ToolResult)
			return ok && d.Result.Text() == "4 ***"
		}},
		{engine.AskPerson{Call: "c1"}, executor.Input{Call: call, Done: asked}, func(f event.Fact) bool {
			a, ok := f.(fact.ToolAmended)
			return ok && a.Result.Text() == "Which?\n> blue"
		}},
		{engine.Digest{Call: "c1", Model: "script"}, executor.Input{Call: call, Done: done, Model: model("a number")}, func(f event.Fact) bool {
			a, ok := f.(fact.ToolAmended)
			return ok && a.Result.Text() == "a number"
		}},
		{engine.Compact{Model: "script"}, executor.Input{Short: new(executor.Summary)}, func(f event.Fact) bool {
			c, ok := f.(event.Compacted)
			return ok && c.Failed == engine.NothingToCompact
		}},
		{engine.Cut{}, executor.Input{Cutting: &engine.TruncationPlan{Cleared: []event.Cleared{{Call: "c1"}}}}, func(f event.Fact) bool {
			c, ok := f.(event.Compacted)
			return ok && c.Failed == "" && len(c.Cleared) == 1
		}},
		{engine.RunHooks{Call: "c1"}, executor.Input{Call: call, Done: done}, func(f event.Fact) bool {
			r, ok := f.(event.ToolResult)
			return ok && r.Result.Text() == "4"
		}},
		{engine.CallHooks{Event: hook.Stop}, executor.Input{Input: &hook.Input{Event: hook.Stop}}, func(f event.Fact) bool {
			h, ok := f.(fact.Hooked)
			return ok && h.Block == "go on, ***"
		}},
		{engine.TakeCheckpoint{Prompt: 1}, executor.Input{}, func(f event.Fact) bool {
			c, ok := f.(fact.Checkpointed)
			return ok && strings.HasSuffix(c.Error, "full of ***")
		}},
		{engine.GatherResults{Call: "c1"}, executor.Input{Call: call, Done: done}, func(f event.Fact) bool {
			r, ok := f.(event.ToolResult)
			return ok && r.Result.Text() == "4"
		}},
		{engine.CheckOutput{}, executor.Input{Answer: &executor.Candidate{Schema: []byte(`{"type":"object"}`), Texts: []string{"It is {}."}}}, func(f event.Fact) bool {
			c, ok := f.(fact.OutputChecked)
			return ok && c.Problem == "" && string(c.Output) == "{}"
		}},
	}
	known := map[string]bool{"engine.Record": true, "engine.Wait": true} // are the driver's
	for _, tt := range inputs {
		name := fmt.Sprintf("%T", tt.effect)
		known[name] = true
		tt.in.Effect, tt.in.Signals = tt.effect, new(signals)
		if f := newExecutor(t).Do(t.Context(), &tt.in); !tt.want(f) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for _, e := range engine.EffectTypes() {
		if name := fmt.Sprintf("%T", e); !known[name] {
			t.Errorf("%s is not carried out here", name)
		}
	}
}

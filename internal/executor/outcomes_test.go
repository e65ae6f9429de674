package executor_test

import (
	"context"
	"encoding/json"
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
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// setting is what an effect is carried out in: who is asked, what hooks say, what tools do.
type setting struct {
	executor.Driver // of whom every method that is not below is out of place
	cancel          context.CancelFunc

	callback   executor.Callback
	turn       error // why nobody can be asked
	hooks      hook.Output
	hookErr    error
	onHook     func() // called by each hook
	ask        func() ([]tool.Answer, error)
	run        func() (string, error)
	checkpoint func() (string, error)
	mode       permission.Mode // that bounds the agent
	policy     permission.Policy
	priced     bool // a skill's model has to have a price
}

func (s *setting) CanUseTool() executor.Callback { return s.callback }

func (s *setting) AskTurn(context.Context) (func(), error) { return func() {}, s.turn }

func (s *setting) StrictestMode(mode permission.Mode) permission.Mode {
	if s.mode != "" {
		return s.mode
	}
	return mode
}

func (s *setting) BoundsCost() bool                  { return s.priced }
func (s *setting) SessionTag(context.Context) string { return "tagged" }

// do carries out an effect.
func (s *setting) do(t *testing.T, e engine.Effect, in executor.Input) (event.Fact, *executor.Input) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.cancel = cancel
	answers := func(context.Context, *hook.Input) (hook.Output, error) {
		if s.onHook != nil {
			s.onHook()
		}
		return s.hooks, s.hookErr
	}
	var list []hook.Hook
	for _, on := range []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure, hook.PermissionRequest, hook.UserPromptSubmit, hook.Stop, hook.PostToolBatch} {
		list = append(list, hook.Hook{On: on, Func: answers})
	}
	set, err := hookrun.Compile(list)
	if err != nil {
		t.Fatal(err)
	}
	double := tool.Func(tool.Spec{Name: "double"}, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		if s.run != nil {
			return s.run()
		}
		return fmt.Sprint(2 * in.N), nil
	})
	c := executor.Config{Driver: s, Session: "s", Hooks: set, Secrets: secrets.Of([]string{"hunter2hunter2"}, nil, nil), Log: slog.New(slog.DiscardHandler),
		Retry: func(_ *llm.APIError, failures int) executor.Retry {
			return executor.Retry{Again: failures == 0, Why: ", said a test"}
		}}
	if s.ask != nil {
		c.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) { return s.ask() }
	}
	if s.checkpoint != nil {
		c.Checkpoint = func(context.Context, engine.TakeCheckpoint) (string, error) { return s.checkpoint() }
	}
	x := executor.New(c, []tool.Tool{double}, nil)
	x.Rules.Store(policies.Compile(s.policy))
	x.Unreadable.Store(policies.Unreadable(s.policy, nil))
	in.Effect, in.Signals = e, new(signals)
	return x.Do(ctx, &in), &in
}

var (
	doubling = tool.Call{ID: "c1", Name: "double", Input: json.RawMessage(`{"n":2}`), Session: "s", Dir: "/w"}
	errOops  = errors.New("oops, hunter2hunter2")
)

// decided is the decision in a fact about a call.
func decided(t *testing.T, f event.Fact) permission.Decision {
	t.Helper()
	switch f := f.(type) {
	case fact.Authorized:
		return f.Decision
	case fact.Answered:
		return f.Decision
	}
	t.Fatalf("the fact is %+v", f)
	return permission.Decision{}
}

// How each call of a model that fails ends: what it is put down to, and whether it is made again.
func TestModelOutcomes(t *testing.T) {
	request := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	api := &llm.APIError{Class: llm.Overloaded, Status: 529, Message: "busy, hunter2hunter2"}
	for _, tt := range []struct {
		name  string
		tries int
		model llm.Model
		class llm.Class
		retry bool
		text  string
	}{
		{"no such model", 0, nil, llmconst.NotFound, false, `no model "m"`},
		{"first failure", 0, llmtest.Script(llmtest.Step{Err: api}), llm.Overloaded, true, "busy, ***, said a test"},
		{"last failure", 1, llmtest.Script(llmtest.Step{Err: api}), llm.Overloaded, false, "said a test"},
		{"no connection", 0, llmtest.Script(llmtest.Step{Err: errOops}), llm.Network, false, "oops, ***"},
		{"cancelled", 0, llmtest.Script(llmtest.Step{Err: fmt.Errorf("calling: %w", context.Canceled)}), llm.Timeout, false, "calling"},
	} {
		f, _ := new(setting).do(t, engine.CallModel{Model: "m", Tries: tt.tries}, executor.Input{Model: tt.model, Request: request})
		failed, ok := f.(event.ModelFailed)
		if !ok || failed.Class != tt.class || failed.Retry != tt.retry || failed.RetryAt.IsZero() == tt.retry || !strings.Contains(failed.Message, tt.text) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

// How a call is judged: by hooks, input, rules, mode, the callback and a guard, in this order.
func TestAuthorizeOutcomes(t *testing.T) {
	deny := func(reason string) executor.Callback {
		return func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Deny(reason), nil
		}
	}
	rules := func(s string) []permission.Rule {
		r, err := permission.ParseRules(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	gone, wrong := doubling, doubling
	gone.Name, wrong.Input = "triple", json.RawMessage(`{"n":"two"}`)
	allowed := permission.Policy{Allow: rules("double")}
	for _, tt := range []struct {
		name   string
		s      setting
		call   tool.Call
		e      engine.Authorize
		want   permission.Behavior
		source permission.Source
		reason string
	}{
		{name: "mode asks", call: doubling, want: permission.Asked, source: policies.FromMode},
		{name: "rule allows", s: setting{policy: allowed}, call: doubling, want: permission.Allowed, source: policies.FromRule},
		{name: "hook allows", s: setting{hooks: hook.Output{Permission: permission.Allowed}}, call: doubling, want: permission.Allowed, source: policies.FromHook},
		{name: "hook denies", s: setting{policy: allowed, hooks: hook.Output{Permission: permission.Denied, Reason: "no, hunter2hunter2"}}, call: doubling, want: permission.Denied, source: policies.FromHook, reason: "no, ***"},
		{name: "hook denies a wrong input", s: setting{hooks: hook.Output{Permission: permission.Denied}}, call: wrong, want: permission.Denied, source: policies.FromHook},
		{name: "hook stops the run", s: setting{policy: allowed, hooks: hook.Output{Stop: true, StopReason: "enough"}}, call: doubling, want: permission.Denied, source: policies.FromHook, reason: "enough"},
		{name: "hook fails", s: setting{policy: allowed, hookErr: errOops}, call: doubling, want: permission.Denied, source: policies.FromHook},
		{name: "tool is gone", s: setting{policy: allowed}, call: gone, want: permission.Denied, source: policies.FromDefault, reason: "triple is not there any more"},
		{name: "callback denies", s: setting{policy: allowed, callback: deny("never, hunter2hunter2")}, call: doubling, want: permission.Denied, source: policies.FromCallback, reason: "never, ***"},
		{name: "callback fails", s: setting{policy: allowed, callback: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Allow(), errOops
		}}, call: doubling, want: permission.Denied, source: policies.FromCallback, reason: "CanUseTool failed: oops, ***"},
		{name: "callback panics", s: setting{policy: allowed, callback: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { panic("oh") }}, call: doubling, want: permission.Denied, source: policies.FromCallback},
		{name: "guarded", s: setting{policy: allowed}, call: doubling, e: engine.Authorize{Guard: "again?"}, want: permission.Asked, source: policies.FromGuard, reason: "again?"},
		{name: "plan mode above", s: setting{mode: permission.Plan}, call: doubling, e: engine.Authorize{Mode: permission.Bypass}, want: permission.Denied, source: policies.FromMode},
	} {
		f, _ := tt.s.do(t, tt.e, executor.Input{Call: tt.call})
		if d := decided(t, f); d.Behavior != tt.want || d.Source != tt.source || !strings.Contains(d.Reason, tt.reason) {
			t.Errorf("%s: %+v", tt.name, d)
		}
	}
	s := setting{policy: allowed, callback: deny("it is asked about input that cannot be read")}
	if f, _ := s.do(t, engine.Authorize{}, executor.Input{Call: wrong}); f.(fact.Authorized).Invalid == "" {
		t.Errorf("a wrong input: %+v", f)
	}
}

// How a question ends: by a hook, a person, nobody, or the end of the run.
func TestAskOutcomes(t *testing.T) {
	person := func(d permission.Decision, err error) executor.Callback {
		return func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { return d, err }
	}
	verdict := &permission.Decision{Behavior: permission.Asked, Source: policies.FromMode, Reason: "it changes something"}
	for _, tt := range []struct {
		name   string
		s      setting
		want   permission.Behavior
		source permission.Source
		reason string
	}{
		{"a person allows", setting{callback: person(permission.Allow(), nil)}, permission.Allowed, policies.FromCallback, ""},
		{"a person denies", setting{callback: person(permission.Deny("not hunter2hunter2"), nil)}, permission.Denied, policies.FromCallback, "not ***"},
		{"a person has no opinion", setting{callback: person(permission.Decision{}, nil)}, permission.Denied, policies.FromDefault, "nobody could be asked"},
		{"nobody is there", setting{}, permission.Denied, policies.FromDefault, "it changes something (nobody could be asked)"},
		{"the callback fails", setting{callback: person(permission.Allow(), errOops)}, permission.Denied, policies.FromCallback, "oops, ***"},
		{"the answer is no JSON", setting{callback: person(permission.Decision{Behavior: permission.Allowed, Input: json.RawMessage("{")}, nil)}, permission.Denied, policies.FromCallback, "not JSON"},
		{"it is deferred", setting{callback: person(permission.Decision{Behavior: permission.Deferred}, nil)}, permission.Deferred, policies.FromCallback, ""},
		{"a hook allows", setting{hooks: hook.Output{Permission: permission.Allowed}}, permission.Allowed, policies.FromHook, ""},
		{"a hook denies", setting{hooks: hook.Output{Permission: permission.Denied, Reason: "no"}, callback: person(permission.Allow(), nil)}, permission.Denied, policies.FromHook, "no"},
	} {
		f, _ := tt.s.do(t, engine.Ask{}, executor.Input{Call: doubling, Verdict: verdict})
		if d := decided(t, f); d.Behavior != tt.want || d.Source != tt.source || !strings.Contains(d.Reason, tt.reason) {
			t.Errorf("%s: %+v", tt.name, d)
		}
	}
	s := &setting{turn: errOops, callback: person(permission.Allow(), nil)}
	if f, _ := s.do(t, engine.Ask{}, executor.Input{Call: doubling, Verdict: verdict}); f != nil {
		t.Errorf("without a turn: %+v", f)
	}
	s = new(setting)
	s.callback = func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		s.cancel()
		return permission.Allow(), nil
	}
	if f, _ := s.do(t, engine.Ask{}, executor.Input{Call: doubling, Verdict: verdict}); f != nil {
		t.Errorf("a question of a run that was stopped is answered: %+v", f)
	}
	s = &setting{hooks: hook.Output{Permission: permission.Denied, Interrupt: true, Reason: "enough"}}
	if _, in := s.do(t, engine.Ask{}, executor.Input{Call: doubling, Verdict: verdict}); len(in.More) != 1 || in.More[0].(fact.Stopped).Reason != event.HookStopped {
		t.Errorf("a hook interrupts: %+v", in.More)
	}
}

// How a call ends.
func TestToolOutcomes(t *testing.T) {
	allowed := permission.Policy{Mode: permission.Bypass}
	run := func(s *setting) (fact.ToolDone, bool) {
		f, _ := s.do(t, engine.RunTool{Call: "c1", Mode: permission.Bypass}, executor.Input{Call: doubling})
		if done, ok := f.(fact.ToolDone); ok {
			return done, true
		}
		r := f.(event.ToolResult)
		return fact.ToolDone{Cause: r.Cause, Fault: r.Fault, Result: r.Result}, false
	}
	var s *setting
	for _, tt := range []struct {
		name  string
		s     *setting
		cause event.Cause
		fault toolrun.Fault
		isErr bool
		text  string
		hooks bool // hooks see it next
	}{
		{"success", &setting{policy: allowed}, fact.ByTool, "", false, "4", true},
		{"error", &setting{policy: allowed, run: func() (string, error) { return "", errOops }}, fact.ByTool, "", true, "oops, ***", true},
		{"panic", &setting{policy: allowed, run: func() (string, error) { panic("oh") }}, fact.ByTool, toolrun.Panicked, true, "oh", true},
		{"cancelled", &setting{policy: allowed, run: func() (string, error) { s.cancel(); return "half", nil }}, fact.ByCancel, "", false, "half", true},
		{"a rule was added", &setting{policy: permission.Policy{Deny: []permission.Rule{"double"}}}, fact.ByDenial, toolrun.Refused, true, "Permission denied", false},
		{"plan mode has begun", &setting{mode: permission.Plan}, fact.ByDenial, toolrun.Refused, true, "Permission denied", false},
	} {
		s = tt.s
		got, hooks := run(s)
		if got.Cause != tt.cause || tt.fault != "" && got.Fault != tt.fault || got.Result.IsError != tt.isErr || !strings.Contains(got.Result.Text(), tt.text) || hooks != tt.hooks {
			t.Errorf("%s: %+v %q, hooks %v", tt.name, got, got.Result.Text(), hooks)
		}
	}
}

// How hooks of a result end: they may say more, take something out, or stop the run. Where the
// run is stopped before they have seen it, nobody sees it.
func TestResultHookOutcomes(t *testing.T) {
	done := &fact.ToolDone{Call: "c1", Cause: fact.ByTool, Result: *tool.Text("4 secrets")}
	after := func(s *setting) (event.ToolResult, []event.Fact) {
		f, in := s.do(t, engine.RunHooks{Call: "c1"}, executor.Input{Call: doubling, Done: done})
		return f.(event.ToolResult), in.More
	}
	if f, more := after(new(setting)); f.Result.Text() != "4 secrets" || f.Stop != "" || len(more) != 0 {
		t.Errorf("nothing to say: %+v, %v", f, more)
	}
	if f, _ := after(&setting{hooks: hook.Output{Result: tool.Text("4")}}); f.Result.Text() != "4" {
		t.Errorf("taken out: %q", f.Result.Text())
	}
	if _, more := after(&setting{hooks: hook.Output{Block: true, Reason: "look again, hunter2hunter2"}}); len(more) != 1 || !strings.Contains(more[0].(event.UserMessage).Message.Text(), "look again, ***") {
		t.Errorf("said to the model: %v", more)
	}
	if f, _ := after(&setting{hooks: hook.Output{Stop: true, StopReason: "enough"}}); f.Stop != "enough" {
		t.Errorf("stopped: %+v", f)
	}
	if _, more := after(&setting{hooks: hook.Output{Title: "Sums"}}); len(more) != 1 || more[0].(event.SessionNamed).Tag != "tagged" {
		t.Errorf("named: %v", more)
	}
}

// How hooks of the conversation end.
func TestHookOutcomes(t *testing.T) {
	fire := func(s *setting, on hook.Event) (fact.Hooked, []event.Fact) {
		f, in := s.do(t, engine.CallHooks{Event: on}, executor.Input{Input: &hook.Input{Event: on}})
		return f.(fact.Hooked), in.More
	}
	if f, more := fire(&setting{hooks: hook.Output{Context: "It rains."}}, hook.UserPromptSubmit); f.Block != "" || len(more) != 1 {
		t.Errorf("context: %+v, %v", f, more)
	}
	for on, want := range map[hook.Event]string{hook.UserPromptSubmit: "no ***", hook.Stop: "no ***", hook.PostToolBatch: ""} {
		f, _ := fire(&setting{hooks: hook.Output{Block: true, Reason: "no hunter2hunter2"}}, on)
		if f.Block != want || on == hook.PostToolBatch && f.Stop != "no ***" {
			t.Errorf("%s blocks: %+v", on, f)
		}
	}
	if f, _ := fire(&setting{hookErr: errOops}, hook.UserPromptSubmit); f.Block == "" {
		t.Errorf("a prompt continued although its hook failed: %+v", f)
	}
	if f, _ := fire(&setting{hooks: hook.Output{Stop: true}}, hook.Stop); f.Stop == "" {
		t.Errorf("stopped: %+v", f)
	}
	if _, more := fire(&setting{hooks: hook.Output{Updates: []hook.Update{{Type: "setMode", Mode: permission.Bypass}}}}, hook.UserPromptSubmit); len(more) != 0 {
		t.Errorf("a hook has set the mode that permits everything: %v", more)
	}
	if _, more := fire(&setting{hooks: hook.Output{Updates: []hook.Update{{Type: "setMode", Mode: permission.Plan}}}}, hook.UserPromptSubmit); len(more) != 1 {
		t.Errorf("a hook cannot set plan mode: %v", more)
	}
}

// How questions of a tool to a person end.
func TestPersonOutcomes(t *testing.T) {
	asked := &fact.ToolDone{Call: "c1", Result: tool.Result{Questions: []tool.Question{{Text: "Which?"}, {Text: "Why?"}}}}
	put := func(s *setting) event.Fact {
		f, _ := s.do(t, engine.AskPerson{Call: "c1"}, executor.Input{Call: doubling, Done: asked})
		return f
	}
	text := func(f event.Fact) string { r := f.(fact.ToolAmended).Result; return r.Text() }
	if f := put(&setting{ask: func() ([]tool.Answer, error) { return []tool.Answer{{Options: []string{"a", "b"}, Text: "c"}}, nil }}); text(f) != "Which?\n> a, b, c\nWhy?\n> (no answer)" {
		t.Errorf("answered: %q", text(f))
	}
	if f := put(new(setting)); len(f.(fact.ToolAmended).Result.Questions) != 2 {
		t.Errorf("nobody is there: %+v", f)
	}
	if f := put(&setting{ask: func() ([]tool.Answer, error) { return nil, errOops }}); !f.(fact.ToolAmended).Result.IsError || !strings.Contains(text(f), "oops, ***") {
		t.Errorf("failed: %q", text(f))
	}
	if f := put(&setting{turn: errOops, ask: func() ([]tool.Answer, error) { return nil, nil }}); f != nil {
		t.Errorf("without a turn: %+v", f)
	}
	s := new(setting)
	s.ask = func() ([]tool.Answer, error) { s.cancel(); return nil, nil }
	if f := put(s); f != nil {
		t.Errorf("cancelled: %+v", f)
	}
}

// How a long result is shortened, and a conversation: where that fails the whole stays.
func TestSummaryOutcomes(t *testing.T) {
	done := &fact.ToolDone{Call: "c1", Result: *tool.Text("a long text"), Digest: "what is it?"}
	for name, tt := range map[string]struct {
		m    llm.Model
		want string
	}{
		"success":  {llmtest.Script(llmtest.Step{Text: "a text"}), "a text"},
		"no model": {nil, "a long text"},
		"error":    {llmtest.Script(llmtest.Step{Err: errOops}), "a long text"},
		"refused":  {llmtest.Script(llmtest.Step{Text: "no", Stop: llm.Refusal}), "a long text"},
		"empty":    {llmtest.Script(llmtest.Step{Text: " "}), "a long text"},
	} {
		f, _ := new(setting).do(t, engine.Digest{Call: "c1", Model: "m"}, executor.Input{Call: doubling, Done: done, Model: tt.m})
		if got := f.(fact.ToolAmended); got.Result.Text() != tt.want || tt.m == nil && got.Model != "" {
			t.Errorf("digest, %s: %q of %q", name, got.Result.Text(), got.Model)
		}
	}
	plan := executor.Summary{Ask: &llm.Request{Messages: []llm.Message{llm.UserText("summarise")}}}
	plan.Until = 3
	compact := func(m llm.Model) event.Fact {
		f, _ := new(setting).do(t, engine.Compact{Model: "m"}, executor.Input{Model: m, Short: &plan})
		return f
	}
	if f := compact(nil).(event.ModelFailed); f.Class != llmconst.NotFound {
		t.Errorf("without a model: %+v", f)
	}
	if f := compact(llmtest.Script(llmtest.Step{Err: errOops})).(event.ModelFailed); f.Class != llm.Network || strings.Contains(f.Message, "hunter2") {
		t.Errorf("failed: %+v", f)
	}
	if f := compact(llmtest.Script(llmtest.Step{Text: "too much", Stop: llmconst.Overflow})).(event.ModelFailed); f.Class != llm.TooLong {
		t.Errorf("too long: %+v", f)
	}
	for why, step := range map[string]llmtest.Step{"refused": {Text: "no", Stop: llm.Refusal}, "cut off": {Text: "<summary>it", Stop: llm.MaxTokens}, "empty": {Text: "<summary></summary>"}} {
		if f := compact(llmtest.Script(step)).(event.Compacted); !strings.Contains(f.Failed, why) || f.Summary != "" {
			t.Errorf("%s: %+v", why, f)
		}
	}
}

// How a checkpoint ends.
func TestCheckpointOutcomes(t *testing.T) {
	take := func(s *setting) event.Fact {
		f, _ := s.do(t, engine.TakeCheckpoint{Prompt: 7}, executor.Input{})
		return f
	}
	if f := take(&setting{checkpoint: func() (string, error) { return "id", nil }}).(fact.Checkpointed); f.ID != "id" || f.Prompt != 7 || f.Error != "" {
		t.Errorf("taken: %+v", f)
	}
	if f := take(&setting{checkpoint: func() (string, error) { return "half", errOops }}).(fact.Checkpointed); f.ID != "" || f.Error != "oops, ***" {
		t.Errorf("failed: %+v", f)
	}
	if f := take(&setting{checkpoint: func() (string, error) { panic("oh") }}).(fact.Checkpointed); f.ID != "" || f.Error == "" {
		t.Errorf("panicked: %+v", f)
	}
	if f := take(new(setting)).(fact.Checkpointed); f.Error == "" {
		t.Errorf("not set: %+v", f)
	}
	s := new(setting)
	s.checkpoint = func() (string, error) { s.cancel(); return "id", nil }
	if f := take(s); f != nil {
		t.Errorf("cancelled: %+v", f)
	}
}

// How the check of an answer ends.
func TestOutputOutcomes(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for name, tt := range map[string]struct {
		c           executor.Candidate
		ok          bool
		out, reason string
	}{
		"success":         {executor.Candidate{Schema: schema, Texts: []string{`{"n":1}`}}, true, `{"n":1}`, ""},
		"second reading":  {executor.Candidate{Schema: schema, Texts: []string{`{"n":1`, `{"n":2}`}}, true, `{"n":2}`, ""},
		"does not fit":    {executor.Candidate{Schema: schema, Texts: []string{`{"n":"one"}`}}, false, "", "n"},
		"no JSON":         {executor.Candidate{Schema: schema, Texts: []string{"one"}}, false, "", "JSON"},
		"schema is wrong": {executor.Candidate{Schema: json.RawMessage("{"), Texts: []string{`{"n":1}`}}, false, "", "schema"},
	} {
		f, _ := new(setting).do(t, engine.CheckOutput{}, executor.Input{Answer: &tt.c})
		got := f.(fact.OutputChecked)
		if (got.Problem == "") != tt.ok || string(got.Output) != tt.out || !strings.Contains(got.Problem, tt.reason) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

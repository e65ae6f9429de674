package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

type number struct {
	N int `json:"n"`
}

// double is a read-only tool.
var double = tool.Func(tool.Spec{Name: "double", ReadOnly: true},
	func(_ context.Context, in number) (int, error) { return 2 * in.N, nil })

// write makes a tool that changes something.
func write(fn func(ctx context.Context, call tool.Call, n int) (*tool.Result, error)) tool.Tool {
	return tool.New(tool.Spec{Name: "write"}, func(ctx context.Context, call tool.Call, in number) (*tool.Result, error) {
		return fn(ctx, call, in.N)
	})
}

func uses(names ...string) llmtest.Step {
	var out []llm.ToolUse
	for i, n := range names {
		out = append(out, llmtest.Use("", n, number{i}))
	}
	return llmtest.Call(out...)
}

func say(text string) llmtest.Step { return llmtest.Step{Text: text} }

var bypass = permission.Policy{Mode: permission.Bypass}

func TestPrompt(t *testing.T) {
	m := llmtest.Script(uses("double", "double"), say("done"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{double}}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if res.Text != "done" || res.Turns != 2 || res.Reason != event.Completed || res.Usage.Input != 20 || res.CostUSD == nil || *res.CostUSD != 0.00004 {
		t.Errorf("got %+v", res)
	}
	last := m.Requests()[1].Messages
	if len(last) != 3 || last[2].Content[1].(llm.ToolResult).Content.Text() != "2" {
		t.Errorf("the second request has %v", last)
	}
}

// collect runs a stream to its end.
func collect(t *testing.T, s *agent.Session, prompt string) ([]event.Event, error) {
	t.Helper()
	var events []event.Event
	for e, err := range s.Stream(t.Context(), prompt) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func TestStream(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(llmtest.Step{Thinking: "hmm", Text: "Hello!"})}
	s := a.Session("")
	defer s.Close()
	stream := s.Stream(t.Context(), "Greet me.")
	var text strings.Builder
	var types []string
	for e, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.TextDelta); ok {
			text.WriteString(d.Text)
			continue
		}
		if _, ok := e.Data.(event.Fact); ok {
			types = append(types, event.Type(e.Data))
		}
	}
	if text.String() != "Hello!" {
		t.Errorf("deltas make %q", text.String())
	}
	if got, want := strings.Join(types, " "), "configured user_message model_start assistant_message run_end"; got != want {
		t.Errorf("facts are %s, want %s", got, want)
	}
	for _, err := range stream {
		if !errors.Is(err, agent.ErrUsed) {
			t.Errorf("ranging twice gives %v", err)
		}
	}
}

// Leaving the loop over a stream cancels the run and waits for its end.
func TestLeave(t *testing.T) {
	ended := false
	hang := write(func(ctx context.Context, _ tool.Call, _ int) (*tool.Result, error) {
		<-ctx.Done()
		ended = true
		return nil, ctx.Err()
	})
	a := &agent.Agent{Model: llmtest.Script(uses("write")), Tools: []tool.Tool{hang}, Permissions: bypass}
	s := a.Session("")
	defer s.Close()
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(event.ToolStart); ok {
			break
		}
	}
	if !ended || s.Result().Reason != event.Interrupted {
		t.Errorf("tool ended: %v, result %+v", ended, s.Result())
	}
}

// A reader that never reads does not slow the run, and misses no fact.
func TestSlowReader(t *testing.T) {
	long := llmtest.Step{Text: strings.Repeat("word ", 2000), Pieces: 2000}
	a := &agent.Agent{Model: llmtest.Script(uses("double"), long), Tools: []tool.Tool{double}}
	s := a.Session("")
	defer s.Close()
	facts, signals := 0, 0
	var text strings.Builder
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if facts == 0 { // the run ends while we look away
			for s.Result() == nil {
				time.Sleep(time.Millisecond)
			}
		}
		switch d := e.Data.(type) {
		case event.Fact:
			facts++
		case event.TextDelta:
			signals++
			text.WriteString(d.Text)
		}
	}
	if facts != 10 || signals > 2 || text.String() != long.Text {
		t.Errorf("%d facts, %d deltas with %d bytes", facts, signals, text.Len())
	}
}

func TestSteerFromInside(t *testing.T) {
	steered := make(chan struct{})
	m := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n == 1 {
			<-steered
		}
		return []llmtest.Step{uses("double"), say("first"), say("second"), say("third")}[n]
	}}
	a := &agent.Agent{Model: m, Tools: []tool.Tool{double}}
	s := a.Session("")
	defer s.Close()
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(event.ToolResult); !ok {
			continue
		}
		if _, err := s.Steer(t.Context(), agent.Input{ID: "s", Text: "look"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.FollowUp(t.Context(), agent.Input{Text: "and then"}); err != nil {
			t.Fatal(err)
		}
		if err := s.SetMode(t.Context(), permission.Plan); err != nil {
			t.Fatal(err)
		}
		close(steered)
	}
	var said []string
	for _, msg := range m.Requests()[len(m.Requests())-1].Messages {
		if text := msg.Text(); msg.Role == llm.User && text != "" {
			said = append(said, text)
		}
	}
	if s.Result().Text != "third" || fmt.Sprint(said) != "[go look and then]" {
		t.Errorf("the user said %v; %+v", said, s.Result())
	}
	if _, err := s.Steer(t.Context(), agent.Input{Text: "late"}); !errors.Is(err, agent.ErrNotRunning) {
		t.Errorf("steering a session at rest gives %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	started := make(chan struct{}, 8)
	hang := tool.New(tool.Spec{Name: "hang", ReadOnly: true}, func(ctx context.Context, _ tool.Call, in number) (*tool.Result, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	m := llmtest.Script(llmtest.Call(llmtest.Use("", "hang", number{1}), llmtest.Use("", "write", number{2})), say("next"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{hang, write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		t.Error("the write ran")
		return tool.Text("x"), nil
	})}, Permissions: bypass}
	s := a.Session("")
	defer s.Close()
	go func() {
		<-started
		s.Steer(t.Context(), agent.Input{ID: "queued", Text: "more"})
		r, err := s.Interrupt(t.Context())
		if err != nil || len(r.Cleared) != 1 || r.Cleared[0] != "queued" {
			t.Errorf("receipt %+v, %v", r, err)
		}
	}()
	res, err := s.Prompt(t.Context(), "go")
	if !errors.Is(err, agent.ErrInterrupted) || res.Reason != event.Interrupted {
		t.Fatalf("got %+v, %v", res, err)
	}
	if res, err := s.Prompt(t.Context(), "again"); err != nil || res.Text != "next" {
		t.Fatalf("got %+v, %v", res, err)
	}
	results := m.Requests()[1].Messages[2].Content
	if a, b := results[0].(llm.ToolResult), results[1].(llm.ToolResult); !a.IsError || !strings.Contains(b.Content.Text(), "not started") {
		t.Errorf("results are %+v", results)
	}
}

// A tool that ignores its context is named and does not hang the session.
func TestStuckTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		started := make(chan struct{})
		stuck := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
			close(started)
			<-free
			return tool.Text("late"), nil
		})
		a := &agent.Agent{Model: llmtest.Script(uses("write")), Tools: []tool.Tool{stuck}, Permissions: bypass}
		s := a.Session("")
		go func() {
			<-started
			s.Interrupt(t.Context())
		}()
		begin := time.Now()
		res, err := s.Prompt(t.Context(), "go")
		if !errors.Is(err, agent.ErrInterrupted) || res == nil {
			t.Errorf("got %+v, %v", res, err)
		}
		if d := time.Since(begin); d > 7*time.Second {
			t.Errorf("took %v", d)
		}
		s.Close()
		close(free)
	})
}

func TestLimits(t *testing.T) {
	endless := &llmtest.Model{Rule: func(r *llmtest.Request, n int) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "double", number{n}))
	}, Facts: llm.Info{Price: &llm.Price{Input: 1, Output: 5}}}
	for _, test := range []struct {
		budget agent.Budget
		reason event.EndReason
	}{
		{agent.Budget{Turns: 3}, event.MaxTurns},
		{agent.Budget{ModelCalls: 4}, event.MaxModelCalls},
		{agent.Budget{USD: 0.01}, event.MaxBudget},
	} {
		t.Run(string(test.reason), func(t *testing.T) {
			a := &agent.Agent{Model: endless, Tools: []tool.Tool{double}, Budget: test.budget}
			res, err := a.Prompt(t.Context(), "go")
			if !errors.Is(err, agent.ErrLimit) || res.Reason != test.reason {
				t.Fatalf("got %+v, %v", res, err)
			}
			if test.budget.USD > 0 && *res.CostUSD > test.budget.USD {
				t.Errorf("spent %v", *res.CostUSD)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		hang := write(func(ctx context.Context, _ tool.Call, _ int) (*tool.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		a := &agent.Agent{Model: llmtest.Script(uses("write")), Tools: []tool.Tool{hang}, Permissions: bypass, Budget: agent.Budget{Time: time.Minute}}
		res, err := a.Prompt(t.Context(), "go")
		if !errors.Is(err, agent.ErrLimit) || res.Reason != event.TimedOut {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestConfiguration(t *testing.T) {
	m := llmtest.Script(say("x"))
	for name, a := range map[string]*agent.Agent{
		"no model":        {},
		"negative budget": {Model: m, Budget: agent.Budget{Turns: -1}},
		"unknown price":   {Model: new(llmtest.Model), Budget: agent.Budget{USD: 1}},
		"bad rule":        {Model: m, Permissions: permission.Policy{Deny: []permission.Rule{"Bash(("}}},
		"bad mode":        {Model: m, Permissions: permission.Policy{Mode: "wild"}},
		"bad hook":        {Model: m, Hooks: []hook.Hook{{On: "Nope", Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}}},
		"bad hook match":  {Model: m, Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "(", Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}}},
	} {
		res, err := a.Prompt(t.Context(), "go")
		if !errors.Is(err, agent.ErrConfig) || res != nil {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if len(m.Requests()) != 0 {
		t.Error("a model was called")
	}
}

func TestRetryAndFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := llmtest.Script(
			llmtest.Fail(&llm.APIError{Class: llm.RateLimit, Status: 429, RetryAfter: 30 * time.Second}),
			llmtest.Step{Text: "half of an answer", CutAfter: 3},
			llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, RetryAfter: -1}),
			llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, RetryAfter: -1}),
		)
		first.ID = "first"
		second := llmtest.Script(say("from the second"))
		second.ID = "second"
		a := &agent.Agent{Model: first, Fallbacks: []llm.Model{first, second}}
		s := a.Session("")
		defer s.Close()
		begin := time.Now()
		var shown strings.Builder
		var failures []event.ModelFailed
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			switch d := e.Data.(type) {
			case event.TextDelta:
				shown.WriteString(d.Text)
			case event.ModelFailed:
				failures = append(failures, d)
				shown.Reset()
			}
		}
		res := s.Result()
		if res.Text != "from the second" || shown.String() != res.Text || len(failures) != 4 {
			t.Errorf("got %+v, shown %q, %d failures", res, shown.String(), len(failures))
		}
		if failures[1].Class != llm.Truncated || failures[1].Partial == "" {
			t.Errorf("the cut stream is %+v", failures[1])
		}
		if d := time.Since(begin); d < 30*time.Second || d > 60*time.Second {
			t.Errorf("took %v", d)
		}
		if _, ok := res.Models["second"]; !ok {
			t.Errorf("spending by model is %v", res.Models)
		}
	})
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		err    error
		reason event.EndReason
		is     error
	}{
		{&llm.APIError{Class: llm.Auth, Status: 401, Message: "bad key", RetryAfter: -1}, event.ModelError, llm.ErrAuth},
		{&llm.APIError{Class: llm.Invalid, Status: 400, RetryAfter: -1}, event.ModelError, agent.ErrModel},
		{&llm.APIError{Class: llm.TooLong, Status: 400, RetryAfter: -1}, event.ContextOverflow, agent.ErrLimit},
		{&llm.APIError{Class: llm.RateLimit, Status: 429, RetryAfter: time.Hour}, event.ModelError, llm.ErrUnavailable},
		{errors.New("odd"), event.ModelError, agent.ErrModel},
	} {
		a := &agent.Agent{Model: llmtest.Script(llmtest.Fail(test.err), say("never"))}
		res, err := a.Prompt(t.Context(), "go")
		var end *agent.EndError
		if !errors.As(err, &end) || !errors.Is(err, test.is) || res == nil || res.Reason != test.reason {
			t.Errorf("%v: got %+v, %v", test.err, res, err)
		}
	}
}

// A denial in mode dontAsk names the mode once.
func TestDontAskReason(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("done")), Tools: []tool.Tool{write(nil)}, Permissions: permission.Policy{Mode: permission.DontAsk}}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil || len(res.Denials) != 1 {
		t.Fatal(res, err)
	}
	if want := "denied in mode dontAsk: write needs permission because write is not known to be read-only; the rule write would allow it"; res.Denials[0].Reason != want {
		t.Errorf("got %q, want %q", res.Denials[0].Reason, want)
	}
}

func TestPermissions(t *testing.T) {
	ran := 0
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })
	for _, test := range []struct {
		name string
		agent.Agent
		runs   int
		denied int
		nobody bool
	}{
		{name: "default, nobody", denied: 1, nobody: true},
		{name: "allow rule", Agent: agent.Agent{Permissions: permission.Policy{Allow: []permission.Rule{"write"}}}, runs: 1},
		{name: "deny beats bypass", Agent: agent.Agent{Permissions: permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"write(*)"}}}, denied: 1},
		{name: "dontAsk", Agent: agent.Agent{Permissions: permission.Policy{Mode: permission.DontAsk}}, denied: 1},
		{name: "callback allows", Agent: agent.Agent{CanUseTool: answer(permission.Allow())}, runs: 1},
		{name: "callback denies in bypass", Agent: agent.Agent{Permissions: bypass, CanUseTool: answer(permission.Deny("no"))}, denied: 1},
		{name: "callback has no opinion", Agent: agent.Agent{CanUseTool: answer(permission.Decision{})}, denied: 1, nobody: true},
		{name: "callback cannot lift plan mode", Agent: agent.Agent{Permissions: permission.Policy{Mode: permission.Plan}, CanUseTool: answer(permission.Allow())}, denied: 1},
		{name: "callback panics", Agent: agent.Agent{CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { panic("x") }}, denied: 1},
		{name: "hook denies", Agent: agent.Agent{Permissions: bypass, Hooks: []hook.Hook{pre(hook.Output{Permission: permission.Denied, Reason: "hook"}, nil)}}, denied: 1},
		{name: "hook allows", Agent: agent.Agent{Hooks: []hook.Hook{pre(hook.Output{Permission: permission.Allowed}, nil)}}, runs: 1},
		{name: "hook fails", Agent: agent.Agent{Permissions: bypass, Hooks: []hook.Hook{pre(hook.Output{}, errors.New("broken"))}}, denied: 1},
		{name: "callback beats no hook", Agent: agent.Agent{CanUseTool: answer(permission.Allow()), Hooks: []hook.Hook{pre(hook.Output{Permission: permission.Denied, Reason: "hook"}, nil)}}, denied: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran = 0
			a := test.Agent
			a.Model, a.Tools = llmtest.Script(uses("write"), say("end")), []tool.Tool{w}
			res, err := a.Prompt(t.Context(), "go")
			if err != nil {
				t.Fatal(err)
			}
			if ran != test.runs || len(res.Denials) != test.denied {
				t.Fatalf("ran %d times, denials %+v", ran, res.Denials)
			}
			if test.denied > 0 && res.Denials[0].Nobody != test.nobody {
				t.Errorf("denial is %+v", res.Denials[0])
			}
		})
	}
}

func answer(d permission.Decision) agent.CanUseToolFunc {
	return func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { return d, nil }
}

func pre(out hook.Output, err error) hook.Hook {
	return hook.Hook{On: hook.PreToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) { return out, err }}
}

// Changed input reaches the tool, and never beats a deny rule.
func TestChangedInput(t *testing.T) {
	var got []string
	run := tool.New(tool.Spec{Name: "Bash"}, func(_ context.Context, call tool.Call, in struct {
		Command string `json:"command"`
	}) (*tool.Result, error) {
		got = append(got, in.Command)
		return tool.Text("ok"), nil
	}).OnClassify(func(_ tool.Call, in struct {
		Command string `json:"command"`
	}) tool.Traits {
		return tool.Traits{Access: []permission.Access{{Kind: permission.RunCommand, Target: in.Command}}}
	})
	for _, input := range []string{`{"command":"make x"}`, `{"command":"rm x"}`} {
		for name, a := range map[string]*agent.Agent{
			"callback": {CanUseTool: answer(permission.AllowWith(json.RawMessage(input)))},
			"hook":     {Permissions: bypass, Hooks: []hook.Hook{pre(hook.Output{Permission: permission.Allowed, Input: json.RawMessage(input)}, nil)}},
		} {
			got = nil
			a.Permissions.Deny = []permission.Rule{"Bash(rm *)"}
			a.Model = llmtest.Script(llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "touch a"})), say("end"))
			a.Tools = []tool.Tool{run}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			want := "[make x]"
			if strings.Contains(input, "rm") {
				want = "[]"
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%s with %s: ran %v, want %v", name, input, got, want)
			}
		}
	}
}

// A question can be answered from elsewhere while the callback still thinks.
func TestDecide(t *testing.T) {
	ran := 0
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Tools: []tool.Tool{
		write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })},
		CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Decision{}, ctx.Err()
		}}
	s := a.Session("")
	defer s.Close()
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if q, ok := e.Data.(event.PermissionRequest); ok {
			p, err := s.Pending(t.Context())
			if err != nil || len(p) != 1 || p[0].Call.ID != q.Call.ID {
				t.Errorf("pending %+v, %v", p, err)
			}
			if err := s.Decide(t.Context(), "c9.9", permission.Allow()); !errors.Is(err, agent.ErrNoQuestion) {
				t.Errorf("deciding about another call gives %v", err)
			}
			if err := s.Decide(t.Context(), q.Call.ID, permission.Allow()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran != 1 || s.Result().Text != "end" {
		t.Errorf("ran %d times, %+v", ran, s.Result())
	}
}

// A deferred question suspends the run; another process resumes it.
func TestDefer(t *testing.T) {
	ran := 0
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Sessions: store, CanUseTool: answer(permission.Defer()),
		Tools: []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })}}
	s := a.Session("")
	res, err := s.Prompt(t.Context(), "go")
	if !errors.Is(err, agent.ErrSuspended) || res.Reason != event.Suspended {
		t.Fatalf("got %+v, %v", res, err)
	}
	s.Close()
	a.CanUseTool = answer(permission.Allow())
	again := a.Session(s.ID)
	defer again.Close()
	if open, err := again.CanResume(t.Context()); !open || err != nil {
		t.Errorf("open %v, %v", open, err)
	}
	for _, err := range again.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if ran != 1 || again.Result().Text != "end" {
		t.Errorf("ran %d times, %+v", ran, again.Result())
	}
	for _, err := range again.Resume(t.Context()) {
		if !errors.Is(err, agent.ErrNotResumable) {
			t.Errorf("resuming an ended run gives %v", err)
		}
	}
}

func TestHooks(t *testing.T) {
	var order []string
	watch := func(name string, on hook.Event, match string, out hook.Output) hook.Hook {
		return hook.Hook{On: on, Match: match, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			order = append(order, name)
			return out, nil
		}}
	}
	m := llmtest.Script(uses("double"), say("end"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{double}, Hooks: []hook.Hook{
		watch("a", hook.PreToolUse, "dou.*", hook.Output{}),
		watch("b", hook.PreToolUse, "oubl", hook.Output{}), // the whole name is matched
		watch("c", hook.PostToolUse, "", hook.Output{Result: tool.Text("rewritten")}),
		{On: hook.PostToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) { panic("x") }},
	}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(order) != "[a c]" {
		t.Errorf("called %v", order)
	}
	if got := m.Requests()[1].Messages[2].Content[0].(llm.ToolResult).Content.Text(); got != "rewritten" {
		t.Errorf("the model sees %q", got)
	}
	a = &agent.Agent{Model: llmtest.Script(uses("double")), Tools: []tool.Tool{double}, Hooks: []hook.Hook{watch("s", hook.PostToolUse, "", hook.Output{Stop: true, StopReason: "enough"})}}
	if res, err := a.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrStopped) || res.Message != "enough" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestPool(t *testing.T) {
	named := func(name, text string) tool.Tool {
		return tool.Func(tool.Spec{Name: name, Aliases: []string{"also-" + name}, ReadOnly: true, Description: text}, func(context.Context, struct{}) (string, error) { return text, nil })
	}
	a := &agent.Agent{Tools: []tool.Tool{named("a", "built-in"), named("b", "built-in"), named("a", "custom")},
		Toolsets: []tool.Set{set{named("b", "external"), named("c", "external")}}}
	show := func() string {
		pool, err := a.ResolveTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, p := range pool {
			out = append(out, p.Spec().Name+":"+p.Spec().Description)
		}
		return strings.Join(out, " ")
	}
	for _, test := range []struct {
		allow, deny []string
		rule        permission.Rule
		want        string
	}{
		{want: "a:custom b:external c:external"},
		{allow: []string{"b", "a"}, want: "a:custom b:external"},
		{allow: []string{"a", "b"}, deny: []string{"a"}, want: "b:external"},
		{allow: []string{"nope"}, want: ""},
		{allow: []string{"*"}, deny: []string{"c*"}, want: "a:custom b:external"},
		{allow: []string{"also-b"}, want: "b:external"},
		{deny: []string{"also-b"}, want: "a:custom c:external"},
		{rule: "c", want: "a:custom b:external"},
	} {
		a.AllowedTools, a.DisallowedTools, a.Permissions.Deny = test.allow, test.deny, nil
		if test.rule != "" {
			a.Permissions.Deny = []permission.Rule{test.rule}
		}
		if got := show(); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

type set []tool.Tool

func (s set) Tools(context.Context) ([]tool.Tool, error) { return s, nil }

// Secrets never get into a result, and so not into the journal.
func TestSecrets(t *testing.T) {
	t.Setenv("SOME_API_KEY", "sk-very-secret-value")
	leak := tool.Func(tool.Spec{Name: "leak", ReadOnly: true}, func(context.Context, struct{}) (string, error) {
		return "key sk-very-secret-value and given-secret here", nil
	})
	m := llmtest.Script(llmtest.Call(llmtest.Use("", "leak", struct{}{})), say("end"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{leak}, Secrets: []string{"given-secret"}}
	s := a.Session("")
	defer s.Close()
	events, err := collect(t, s, "go")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(events)
	if strings.Contains(string(data), "secret-value") || strings.Contains(string(data), "given-secret") {
		t.Errorf("a secret is in %s", data)
	}
	if got := m.Requests()[1].Messages[2].Content[0].(llm.ToolResult).Content.Text(); got != "key *** and *** here" {
		t.Errorf("the model sees %q", got)
	}
}

func TestSessions(t *testing.T) {
	m := llmtest.Script(say("A"), say("B"), say("C"), say("D"))
	a := &agent.Agent{Model: m, Sessions: session.Memory()}
	s := a.Session("order-42")
	if _, err := s.Prompt(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Session("order-42").Prompt(t.Context(), "two"); !errors.Is(err, session.ErrBusy) || !errors.Is(err, agent.ErrBusy) {
		t.Errorf("a second writer gets %v", err)
	}
	s.Close()
	s = a.Session("order-42")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), 5) // the first exchange
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	if _, err := fork.Prompt(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	if n := len(m.Requests()[2].Messages); n != 3 {
		t.Errorf("the fork has %d messages", n)
	}
	if err := s.Rewind(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Prompt(t.Context(), "four"); err != nil || res.Text != "D" {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := m.Requests()[3].Messages; len(got) != 3 || got[2].Text() != "four" {
		t.Errorf("after rewinding the request has %v", got)
	}
	s.Close()
	again := a.Session("order-42")
	defer again.Close()
	if ms, err := again.Messages(t.Context()); err != nil || len(ms) != 4 {
		t.Errorf("%v, %v", ms, err)
	}
}

// An input that is sent twice counts once.
func TestKnownInput(t *testing.T) {
	m := llmtest.Script(say("A"), say("B"))
	s := (&agent.Agent{Model: m}).Session("")
	defer s.Close()
	for range 2 {
		res, err := s.Do(t.Context(), agent.Input{ID: "x", Text: "go"})
		if err != nil || res.Text != "A" {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if len(m.Requests()) != 1 {
		t.Errorf("%d requests", len(m.Requests()))
	}
}

// A background command's end reaches the model, once, before the run ends.
func TestNotices(t *testing.T) {
	n := &noticing{Tool: double}
	m := &llmtest.Model{Rule: func(_ *llmtest.Request, i int) llmtest.Step {
		if i == 0 {
			n.notice("job 1 ended")
			return say("done?")
		}
		return say("done")
	}}
	s := (&agent.Agent{Model: m, Tools: []tool.Tool{n}}).Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if s.Result().Text != "done" || m.Requests()[1].Messages[2].Text() != "job 1 ended" {
		t.Errorf("%+v", s.Result())
	}
}

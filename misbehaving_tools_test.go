package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

func ends(t *testing.T, what string, d time.Duration, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s hangs", what)
	}
}

func classified(fn func()) tool.Tool {
	return tool.Func(tool.Spec{Name: "x"}, func(context.Context, number) (string, error) { return "ok", nil }).
		OnClassify(func(tool.Call, number) tool.Traits { fn(); return tool.Traits{} })
}

func TestAdverseGoexitClassify(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(uses("x"), say("end")), Permissions: bypass, Tools: []tool.Tool{classified(runtime.Goexit)}}
	s := a.Session("")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { time.Sleep(time.Second); cancel() }()
	ends(t, "prompt", 12*time.Second, func() { s.Prompt(ctx, "go") })
	ends(t, "interrupt", 3*time.Second, func() { s.Interrupt(t.Context()) })
	ends(t, "close", 3*time.Second, func() { s.Close() })
}

func TestAdverseBlockClassify(t *testing.T) {
	free := make(chan struct{})
	a := &agent.Agent{Model: llmtest.Script(uses("x"), say("end")), Permissions: bypass, Tools: []tool.Tool{classified(func() { <-free })}}
	s := a.Session("")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { time.Sleep(time.Second); cancel() }()
	ends(t, "prompt", 12*time.Second, func() { s.Prompt(ctx, "go") })
	ends(t, "close", 8*time.Second, func() { s.Close() })
	close(free)
}

type newsy struct {
	tool.Tool
	fn func() []string
}

func (n newsy) Notices(string) []string { return n.fn() }

func TestAdverseNotices(t *testing.T) {
	free := make(chan struct{})
	for name, fn := range map[string]func(){"panic": func() { panic("boo") }, "goexit": runtime.Goexit, "block": func() { <-free }} {
		a := &agent.Agent{Model: llmtest.Script(uses("double"), say("end")), Permissions: bypass, Log: slog.New(slog.DiscardHandler),
			Tools: []tool.Tool{newsy{double, func() []string { fn(); return nil }}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		ends(t, name, 10*time.Second, func() { a.Prompt(ctx, "go") })
		cancel()
	}
	close(free)
}

// Interrupt while an earlier run is being closed.
func TestAdverseInterruptWhileClosingEarlier(t *testing.T) {
	store := session.Memory()
	entered, free := make(chan struct{}, 10), make(chan struct{})
	var block atomic.Bool
	watch := hook.Hook{On: hook.PostToolUse, Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
		if block.Load() {
			entered <- struct{}{}
			<-free
		}
		return hook.Output{}, nil
	}}
	var calls atomic.Int64
	m := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		calls.Add(1)
		if n == 0 {
			return uses("double")
		}
		return say("end")
	}}
	a := &agent.Agent{Model: m, Permissions: bypass, Tools: []tool.Tool{double}, Hooks: []hook.Hook{watch}, Sessions: store}
	s := a.Session("s")
	var seq int64
	for e, err := range s.Stream(t.Context(), "one") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(fact.ToolDone); ok {
			seq = e.Seq
		}
	}
	before := calls.Load()
	f, err := s.Fork(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
	block.Store(true)
	type out struct {
		r   *agent.Result
		err error
	}
	done := make(chan out, 1)
	go func() { r, err := f.Prompt(t.Context(), "two"); done <- out{r, err} }()
	<-entered
	ends(t, "interrupt", 3*time.Second, func() { f.Interrupt(t.Context()) })
	block.Store(false)
	close(free)
	o := <-done
	if !errors.Is(o.err, agent.ErrInterrupted) {
		t.Errorf("Interrupt said yes, and the prompt went on: %v, %d model calls", o.err, calls.Load()-before)
	}
}

func TestAdverseSetModelOnFallback(t *testing.T) {
	first := &llmtest.Model{ID: "first", Rule: func(*llmtest.Request, int) llmtest.Step {
		return llmtest.Fail(&llm.APIError{Class: llmconst.NotFound, Message: "no", RetryAfter: -1})
	}}
	var s *agent.Session
	third := &llmtest.Model{ID: "third", Rule: func(*llmtest.Request, int) llmtest.Step { return say("by third") }}
	second := &llmtest.Model{ID: "second", Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n == 0 {
			if err := s.SetModel(context.Background(), third); err != nil {
				t.Error(err)
			}
			return uses("double")
		}
		return say("by second")
	}}
	a := &agent.Agent{Model: first, Fallbacks: []llm.Model{second}, Permissions: bypass, Tools: []tool.Tool{double}}
	s = a.Session("")
	defer s.Close()
	r, err := s.Prompt(t.Context(), "go")
	if err != nil || r.Text != "by third" {
		t.Errorf("%+v %v", r, err)
	}
}

// A question that was withdrawn for another one.
func TestAdverseWithdrawn(t *testing.T) {
	asker := tool.New(tool.Spec{Name: "asker", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		time.Sleep(200 * time.Millisecond)
		r := tool.Text("q")
		r.Questions = []tool.Question{{Text: "which?"}}
		return r, nil
	})
	ran := 0
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("w"), nil })
	var asked, cancelled atomic.Int64
	a := &agent.Agent{Model: llmtest.Script(uses("asker", "write"), say("end")), Tools: []tool.Tool{asker, w},
		AskUser: func(ctx context.Context, c tool.Call, q []tool.Question) ([]tool.Answer, error) {
			time.Sleep(300 * time.Millisecond)
			return []tool.Answer{{Text: "this"}}, nil
		},
		CanUseTool: func(ctx context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
			if v.Behavior != permission.Asked {
				return permission.Decision{}, nil
			}
			asked.Add(1)
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return permission.Decision{}, ctx.Err()
			case <-time.After(400 * time.Millisecond): // a person takes a while
			}
			return permission.Allow(), nil
		}}
	shown := 0
	for e, err := range a.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(event.PermissionRequest); ok {
			shown++
		}
	}
	if asked.Load() > 1 || shown > 1 {
		t.Error("one question was put to the person twice")
	}
}

func TestAdverseResultOfAnother(t *testing.T) {
	m := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		return say(r.Messages[len(r.Messages)-1].Text())
	}}
	a := &agent.Agent{Model: m}
	s := a.Session("")
	defer s.Close()
	var wg sync.WaitGroup
	var wrong, n atomic.Int64
	stop := time.Now().Add(4 * time.Second)
	for g := range 8 {
		wg.Go(func() {
			for i := 0; time.Now().Before(stop) && i < 3000; i++ {
				text := fmt.Sprint(g, "-", i)
				r, err := s.Prompt(t.Context(), text)
				if errors.Is(err, agent.ErrBusy) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
				if r.Text != text {
					wrong.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if wrong.Load() > 0 {
		t.Error("wrong results")
	}
}

func TestAdverseInputMutated(t *testing.T) {
	m := llmtest.Script(uses("m"), say("end"))
	mut := tool.Raw(tool.Spec{Name: "m", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, func(_ context.Context, c tool.Call) (*tool.Result, error) {
		for i := range c.Input {
			c.Input[i] = 'X'
		}
		return tool.Text("ok"), nil
	})
	a := &agent.Agent{Model: m, Permissions: bypass, Tools: []tool.Tool{mut}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	got := m.Requests()[1].Messages[1].ToolUses()[0].Input
	if strings.Contains(string(got), "X") {
		t.Errorf("the conversation says now %s", got)
	}
}

func TestAdverseSharedResult(t *testing.T) {
	r := tool.Text("one")
	n := 0
	mut := tool.Func(tool.Spec{Name: "m"}, func(context.Context, number) (*tool.Result, error) {
		n++
		r.Content[0] = llm.Text{Text: fmt.Sprint("call ", n)}
		return r, nil
	})
	m := llmtest.Script(uses("m"), uses("m"), say("end"))
	a := &agent.Agent{Model: m, Permissions: bypass, Tools: []tool.Tool{mut}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	first := m.Requests()[2].Messages[2].Content[0].(llm.ToolResult).Content.Text()
	if first != "call 1" {
		t.Errorf("the first result says now %q", first)
	}
}

type r2keyed struct {
	*llmtest.Model
	key string
}

func (k r2keyed) Secrets() []string { return []string{k.key} }

func TestAdverseSecretOfSetModel(t *testing.T) {
	var s *agent.Session
	leak := tool.Func(tool.Spec{Name: "leak"}, func(context.Context, number) (string, error) { return "the key is sk-verysecretvalue", nil })
	second := r2keyed{&llmtest.Model{ID: "second", Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n == 0 {
			return uses("leak")
		}
		return say("end")
	}}, "sk-verysecretvalue"}
	first := &llmtest.Model{ID: "first", Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		s.SetModel(context.Background(), second)
		return uses("double")
	}}
	a := &agent.Agent{Model: first, Permissions: bypass, Tools: []tool.Tool{leak, double}}
	s = a.Session("")
	defer s.Close()
	_, err := s.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	msgs, _ := s.Messages(t.Context())
	for _, m := range msgs {
		b, _ := json.Marshal(m)
		if strings.Contains(string(b), "sk-verysecret") {
			t.Errorf("secret shown: %s", b)
		}
	}
}

// The same call again and again is noticed in a batch as well.
func TestAdverseBatchDoom(t *testing.T) {
	for name, step := range map[string]llmtest.Step{"alone": uses("double"), "in a batch": batch("double"), "empty": batch()} {
		m := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return step }}
		a := &agent.Agent{Model: m, Permissions: bypass, Tools: []tool.Tool{double, tools.Batch()}, Budget: agent.Budget{Turns: 20}}
		if r, err := a.Prompt(t.Context(), "go"); r.Reason != event.DoomLoop || r.Turns != 3 {
			t.Errorf("%s: %s after %d turns, %v", name, r.Reason, r.Turns, err)
		}
	}
}

type partialTool struct {
	tool.Tool
	free chan struct{}
}

func (p partialTool) TakesPartial() bool                       { return true }
func (p partialTool) Partial(context.Context, json.RawMessage) { <-p.free }

func TestAdversePartialBlocks(t *testing.T) {
	free := make(chan struct{})
	a := &agent.Agent{Model: llmtest.Script(uses("double"), say("end")), Permissions: bypass, Tools: []tool.Tool{partialTool{double, free}}, Budget: agent.Budget{Time: time.Second}}
	ends(t, "prompt", 5*time.Second, func() { a.Prompt(t.Context(), "go") })
	close(free)
}

func TestAdverseStoppedTwice(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var s *agent.Session
	hang := tool.New(tool.Spec{Name: "hang", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		<-ctx.Done()
		time.Sleep(300 * time.Millisecond)
		return nil, ctx.Err()
	})
	a := &agent.Agent{Model: llmtest.Script(uses("hang")), Permissions: bypass, Tools: []tool.Tool{hang}}
	s = a.Session("")
	defer s.Close()
	n := 0
	for e, _ := range s.Stream(ctx, "go") {
		switch e.Data.(type) {
		case event.ToolStart:
			s.Interrupt(t.Context())
			cancel()
		case fact.Stopped:
			n++
		case event.RunEnd:
		}
	}
	if n != 1 {
		t.Errorf("%d facts say that the run was stopped", n)
	}
}

// The answer of an unwanted Authorize after the end of ctx.
func TestAdverseUncountedFacts(t *testing.T) {
	bad := 0
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		a := &agent.Agent{Model: llmtest.Script(uses("write")), Tools: []tool.Tool{write(nil)}, CanUseTool: func(ctx context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
			cancel()
			return permission.Allow(), nil
		}}
		stopped := false
		for e := range a.Stream(ctx, "go") {
			switch e.Data.(type) {
			case fact.Stopped:
				stopped = true
			case fact.Authorized, fact.Answered:
				if stopped {
					bad++
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of 50 runs have a decision on record after Stopped that does not count", bad)
	}
}

type slowStore struct {
	session.Store
	delay time.Duration
}
type slowLog struct {
	session.Log
	delay time.Duration
}

func (s slowStore) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	l, err := s.Store.Open(ctx, id, h)
	return slowLog{l, s.delay}, err
}
func (l slowLog) Append(ctx context.Context, after int64, sync bool, es ...event.Event) error {
	for _, e := range es {
		if _, ok := e.Data.(event.ToolStart); ok {
			time.Sleep(l.delay)
		}
	}
	return l.Log.Append(ctx, after, sync, es...)
}

// The time that recording the start takes is taken from the tool.
func TestAdverseSlowAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tl := tool.New(tool.Spec{Name: "x", Timeout: time.Second}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
			<-ctx.Done()
			time.Sleep(2 * time.Second) // cleans up, within the grace
			return nil, ctx.Err()
		})
		a := &agent.Agent{Model: llmtest.Script(uses("x"), say("end")), Permissions: bypass, Tools: []tool.Tool{tl}, Sessions: slowStore{session.Memory(), 4 * time.Second}, Log: slog.New(slog.DiscardHandler)}
		for e, err := range a.Stream(t.Context(), "go") {
			if err != nil {
			}
			if r, ok := e.Data.(event.ToolResult); ok {
				if r.Fault == toolrun.Stuck {
					t.Error("given up within its grace")
				}
			}
		}
		time.Sleep(time.Minute)
	})
}

// A PostToolUse hook that removes something, and an interrupt.
func TestAdverseHookAtInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mk := func(name string, d time.Duration) tool.Tool {
			return tool.New(tool.Spec{Name: name, ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
				time.Sleep(d)
				return tool.Text("private"), nil
			})
		}
		a := &agent.Agent{Model: llmtest.Script(uses("a", "b")), Permissions: bypass, Tools: []tool.Tool{mk("a", time.Second), mk("b", 2*time.Second)}, Log: slog.New(slog.DiscardHandler),
			Hooks: []hook.Hook{{On: hook.PostToolUse, Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
				select {
				case <-time.After(1500 * time.Millisecond):
				case <-ctx.Done():
					return hook.Output{}, ctx.Err()
				}
				return hook.Output{Result: tool.Text("***")}, nil
			}}}}
		s := a.Session("")
		defer s.Close()
		go func() { time.Sleep(500 * time.Millisecond); s.Interrupt(t.Context()) }()
		for e := range s.Stream(t.Context(), "go") {
			if r, ok := e.Data.(event.ToolResult); ok {
				if r.Result.Text() == "private" {
					t.Error("the hook was cut, and its result is on record as it was")
				}
			}
		}
	})
}

// Plan mode, and a tool that was replaced while its call waits.
func TestAdverseReplacePlan(t *testing.T) {
	var s *agent.Session
	var wrote atomic.Bool
	old := tool.Func(tool.Spec{Name: "x"}, func(context.Context, number) (string, error) { wrote.Store(true); return "wrote", nil })
	repl := tool.Func(tool.Spec{Name: "x", ReadOnly: true}, func(context.Context, number) (string, error) { return "read", nil })
	a := &agent.Agent{Model: llmtest.Script(uses("x"), say("end")), Tools: []tool.Tool{old}, CanUseTool: func(ctx context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
		if err := s.ReplaceTool(ctx, repl); err != nil {
			t.Error(err)
		}
		if err := s.SetMode(ctx, permission.Plan); err != nil {
			t.Error(err)
		}
		return permission.Allow(), nil
	}}
	s = a.Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Error(err)
	}
	if wrote.Load() {
		t.Error("a tool that writes ran in plan mode: judged was the one that took its place")
	}
}

// The timeout of a replaced tool.
func TestAdverseReplaceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *agent.Session
		old := tool.New(tool.Spec{Name: "x", Timeout: time.Hour}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
			time.Sleep(time.Minute)
			return tool.Text("done"), nil
		})
		repl := tool.Func(tool.Spec{Name: "x", Timeout: time.Second}, func(context.Context, number) (string, error) { return "read", nil })
		a := &agent.Agent{Model: llmtest.Script(uses("x"), say("end")), Log: slog.New(slog.DiscardHandler), Tools: []tool.Tool{old}, CanUseTool: func(ctx context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
			s.ReplaceTool(ctx, repl)
			return permission.Allow(), nil
		}}
		s = a.Session("")
		for e := range s.Stream(t.Context(), "go") {
			if r, ok := e.Data.(event.ToolResult); ok {
				if r.Fault != "" {
					t.Error("given up by another tool's timeout")
				}
			}
		}
		s.Close()
		time.Sleep(time.Hour)
	})
}

type badHandler struct{ slog.Handler }

func (badHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (badHandler) Handle(context.Context, slog.Record) error { panic("log") }

func TestAdverseLogPanicsChild(t *testing.T) {
	if os.Getenv("AGENT_TEST_CHILD") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "TestAdverseLogPanicsChild")
		cmd.Env = append(os.Environ(), "AGENT_TEST_CHILD=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v %.300s", err, out)
		}
		return
	}
	m := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { panic("model") }}
	a := &agent.Agent{Model: m, Log: slog.New(badHandler{slog.DiscardHandler})}
	if _, err := a.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrModel) {
		t.Error(err)
	}
}

// The store's slow past holds up a run that goes on.

type gated struct {
	session.Store
	gate chan struct{}
	on   atomic.Bool
}

func (g *gated) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	if g.on.Load() {
		<-g.gate
	}
	return g.Store.Open(ctx, id, h)
}

func TestAdverseForkHolds(t *testing.T) {
	gate, at := make(chan struct{}), make(chan struct{})
	store := &gated{Store: session.Memory(), gate: gate}
	hang := tool.New(tool.Spec{Name: "hang", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		close(at)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	a := &agent.Agent{Model: llmtest.Script(uses("hang")), Tools: []tool.Tool{hang}, Sessions: store, Permissions: bypass}
	s := a.Session("s")
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := s.Prompt(ctx, "go"); done <- err }()
	<-at
	store.on.Store(true)
	go s.Fork(t.Context(), 0)
	time.Sleep(100 * time.Millisecond)
	go func() { time.Sleep(3 * time.Second); close(gate) }()
	start := time.Now()
	c2, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := s.Interrupt(c2); err != nil {
		t.Error(err)
	}
	cancel()
	if time.Since(start) > time.Second {
		t.Error("Fork holds up the run, Interrupt, and the end of ctx")
	}
	s.Close()
}

func TestAdverseCallNil(t *testing.T) {
	told := false
	a := &agent.Agent{Permissions: bypass, Tools: []tool.Tool{newsy{double, func() []string {
		if told {
			return nil
		}
		told = true
		return []string{"news"}
	}}}}
	r, err := a.CallTool(t.Context(), "double", []byte(`{"n":1}`))
	if r == nil && err == nil {
		t.Error("no result and no error")
	}
}

// A mode that is set while an earlier run is being closed.
func TestAdverseModeWhileClosingEarlier(t *testing.T) {
	entered, free := make(chan struct{}, 10), make(chan struct{})
	var block, wrote atomic.Bool
	watch := hook.Hook{On: hook.PostToolUse, Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
		if block.Load() {
			entered <- struct{}{}
			<-free
		}
		return hook.Output{}, nil
	}}
	m := &llmtest.Model{Rule: func(r *llmtest.Request, n int) llmtest.Step {
		switch {
		case n == 0:
			return uses("double")
		case n == 2:
			return uses("write")
		}
		return say("end")
	}}
	a := &agent.Agent{Model: m, Permissions: bypass, Hooks: []hook.Hook{watch}, Sessions: session.Memory(), Tools: []tool.Tool{double, write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		wrote.Store(true)
		return tool.Text("w"), nil
	})}}
	s := a.Session("s")
	var seq int64
	for e := range s.Stream(t.Context(), "one") {
		if _, ok := e.Data.(fact.ToolDone); ok {
			seq = e.Seq
		}
	}
	f, err := s.Fork(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
	block.Store(true)
	done := make(chan error, 1)
	go func() { _, err := f.Prompt(t.Context(), "two"); done <- err }()
	<-entered
	block.Store(false)
	ends(t, "setting the mode", 10*time.Second, func() {
		if err := f.SetMode(t.Context(), permission.Plan); err != nil {
			t.Error(err)
		}
	})
	close(free)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if wrote.Load() {
		t.Error("SetMode(plan) returned nil, and a call that writes ran")
	}
}

// Rules and hooks about Batch hold for it.
func TestAdverseBatchRules(t *testing.T) {
	deny := hook.Hook{On: hook.PreToolUse, Match: "Batch", Func: func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Permission: permission.Denied, Reason: "no batches"}, nil
	}}
	change := hook.Hook{On: hook.PreToolUse, Match: "Batch", Func: func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Permission: permission.Allowed, Input: []byte(`{"tool_calls":[{"tool":"double","parameters":{"n":21}}]}`)}, nil
	}}
	hide := hook.Hook{On: hook.PostToolUse, Match: "Batch", Func: func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Result: tool.Text("hidden")}, nil
	}}
	for _, test := range []struct {
		name  string
		rules permission.Policy
		hooks []hook.Hook
		want  string
		calls int // results, that of the batch included
	}{
		{"nothing", permission.Policy{}, nil, "== 1. double ==\n0\n", 2},
		{"ask rule, nobody there", permission.Policy{Ask: []permission.Rule{"Batch"}}, nil, "Permission denied", 1},
		{"hook denies", permission.Policy{}, []hook.Hook{deny}, "no batches", 1},
		{"hook changes", permission.Policy{}, []hook.Hook{change}, "== 1. double ==\n42\n", 2},
		{"hook sees the result", permission.Policy{}, []hook.Hook{hide}, "hidden", 2},
	} {
		m := llmtest.Script(batch("double"), say("end"))
		a := &agent.Agent{Model: m, Tools: []tool.Tool{double, tools.Batch()}, Permissions: test.rules, Hooks: test.hooks}
		calls, last := 0, ""
		for e, err := range a.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := e.Data.(event.ToolResult); ok {
				calls, last = calls+1, r.Result.Text()
			}
		}
		if calls != test.calls || !strings.Contains(last, test.want) {
			t.Errorf("%s: %d results, the last is %s", test.name, calls, last)
		}
	}
}

// Every question that is listed can be answered, whichever is asked.
func TestAdversePendingDecide(t *testing.T) {
	begun := make(chan struct{}, 9)
	a := &agent.Agent{Model: llmtest.Script(uses("write", "write"), say("end")), Tools: []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("w"), nil })},
		CanUseTool: func(ctx context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
			if v.Behavior != permission.Asked {
				return permission.Decision{}, nil
			}
			begun <- struct{}{}
			<-ctx.Done()
			return permission.Decision{}, ctx.Err()
		}}
	s := a.Session("")
	defer s.Close()
	done := make(chan *agent.Result, 1)
	go func() { r, _ := s.Prompt(t.Context(), "go"); done <- r }()
	<-begun
	questions, err := s.Pending(t.Context())
	for err == nil && len(questions) < 2 {
		questions, err = s.Pending(t.Context())
	}
	for i := len(questions) - 1; i >= 0; i-- {
		if err := s.Decide(t.Context(), questions[i].Call.ID, permission.Allow()); err != nil {
			t.Errorf("question %d: %v", i, err)
		}
	}
	if r := <-done; r.Text != "end" || r.Tools["write"].Calls != 2 {
		t.Errorf("%+v %v", r, err)
	}
}

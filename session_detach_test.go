package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// stateOf returns the state that the store lists for a session.
func stateOf(t *testing.T, store session.Store, id string) session.State {
	t.Helper()
	info, err := session.Stat(t.Context(), store, id)
	if err != nil {
		t.Fatal(err)
	}
	return info.State
}

// detached prompts a session, and detaches it when began is closed. It returns the outcome
// of the prompt.
func detached(t *testing.T, s *agent.Session, in agent.Input, began <-chan struct{}, wait time.Duration) (*agent.Result, error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-began
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		if err := s.Detach(ctx); err != nil {
			t.Error(err)
		}
	}()
	res, err := s.Do(t.Context(), in)
	<-done
	return res, err
}

// A run that is detached after any of its events continues where it was, as after a crash.
// No write runs twice or is lost.
func TestDetachAnywhere(t *testing.T) {
	for n := 1; ; n++ {
		var mu sync.Mutex
		writes := map[int]int{}
		w := write(func(_ context.Context, _ tool.Call, n int) (*tool.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			writes[n]++
			return tool.Text(fmt.Sprint("wrote ", n)), nil
		})
		store := session.Memory()
		a := &agent.Agent{Sessions: store, Tools: []tool.Tool{double, w}, Permissions: bypass, Model: byTurn(t,
			llmtest.Call(llmtest.Use("a", "double", number{1}), llmtest.Use("b", "write", number{2})),
			llmtest.Call(llmtest.Use("c", "write", number{3})), say("done"))}
		s := a.Session("s")
		seen, left := 0, make(chan error, 1)
		var failed error
		for _, err := range s.Stream(t.Context(), "go") {
			if seen++; seen == n {
				go func() { left <- s.Detach(t.Context()) }()
				time.Sleep(time.Millisecond)
			}
			failed = err
		}
		if seen < n {
			if n < 10 || failed != nil {
				t.Errorf("the run had %d events, and ended with %v", seen, failed)
			}
			s.Close()
			return
		}
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		again := a.Session("s")
		if errors.Is(failed, agent.ErrDetached) {
			if state := stateOf(t, store, "s"); state != session.StateUnfinished {
				t.Errorf("event %d: the session is %s", n, state)
			}
			resume(t, again)
		} else if failed != nil {
			t.Errorf("event %d: %v", n, failed)
		}
		if ok, err := again.CanResume(t.Context()); ok || err != nil {
			t.Errorf("event %d: at the end it can be resumed: %v, %v", n, ok, err)
		}
		if res := again.Result(); res.Text != "done" || res.Turns != 3 || writes[2] != 1 || writes[3] != 1 {
			t.Errorf("event %d: %v writes, %+v", n, writes, res)
		}
		again.Close()
	}
}

// A model call is cancelled at once. It counts for what it can have cost, the quota has its
// reservation back, and it is no failed attempt.
func TestDetachModelCall(t *testing.T) {
	account := &quota.Account{Store: quota.Memory(), Key: "ann", USD: 5}
	store := session.Memory()
	m := &llmtest.Model{Facts: llm.Info{Price: &llm.Price{Input: 3, Output: 15}}, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n == 0 {
			return llmtest.Step{Text: "half an answer", EventDelay: time.Minute}
		}
		return say("an answer")
	}}
	streaming := &llmtest.Model{Facts: m.Facts, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		return llmtest.Step{Text: "half an answer", StallAfter: 3, Stall: time.Minute}
	}}
	for name, first := range map[string]*llmtest.Model{"before an answer": m, "in an answer": streaming} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Model: first, Sessions: store, Quota: account, Budget: agent.Budget{USD: 1}, Retry: &agent.Retry{Tries: -1}}
			s := a.Session(name)
			began := make(chan struct{})
			go func() {
				time.Sleep(50 * time.Millisecond)
				close(began)
			}()
			start := time.Now()
			res, err := detached(t, s, agent.Input{Text: "go"}, began, time.Minute)
			if !errors.Is(err, agent.ErrDetached) || res == nil || res.Reason != "" || res.Session != name || time.Since(start) > 5*time.Second {
				t.Fatalf("after %v: %+v, %v", time.Since(start), res, err)
			}
			if b, err := account.Balance(t.Context()); err != nil || b.Reserved != 0 {
				t.Errorf("the quota has %+v, %v", b, err)
			}
			a.Model = llmtest.Script(say("an answer"))
			again := a.Session(name)
			defer again.Close()
			resume(t, again)
			if res := again.Result(); res.Text != "an answer" || res.Turns != 1 || *res.CostUSD > 0.01 {
				t.Errorf("got %+v", res)
			}
			failures := 0
			for e, err := range store.Read(t.Context(), name, 0) {
				if f, ok := e.Data.(event.ModelFailed); ok && f.Retry || err != nil {
					failures++
				}
			}
			if failures != 1 {
				t.Errorf("%d failures are on record", failures)
			}
		})
	}
}

// A tool under way may end, and its result is on record. When the time is over, it is
// cancelled. Then a read is repeated, and the model gets what a write returned.
func TestDetachTool(t *testing.T) {
	for name, c := range map[string]struct {
		reads  bool
		works  time.Duration
		calls  int32
		result string
	}{
		"ends in time":   {works: 100 * time.Millisecond, calls: 1, result: "worked"},
		"reads too long": {reads: true, works: time.Minute, calls: 2, result: "worked"},
		"writes, long":   {works: time.Minute, calls: 1, result: "stopped half-way"},
	} {
		t.Run(name, func(t *testing.T) {
			began, calls := make(chan struct{}), new(atomic.Int32)
			work := tool.New(tool.Spec{Name: "work", ReadOnly: c.reads}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
				if calls.Add(1) > 1 {
					return tool.Text("worked"), nil
				}
				close(began)
				select {
				case <-time.After(c.works):
					return tool.Text("worked"), nil
				case <-ctx.Done():
					return tool.Text("stopped half-way"), nil
				}
			})
			store := session.Dir(t.TempDir())
			open := func() *agent.Session {
				return (&agent.Agent{Model: byTurn(t, uses("work"), say("end")), Tools: []tool.Tool{work}, Permissions: bypass, Sessions: store}).Session("s")
			}
			if _, err := detached(t, open(), agent.Input{Text: "go"}, began, 300*time.Millisecond); !errors.Is(err, agent.ErrDetached) {
				t.Fatal(err)
			}
			s := open()
			defer s.Close()
			resume(t, s)
			messages, err := s.Messages(t.Context())
			if err != nil || calls.Load() != c.calls || s.Result().Text != "end" {
				t.Fatalf("%d calls, %+v, %v", calls.Load(), s.Result(), err)
			}
			var results []string
			for _, m := range messages {
				for _, b := range m.Content {
					if r, ok := b.(llm.ToolResult); ok {
						results = append(results, r.Content.Text())
					}
				}
			}
			if len(results) != 1 || !strings.Contains(results[0], c.result) {
				t.Errorf("the results are %q", results)
			}
		})
	}
}

// Sub-agents in the foreground, in the background and below others are detached with the
// session. The resumed run continues each of them: no answer is asked for twice.
func TestDetachAgents(t *testing.T) {
	for name, c := range map[string]struct {
		background, deep, idle bool
	}{
		"foreground":          {},
		"background":          {background: true},
		"of an agent":         {deep: true},
		"background, deep":    {background: true, deep: true},
		"outlasting the run":  {background: true, idle: true},
		"outlasting and deep": {background: true, idle: true, deep: true},
	} {
		t.Run(name, func(t *testing.T) {
			store, writes, answers := session.Dir(t.TempDir()), new(atomic.Int32), new(atomic.Int32)
			began, once := make(chan struct{}), sync.Once{}
			open := func(hang bool) *agent.Session {
				w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
					writes.Add(1)
					return tool.Text("wrote"), nil
				})
				rule := byTurn(t, uses("write"), say("helped")).Rule
				helps := &llmtest.Model{Rule: func(r *llmtest.Request, n int) llmtest.Step {
					step := rule(r, n)
					if hang && step.Text != "" {
						once.Do(func() { close(began) })
						step.Delay = time.Minute
					}
					answers.Add(1)
					return step
				}}
				kind := &agent.Agent{Name: "helper", Model: helps, Tools: []tool.Tool{w}}
				if c.deep {
					kind = &agent.Agent{Name: "middle", Model: byTurn(t, delegates(1), say("passed on")), Tools: []tool.Tool{delegate(kind, false), w}}
				}
				a := &agent.Agent{Model: byTurn(t, delegates(1), say("end"), say("end"), say("end")), Tools: []tool.Tool{delegate(kind, c.background), w}, Sessions: store, AwaitAgents: !c.idle, Permissions: bypass}
				return a.Session("s")
			}
			s := open(true)
			if c.idle {
				if res, err := s.Prompt(t.Context(), "go"); err != nil || res.Text != "end" {
					t.Fatalf("got %+v, %v", res, err)
				}
				<-began
				if err := s.Detach(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else if _, err := detached(t, s, agent.Input{Text: "go"}, began, time.Minute); !errors.Is(err, agent.ErrDetached) {
				t.Fatal(err)
			}
			if state := stateOf(t, store, "s"); state != session.StateUnfinished {
				t.Errorf("the session is %s", state)
			}
			s = open(false)
			defer s.Close()
			if ok, err := s.CanResume(t.Context()); !ok || err != nil {
				t.Fatalf("it can be resumed: %v, %v", ok, err)
			}
			resume(t, s)
			if n := writes.Load(); n != 1 || answers.Load() != 3 || s.Result().Text != "end" { // one of the answers was cancelled
				t.Errorf("%d writes, %d answers, %+v", n, answers.Load(), s.Result())
			}
			messages, err := s.Messages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := "helped"
			if c.deep {
				want = "passed on"
			}
			var told []string
			for _, m := range messages {
				told = append(told, fmt.Sprint(m.Content))
			}
			if !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("the parent was told %q", told)
			}
			if state := stateOf(t, store, "s"); state == session.StateUnfinished {
				t.Errorf("at the end the session is %s", state)
			}
		})
	}
}

// A question that is open is asked again. A run that waits for a deferred decision stays
// suspended.
func TestDetachQuestion(t *testing.T) {
	store, began, writes := session.Memory(), make(chan struct{}), 0
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		writes++
		return tool.Text("wrote"), nil
	})
	a := &agent.Agent{Model: byTurn(t, uses("write"), say("end")), Tools: []tool.Tool{w}, Sessions: store,
		CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
			close(began)
			<-ctx.Done()
			return permission.Decision{}, ctx.Err()
		}}
	if _, err := detached(t, a.Session("s"), agent.Input{Text: "go"}, began, time.Minute); !errors.Is(err, agent.ErrDetached) {
		t.Fatal(err)
	}
	if state := stateOf(t, store, "s"); state != session.StateWaiting {
		t.Errorf("the session is %s", state)
	}
	a.CanUseTool = deferAsked
	s := a.Session("s")
	for _, err := range s.Resume(t.Context()) {
		if err != nil && !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
	}
	if err := s.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = a.Session("s")
	defer s.Close()
	asked, err := s.Pending(t.Context())
	if err != nil || len(asked) != 1 {
		t.Fatalf("asked %+v, %v", asked, err)
	}
	if err := s.Decide(t.Context(), asked[0].Call.ID, permission.Allow()); err != nil {
		t.Fatal(err)
	}
	resume(t, s)
	if writes != 1 || s.Result().Text != "end" {
		t.Errorf("%d writes, %+v", writes, s.Result())
	}
}

// The options of a prompt hold after it was detached, and a message to it is delivered.
func TestDetachKeepsPrompt(t *testing.T) {
	store, began, release := session.Memory(), make(chan struct{}), make(chan struct{})
	work := tool.New(tool.Spec{Name: "work"}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		close(began)
		<-release
		return tool.Text("worked"), nil
	})
	small := &llmtest.Model{ID: "small", Rule: byTurn(t, uses("work"), say("end")).Rule}
	a := &agent.Agent{Model: llmtest.Script(say("of the wrong model")), Models: func(string) (llm.Model, error) { return small, nil }, Tools: []tool.Tool{work, double}, Permissions: bypass, Sessions: store}
	s := a.Session("s")
	steered := make(chan struct{})
	go func() {
		<-began
		if _, err := s.Steer(t.Context(), agent.Input{ID: "more", Text: "and more"}); err != nil {
			t.Error(err)
		}
		close(steered)
		time.Sleep(50 * time.Millisecond)
		close(release)
	}()
	if _, err := detached(t, s, agent.Input{Text: "go", Model: "small", Tools: []string{"work"}}, steered, time.Minute); !errors.Is(err, agent.ErrDetached) {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), "more"); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("a prompt after Detach: %v", err)
	}
	s = a.Session("s")
	defer s.Close()
	resume(t, s)
	last := small.Requests()[len(small.Requests())-1]
	if s.Result().Text != "end" || len(last.Tools) != 1 || !strings.Contains(fmt.Sprint(last.Messages), "and more") {
		t.Errorf("got %+v, tools %+v", s.Result(), last.Tools)
	}
}

// A run that is interrupted keeps its own end, and a session without a run is closed.
func TestDetachEnded(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(say("end")), Sessions: session.Memory()}
	s := a.Session("s")
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Detach(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.CanResume(t.Context()); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("after Detach: %v", err)
	}
	s = a.Session("s")
	defer s.Close()
	if ok, err := s.CanResume(t.Context()); ok || err != nil {
		t.Errorf("it can be resumed: %v, %v", ok, err)
	}
	if res := s.Result(); res == nil || res.Reason != event.Completed {
		t.Errorf("its last run is %+v", res)
	}
}

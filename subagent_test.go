package agent_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// delegate is a tool that puts kind to work with what it is asked.
func delegate(kind *agent.Agent, background bool, seen ...*error) tool.Tool {
	return delegateAs("delegate", kind, background, seen...)
}

func delegateAs(name string, kind *agent.Agent, background bool, seen ...*error) tool.Tool {
	return tool.New(tool.Spec{Name: name, Idempotent: true, Timeout: -1}, func(ctx context.Context, call tool.Call, n number) (*tool.Result, error) {
		p, ok := agent.ParentOf(ctx)
		if !ok {
			return nil, errors.New("no parent")
		}
		c := agent.Child{Agent: kind, Call: call.ID, Input: agent.Input{Text: fmt.Sprintf("work %d", n.N)}}
		if background {
			id, err := p.Start(ctx, c, nil)
			return tool.Text(id), err
		}
		res, err := p.Run(ctx, c)
		for _, e := range seen {
			*e = err
		}
		if res == nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })
}

func delegates(ns ...int) llmtest.Step {
	var s llmtest.Step
	for _, n := range ns {
		s.Calls = append(s.Calls, llmtest.Use("", "delegate", number{n}))
	}
	return s
}

var priced = llm.Info{Window: 200_000, Price: &llm.Price{Input: 1, Output: 5}}

func childEvents(t *testing.T) (started, ended, shown bool) {
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end")), Sessions: store,
		Tools: []tool.Tool{delegate(&agent.Agent{Name: "helper", Model: llmtest.Script(say("done"))}, false)}}
	s := a.Session("")
	defer s.Close()
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Data.(type) {
		case event.AgentStart:
			started = true
		case event.AgentEnd:
			ended = true
		case event.AgentEvent:
			shown = true
		}
	}
	return started, ended, shown
}

// A child's answer is the result of the call. Its usage counts for the parent, by agent and
// by model. Its events are shown. Its transcript is stored under the parent's.
func TestChild(t *testing.T) {
	small := &llmtest.Model{ID: "small", Facts: priced, Steps: []llmtest.Step{say("four")}}
	helper := &agent.Agent{Name: "helper", Model: small, System: "You count."}
	big := &llmtest.Model{ID: "big", Facts: priced, Steps: []llmtest.Step{delegates(4), say("end")}}
	store := session.Dir(t.TempDir())
	a := &agent.Agent{Model: big, Sessions: store, Tools: []tool.Tool{delegate(helper, false)}}
	s := a.Session("")
	defer s.Close()
	events, err := collect(t, s, "go")
	if err != nil {
		t.Fatal(err)
	}
	res := s.Result()
	if got := big.Requests()[1].Messages[2].Content[0].(llm.ToolResult).Content.Text(); got != "four" {
		t.Errorf("the parent was told %q", got)
	}
	if req := small.Requests()[0]; req.System != "You count." || req.Messages[0].Text() != "work 4" {
		t.Errorf("the child was asked %q with %q", req.Messages[0].Text(), req.System)
	}
	one, two := res.Models["big"], res.Models["small"]
	if one.CostUSD == nil || two.CostUSD == nil || res.CostUSD == nil || *res.CostUSD != *one.CostUSD+*two.CostUSD || *two.CostUSD == 0 {
		t.Errorf("cost %v of %+v", res.CostUSD, res.Models)
	}
	if got := res.Agents["helper"]; got.CostUSD == nil || *got.CostUSD != *two.CostUSD || got.Usage != two.Usage || res.Usage != one.Usage.Add(two.Usage) {
		t.Errorf("agents %+v, usage %+v", res.Agents, res.Usage)
	}
	var child string
	kinds := map[string]bool{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.AgentStart:
			child = d.Session
		case event.AgentEvent:
			if d.Agent != "helper" || d.ID == "" || d.Event.Session != child {
				t.Errorf("%+v", d)
			}
			kinds[event.Type(d.Event.Data)] = true
		}
	}
	for _, k := range []string{"configured", "text_delta", "assistant_message", "run_end"} {
		if !kinds[k] {
			t.Errorf("no %s of the child was seen in %v", k, slices.Sorted(maps.Keys(kinds)))
		}
	}
	info, err := session.Stat(t.Context(), session.Under(store, s.ID), child)
	if err != nil || info.Agent == nil || *info.Agent != (session.ParentRef{Name: "helper", Kind: "helper", Session: s.ID, Call: info.Agent.Call}) {
		t.Errorf("%+v, %v", info.Agent, err)
	}
	if all, err := store.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("listed: %v, %v", all, err)
	}
	s.Close()
	if err := session.Delete(t.Context(), store, s.ID); err != nil {
		t.Error(err)
	}
	if _, err := session.Stat(t.Context(), session.Under(store, s.ID), child); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("the child is still there: %v", err)
	}
}

// A child is limited by its parent's rules, mode, Deciders, hooks and callback, whatever
// its own definition says.
func TestChildBounds(t *testing.T) {
	for name, c := range map[string]struct {
		parent func(*agent.Agent)
		child  func(*agent.Agent)
		mode   permission.Mode
		runs   bool
	}{
		"nothing speaks against it": {runs: true, parent: func(a *agent.Agent) { a.Permissions = bypass }},
		"the mode":                  {child: func(a *agent.Agent) { a.Permissions = bypass }},
		"the mode asked for":        {mode: permission.Bypass},
		"a lower mode":              {mode: permission.Plan, parent: func(a *agent.Agent) { a.Permissions = bypass }},
		"a rule": {parent: func(a *agent.Agent) {
			a.Permissions = permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"write"}}
		}, child: func(a *agent.Agent) { a.Permissions = permission.Policy{Allow: []permission.Rule{"write"}} }},
		"an allow rule is inherited": {runs: true, parent: func(a *agent.Agent) {
			a.Permissions.Allow = []permission.Rule{"write"}
		}},
		"an own allow rule is none": {child: func(a *agent.Agent) { a.Permissions.Allow = []permission.Rule{"write"} }},
		"an own deny rule":          {parent: func(a *agent.Agent) { a.Permissions = bypass }, child: func(a *agent.Agent) { a.Permissions.Deny = []permission.Rule{"write"} }},
		"a policy":                  {parent: func(a *agent.Agent) { a.Permissions, a.Deciders = bypass, []permission.Decider{permission.ReadOnly()} }},
		"an own policy":             {parent: func(a *agent.Agent) { a.Permissions = bypass }, child: func(a *agent.Agent) { a.Deciders = []permission.Decider{permission.ReadOnly()} }},
		"the callback":              {runs: true, parent: func(a *agent.Agent) { a.CanUseTool = answer(permission.Allow()) }},
		"the callback's no": {parent: func(a *agent.Agent) {
			a.Permissions, a.CanUseTool = bypass, func(_ context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
				if c.Agent == "helper" {
					return permission.Deny("not you"), nil
				}
				return permission.Decision{}, nil
			}
		}, child: func(a *agent.Agent) { a.CanUseTool = answer(permission.Allow()) }},
		"a tool that the parent may not use": {parent: func(a *agent.Agent) { a.Permissions, a.DisallowedTools = bypass, []string{"write"} }},
		"a tool that the parent does not have": {parent: func(a *agent.Agent) {
			a.Permissions, a.AllowedTools = bypass, []string{"delegate"}
		}, child: func(a *agent.Agent) { a.AllowedTools = []string{"write"} }},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Bool
			w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
				ran.Store(true)
				return tool.Text("ok"), nil
			})
			helper := &agent.Agent{Name: "helper", Model: llmtest.Script(uses("write"), say("done"))}
			a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end"))}
			if c.parent != nil {
				c.parent(a)
			}
			if c.child != nil {
				c.child(helper)
			}
			a.Tools = []tool.Tool{w, tool.New(tool.Spec{Name: "delegate"}, func(ctx context.Context, call tool.Call, n number) (*tool.Result, error) {
				p, _ := parentrun.Of(ctx)
				res, err := p.Run(ctx, parentrun.Child{Agent: helper, Call: call.ID, Mode: c.mode, Input: agent.Input{Text: "go"}})
				if err != nil {
					return nil, err
				}
				return tool.Text(res.Text), nil
			}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if ran.Load() != c.runs {
				t.Errorf("it ran: %v", ran.Load())
			}
		})
	}
}

// Work in the background goes on beside the run, and its end is told once: in the run
// that goes on, or in the next.
func TestChildInBackground(t *testing.T) {
	for name, during := range map[string]bool{"during the run": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			slow := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { <-release; return say("found it") }}
			var told []string
			model := &llmtest.Model{Rule: func(r *llmtest.Request, n int) llmtest.Step {
				for _, m := range r.Messages {
					if strings.Contains(m.Text(), "[agent] helper") {
						told = append(told, m.Text())
					}
				}
				if n == 0 {
					return delegates(1)
				}
				if during && n == 1 {
					close(release)
				}
				return say("end")
			}}
			a := &agent.Agent{Model: model, AwaitAgents: during, Tools: []tool.Tool{delegate(&agent.Agent{Name: "helper", Model: slow}, true)}}
			s := a.Session("")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if !during {
				if told != nil {
					t.Fatalf("told %q before the end", told)
				}
				close(release)
				waitFor(t, func() bool { return len(s.Children()) == 0 })
				if _, err := s.Prompt(t.Context(), "and?"); err != nil {
					t.Fatal(err)
				}
			}
			if len(told) != 1 || !strings.Contains(told[0], "is done: completed\nfound it") {
				t.Errorf("told %q", told)
			}
			if got := s.Result().Agents["helper"].Usage; got == (llm.Usage{}) {
				t.Error("its usage does not count")
			}
		})
	}
}

// The end of the parent is the end of its children.
func TestChildrenEnd(t *testing.T) {
	for name, background := range map[string]bool{"waited for": false, "in the background": true} {
		t.Run(name, func(t *testing.T) {
			var running atomic.Int32
			hang := tool.Func(tool.Spec{Name: "hang"}, func(ctx context.Context, _ number) (string, error) {
				running.Add(1)
				defer running.Add(-1)
				<-ctx.Done()
				return "", ctx.Err()
			})
			helper := &agent.Agent{Name: "helper", Tools: []tool.Tool{hang}, Permissions: bypass, Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return uses("hang") }}}
			a := &agent.Agent{Permissions: bypass, MaxParallelCalls: 50, Tools: []tool.Tool{delegate(helper, background)},
				Model: &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
					if n == 0 {
						return delegates(slices.Collect(count(50))...)
					}
					return say("end")
				}}}
			s := a.Session("")
			done := make(chan struct{})
			go func() { s.Prompt(t.Context(), "go"); close(done) }()
			waitFor(t, func() bool { return running.Load() == 50 })
			s.Close()
			<-done
			if n := running.Load(); n != 0 {
				t.Errorf("%d go on", n)
			}
		})
	}
}

// The shares of children at once are within what is left, and what they leave is
// given back.
func TestChildBudget(t *testing.T) {
	var shares []float64
	var atWork sync.WaitGroup
	atWork.Add(3)
	helper := &agent.Agent{Name: "helper", Model: &llmtest.Model{Facts: priced, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n < 3 {
			atWork.Done()
			atWork.Wait()
		}
		return say("done")
	}}}
	a := &agent.Agent{Budget: agent.Budget{USD: 1, ModelCalls: 20}, Tools: []tool.Tool{delegate(helper, false)}, MaxParallelCalls: 3,
		Model: &llmtest.Model{ID: "big", Facts: priced, Steps: []llmtest.Step{delegates(1, 2, 3), delegates(4), say("end")}}}
	s := a.Session("")
	defer s.Close()
	events, err := collect(t, s, "go")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, e := range events {
		if d, ok := e.Data.(event.AgentStart); ok {
			shares = append(shares, d.ReservedUSD)
			calls += d.ModelCalls
		}
	}
	if len(shares) != 4 || shares[0]+shares[1]+shares[2] >= 1 || shares[0] < 0.24 || shares[2] < 0.24 || shares[3] < 0.49 {
		t.Errorf("shares %v", shares)
	}
	if calls == 0 {
		t.Error("the calls of models are not bounded")
	}

	poor := &agent.Agent{Budget: agent.Budget{ModelCalls: 1}, Model: llmtest.Script(delegates(1), say("end")), Tools: a.Tools}
	var refused error
	poor.Tools = []tool.Tool{delegate(helper, false, &refused)}
	poor.Prompt(t.Context(), "go")
	if refused == nil || !strings.Contains(refused.Error(), "nothing is left of the budget for another agent") {
		t.Errorf("nothing is left, and: %v", refused)
	}
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

// What the parent may not do any more its children may not either, those that are at
// work among them.
func TestChildWhenTheParentChanges(t *testing.T) {
	for name, change := range map[string]func(s *agent.Session) error{
		"to plan mode": func(s *agent.Session) error { return s.SetMode(t.Context(), permission.Plan) },
		"to nothing":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int32
			w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran.Add(1); return tool.Text("ok"), nil })
			var s *agent.Session
			var failed error
			helper := &agent.Agent{Name: "helper", Model: &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
				if n == 1 && change != nil {
					failed = change(s)
				}
				if n < 2 {
					return uses("write")
				}
				return say("done")
			}}}
			a := &agent.Agent{Permissions: bypass, Model: llmtest.Script(delegates(1), say("end")), Tools: []tool.Tool{w, delegate(helper, false)}}
			s = a.Session("")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			want := int32(2)
			if change != nil {
				want = 1
			}
			if ran.Load() != want {
				t.Errorf("it ran %d times, want %d", ran.Load(), want)
			}
		})
	}
}

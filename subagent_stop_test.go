package agent_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// heldAgent is a session whose agent waits in a call that reads, and then writes.
func heldAgent(t *testing.T, after llmtest.Step, more ...llmtest.Step) (s *agent.Session, at, gate chan struct{}, writes *atomic.Int32) {
	at, gate, writes = make(chan struct{}, 1), make(chan struct{}), new(atomic.Int32)
	waits := tool.New(tool.Spec{Name: "waits", ReadOnly: true, Timeout: -1}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		at <- struct{}{}
		select {
		case <-gate:
			return tool.Text("now"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		writes.Add(1)
		return tool.Text("wrote"), nil
	})
	kind := &agent.Agent{Name: "helper", Model: llmtest.Script(uses("waits"), uses("write"), say("done")), Tools: []tool.Tool{waits, w}}
	a := &agent.Agent{Model: llmtest.Script(append([]llmtest.Step{delegates(1), after}, more...)...), Sessions: session.Memory(), Permissions: bypass,
		Tools: []tool.Tool{delegate(kind, true), waits, w}}
	s = a.Session("")
	t.Cleanup(func() { s.Close() })
	return s, at, gate, writes
}

func idle(t *testing.T, s *agent.Session) {
	t.Helper()
	waitFor(t, func() bool { return len(s.Children()) == 0 })
}

// After an interrupt no background agent continues: in a run, between prompts, and if only
// that agent is stopped.
func TestInterruptEndsAgents(t *testing.T) {
	for name, stop := range map[string]func(*testing.T, *agent.Session) []string{
		"interrupt": func(t *testing.T, s *agent.Session) []string {
			r, err := s.Interrupt(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return r.Agents
		},
		"stopped by name": func(t *testing.T, s *agent.Session) []string {
			id := s.Children()[0].Session
			if err := s.StopAgent("helper"); err != nil {
				t.Fatal(err)
			}
			return []string{id}
		},
	} {
		t.Run(name+" between prompts", func(t *testing.T) {
			s, at, gate, writes := heldAgent(t, say("end"), say("and"))
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			<-at
			id := s.Children()[0].Session
			if got := stop(t, s); len(got) != 1 || got[0] != id {
				t.Errorf("it ended %v, not %s", got, id)
			}
			idle(t, s)
			close(gate)
			if writes.Load() != 0 {
				t.Error("it wrote afterwards")
			}
			if _, err := s.Interrupt(t.Context()); !errors.Is(err, agent.ErrNotRunning) {
				t.Errorf("interrupting nothing: %v", err)
			}
			if err := s.StopAgent(id); !errors.Is(err, agent.ErrNoAgent) {
				t.Errorf("stopping nothing: %v", err)
			}
			if _, err := s.Prompt(t.Context(), "and?"); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("in a run", func(t *testing.T) {
		s, at, gate, writes := heldAgent(t, uses("waits"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { _, err := s.Prompt(ctx, "go"); ended <- err }()
		<-at
		<-at // the run itself waits too
		cancel()
		if err := <-ended; !errors.Is(err, agent.ErrInterrupted) {
			t.Errorf("ended with %v", err)
		}
		idle(t, s)
		close(gate)
		if writes.Load() != 0 {
			t.Error("it wrote afterwards")
		}
	})
}

// A mode that permits less, set while an agent works, holds from the agent's next call,
// also between prompts.
func TestModeHoldsForWorkingAgents(t *testing.T) {
	for _, mode := range []permission.Mode{permission.Plan, permission.DontAsk, permission.Default} {
		t.Run(string(mode), func(t *testing.T) {
			s, at, gate, writes := heldAgent(t, say("end"), say("and"))
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			<-at
			if err := s.SetMode(t.Context(), mode); err != nil {
				t.Fatal(err)
			}
			close(gate)
			idle(t, s)
			if writes.Load() != 0 {
				t.Errorf("it wrote in mode %s", mode)
			}
		})
	}
	t.Run("a mode that permits more", func(t *testing.T) {
		s, at, gate, writes := heldAgent(t, say("end"))
		s.SetMode(t.Context(), permission.Plan)
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		<-at
		s.SetMode(t.Context(), permission.Bypass)
		close(gate)
		idle(t, s)
		if writes.Load() != 0 {
			t.Error("an agent that was started in plan mode wrote")
		}
	})
}

// The limits of turns and of model calls hold for the whole tree, at any depth, for
// agents that work at once and for those in the background.
func TestLimitsHoldForTheTree(t *testing.T) {
	for name, c := range map[string]struct {
		budget     agent.Budget
		agents     int
		background bool
		reason     event.EndReason
	}{
		"turns":               {budget: agent.Budget{Turns: 5}, agents: 1, reason: event.MaxTurns},
		"turns, at once":      {budget: agent.Budget{Turns: 12}, agents: 4, reason: event.MaxTurns},
		"turns, background":   {budget: agent.Budget{Turns: 12}, agents: 3, background: true, reason: event.MaxTurns},
		"calls":               {budget: agent.Budget{ModelCalls: 5}, agents: 1, reason: event.MaxModelCalls},
		"calls, background":   {budget: agent.Budget{ModelCalls: 12}, agents: 3, background: true, reason: event.MaxModelCalls},
		"less than one":       {budget: agent.Budget{Turns: 2}, agents: 3, reason: event.MaxTurns},
		"both, the less wins": {budget: agent.Budget{Turns: 4, ModelCalls: 40}, agents: 1, reason: event.MaxTurns},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			endless := func(step func(n int) llmtest.Step) *llmtest.Model {
				return &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
					requests.Add(1)
					return step(n)
				}}
			}
			inner := &agent.Agent{Name: "inner", Budget: agent.Budget{Turns: 200}, Model: endless(func(n int) llmtest.Step { return llmtest.Call(llmtest.Use("", "double", number{n})) }), Tools: []tool.Tool{double}}
			kind := &agent.Agent{Name: "helper", Budget: agent.Budget{Turns: 200}, Tools: []tool.Tool{delegate(inner, false), double},
				Model: endless(func(n int) llmtest.Step {
					if n%2 == 0 {
						return delegates(n)
					}
					return llmtest.Call(llmtest.Use("", "double", number{n}))
				})}
			a := &agent.Agent{Budget: c.budget, Tools: []tool.Tool{delegate(kind, c.background), double}, Permissions: bypass, AwaitAgents: true,
				Model: endless(func(n int) llmtest.Step {
					var ns []int
					for i := range c.agents {
						ns = append(ns, n*10+i)
					}
					return delegates(ns...)
				})}
			s := a.Session("")
			defer s.Close()
			res, err := s.Prompt(t.Context(), "go")
			if !errors.Is(err, agent.ErrLimit) || res.Reason != c.reason {
				t.Errorf("ended with %v", err)
			}
			if c.background {
				idle(t, s)
			}
			most := int32(max(c.budget.Turns, c.budget.ModelCalls))
			if c.budget.Turns > 0 {
				most = int32(c.budget.Turns)
			}
			if n := requests.Load(); n > most || n < most/3 {
				t.Errorf("%d requests, the limit is %d", n, most)
			}
		})
	}
}

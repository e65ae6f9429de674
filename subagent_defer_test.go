package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A deferred question of an agent suspends the runs above it. The session at the root
// answers it, also in another program and in a fork. Then the agent continues, then its
// parent, and no answer is paid for twice.
func TestAgentsDefer(t *testing.T) {
	for name, c := range map[string]struct {
		agents     []int
		background bool
		deep, fork bool
		decision   permission.Decision
		writes     int32
	}{
		"foreground":      {agents: []int{1}, decision: permission.Allow(), writes: 1},
		"denied":          {agents: []int{1}, decision: permission.Deny("no")},
		"several":         {agents: []int{1, 2, 3}, decision: permission.Allow(), writes: 3},
		"background":      {agents: []int{1, 2}, background: true, decision: permission.Allow(), writes: 2},
		"an agent's":      {agents: []int{1}, deep: true, decision: permission.Allow(), writes: 1},
		"in a fork":       {agents: []int{1}, fork: true, decision: permission.Allow(), writes: 1},
		"background fork": {agents: []int{1}, background: true, fork: true, decision: permission.Allow(), writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			store, writes, asked := session.Memory(), new(atomic.Int32), new(atomic.Int32)
			open := func(id string) *agent.Session {
				w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
					writes.Add(1)
					return tool.Text("wrote"), nil
				})
				count := func(m *llmtest.Model) *llmtest.Model {
					rule := m.Rule
					m.Rule = func(r *llmtest.Request, n int) llmtest.Step {
						asked.Add(1)
						return rule(r, n)
					}
					return m
				}
				kind := &agent.Agent{Name: "helper", Model: count(byTurn(t, uses("write"), say("helped"))), Tools: []tool.Tool{w}}
				if c.deep {
					kind = &agent.Agent{Name: "middle", Model: count(byTurn(t, delegates(1), say("passed on"))), Tools: []tool.Tool{delegate(kind, false), w}}
				}
				a := &agent.Agent{Model: byTurn(t, delegates(c.agents...), say("end"), say("end"), say("end"), say("end")), Tools: []tool.Tool{delegate(kind, c.background), w}, Sessions: store, AwaitAgents: true,
					CanUseTool: deferAsked}
				return a.Session(id)
			}
			s := open("s")
			res, err := s.Prompt(t.Context(), "go")
			if !errors.Is(err, agent.ErrSuspended) {
				t.Fatalf("ended with %v: %+v", err, res)
			}
			s.Close()
			id := "s"
			if c.fork {
				id = forked(t, store, "s", "fork", 0)
			}
			s = open(id)
			defer s.Close()
			pending, err := s.Pending(t.Context())
			if err != nil || len(pending) != len(c.agents) {
				t.Fatalf("%d questions, %v", len(pending), err)
			}
			if resumable, err := s.CanResume(t.Context()); err != nil || !resumable {
				t.Errorf("it cannot be resumed: %v", err)
			}
			before := asked.Load()
			for i, q := range pending {
				if q.Call.Name != "write" || q.Call.Agent != "helper" || !strings.Contains(q.Call.ID, "/") {
					t.Errorf("asked about %+v", q.Call)
				}
				if err := s.Decide(t.Context(), q.Call.ID, c.decision); err != nil {
					t.Fatal(err)
				}
				if left, _ := s.Pending(t.Context()); len(left) != len(pending)-i-1 {
					t.Errorf("%d questions are left after answer %d", len(left), i+1)
				}
			}
			resume(t, s)
			if writes.Load() != c.writes || s.Result().Reason != event.Completed || s.Result().Text != "end" {
				t.Errorf("%d writes, %+v", writes.Load(), s.Result())
			}
			want := len(c.agents)
			if c.deep {
				want++
			}
			if n := int(asked.Load() - before); n != want {
				t.Errorf("%d answers were asked for after the decision, want %d", n, want)
			}
			if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); !errors.Is(err, agent.ErrNoQuestion) {
				t.Errorf("answering again: %v", err)
			}
			messages, err := s.Messages(t.Context())
			if err != nil || len(messages) == 0 {
				t.Fatal(err)
			}
			var told []string
			for _, m := range messages {
				told = append(told, m.Content.Text())
			}
			if c.background && !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "helped") }) {
				t.Errorf("the parent was told %q", told)
			}
		})
	}
}

// childSuspends reports whether an agent waited for a decision.
func childSuspends(t *testing.T) (suspended bool) {
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
	kind := &agent.Agent{Name: "helper", Model: llmtest.Script(uses("write")), Tools: []tool.Tool{w}}
	s := (&agent.Agent{Model: llmtest.Script(delegates(1)), Tools: []tool.Tool{delegate(kind, false), w}, CanUseTool: deferAsked}).Session("")
	defer s.Close()
	for e := range s.Stream(t.Context(), "go") {
		if _, ok := e.Data.(fact.AgentSuspended); ok {
			suspended = true
		}
	}
	return suspended
}

func deferAsked(_ context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
	if v.Behavior == permission.Asked {
		return permission.Defer(), nil
	}
	return permission.Decision{}, nil
}

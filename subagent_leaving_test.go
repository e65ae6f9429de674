package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A background agent whose question is deferred needs a moment to leave after its parent's run has ended.
// Its question is known in that moment, and a resumed run continues the agent.
func TestSuspendedAgentLeaves(t *testing.T) {
	for name, early := range map[string]bool{"answered": true, "resumed before the answer": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				writes := 0
				w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
					writes++
					return tool.Text("wrote"), nil
				})
				s := leaving(t, w).Session("s")
				defer s.Close()
				if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
					t.Fatal(err)
				}
				if !early { // the answer comes to the run that asks again
					for _, err := range s.Resume(t.Context()) {
						if err != nil && !errors.Is(err, agent.ErrSuspended) {
							t.Fatal(err)
						}
					}
				}
				pending, err := s.Pending(t.Context())
				if err != nil || len(pending) != 1 {
					t.Fatalf("%d questions, %v", len(pending), err)
				}
				if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); err != nil {
					t.Fatal(err)
				}
				resume(t, s)
				if writes != 1 || s.Result().Reason != event.Completed {
					t.Errorf("%d writes, %+v", writes, s.Result())
				}
			})
		})
	}
}

// A prompt gives up an agent that waits for a decision, also in the moment in which the agent leaves.
func TestPromptWhileAgentLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
		s := leaving(t, w).Session("s")
		defer s.Close()
		if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if res, err := s.Prompt(ctx, "something else"); err != nil || res.Text != "end" {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// leaving returns an agent that starts another one in the background, which needs a second to leave and
// asks before it writes. The questions are deferred.
func leaving(t *testing.T, w tool.Tool) *agent.Agent {
	helper := &agent.Agent{Name: "helper", Model: byTurn(t, uses("write"), say("helped")), Tools: []tool.Tool{w}}
	start := tool.New(tool.Spec{Name: "delegate", Idempotent: true, Timeout: -1}, func(ctx context.Context, call tool.Call, _ number) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		id, err := p.Start(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: "work"}}, func(*agent.Result, error) { time.Sleep(time.Second) })
		return tool.Text(id), err
	}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })
	return &agent.Agent{Model: byTurn(t, delegates(1), say("end"), say("end"), say("end")), Tools: []tool.Tool{start, w}, Sessions: session.Memory(), AwaitAgents: true, CanUseTool: deferAsked}
}

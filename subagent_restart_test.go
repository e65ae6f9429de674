package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The call that restarts a suspended agent returns after the run has ended and the session
// was rewound past the agent's end. The session records an end again, and closes.
func TestRestartReturnsAfterRewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, release := session.Memory(), make(chan struct{})
		wrote := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
		starts := 0
		delegate := tool.New(tool.Spec{Name: "delegate", Idempotent: true, Timeout: -1}, func(ctx context.Context, call tool.Call, n number) (*tool.Result, error) {
			p, _ := agent.ParentOf(ctx)
			kind := &agent.Agent{Name: "helper", Model: byTurn(t, uses("write"), say("helped")), Tools: []tool.Tool{wrote}}
			id, err := p.Start(ctx, agent.Child{Agent: kind, Call: call.ID, Input: agent.Input{Text: fmt.Sprintf("work %d", n.N)}}, nil)
			if starts++; starts == 2 {
				<-release
			}
			return tool.Text(id), err
		}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })
		a := &agent.Agent{Model: byTurn(t, delegates(1), say("end"), say("end")), Tools: []tool.Tool{delegate}, Sessions: store, AwaitAgents: true, CanUseTool: deferAsked}
		s := a.Session("s")
		if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
		s.Close()

		s = a.Session("s")
		pending, err := s.Pending(t.Context())
		if err != nil || len(pending) != 1 {
			t.Fatal(pending, err)
		}
		if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); err != nil {
			t.Fatal(err)
		}
		resume(t, s)
		var start, ends int64
		for _, e := range history(t, store, "s") {
			if _, is := e.Data.(event.AgentStart); is && start == 0 {
				start = e.Seq
			}
		}
		if err := s.Rewind(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		close(release)
		synctest.Wait()
		s.Close()
		for _, e := range history(t, store, "s") {
			if _, is := e.Data.(event.AgentEnd); is {
				ends++
			}
		}
		if starts != 2 || ends != 2 {
			t.Errorf("%d starts and %d ends", starts, ends)
		}
	})
}

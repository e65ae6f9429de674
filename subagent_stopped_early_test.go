package agent_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// heldReads is a store in which reading a sub-agent's session waits for the end of its
// context, once: the agent is still at its start.
type heldReads struct {
	session.Store
	of   string // the parent's session
	held chan struct{}
}

func (s *heldReads) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	if id == s.of {
		return s.Store.Read(ctx, id, after)
	}
	return func(yield func(event.Event, error) bool) {
		close(s.held)
		<-ctx.Done()
		yield(event.Event{}, ctx.Err())
	}
}

// An agent that somebody stops at its very start is reported as stopped.
func TestAgentStoppedAtItsStart(t *testing.T) {
	for name, background := range map[string]bool{"foreground": false, "background": true} {
		t.Run(name, func(t *testing.T) {
			store := &heldReads{Store: session.Memory(), of: "s", held: make(chan struct{})}
			kind := &agent.Agent{Name: "helper", Model: llmtest.Script(say("done"))}
			var seen error
			a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end"), say("told of its end")), Sessions: store, Permissions: bypass,
				Tools: []tool.Tool{delegate(kind, background, &seen)}}
			s := a.Session("s")
			defer s.Close()
			stopped := make(chan error, 1)
			go func() {
				<-store.held
				stopped <- s.StopAgent("helper")
			}()
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			idle(t, s)
			var end event.AgentEnd
			for e, err := range store.Store.Read(t.Context(), "s", 0) {
				if err != nil {
					t.Fatal(err)
				}
				if f, ok := e.Data.(event.AgentEnd); ok {
					end = f
				}
			}
			if end.Reason != event.Interrupted || end.Message != "it was stopped" {
				t.Errorf("its end is %+v", end)
			}
			if !background && (seen == nil || strings.Contains(seen.Error(), "canceled")) {
				t.Errorf("the call fails with %v", seen)
			}
		})
	}
}

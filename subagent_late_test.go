package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// An agent may end after the run that started it was given up. The next prompt counts its
// usage.
func TestAgentEndsAfterItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		gate := make(chan struct{})
		delegates := tool.New(tool.Spec{Name: "delegate", ReadOnly: true, Timeout: -1}, func(ctx context.Context, c tool.Call, _ number) (*tool.Result, error) {
			p, _ := parentrun.Of(ctx)
			_, err := p.Run(ctx, parentrun.Child{Agent: &agent.Agent{Name: "helper", Model: llmtest.Script(say("helped"))}, Call: c.ID, Input: agent.Input{Text: "help"},
				Watch: func(event.Event) {
					cancel()
					<-gate
				}})
			return tool.Text("done"), err
		})
		a := &agent.Agent{Model: llmtest.Script(uses("delegate"), say("second")), Tools: []tool.Tool{delegates}, Permissions: bypass}
		s := a.Session("")
		defer s.Close()
		if _, err := s.Prompt(ctx, "first"); !errors.Is(err, agent.ErrToolStuck) {
			t.Fatalf("the first prompt: %v", err)
		}
		close(gate)
		synctest.Wait()
		ended := 0
		for e, err := range s.Stream(t.Context(), "second") {
			if err != nil {
				t.Fatal(err)
			}
			if f, ok := e.Data.(event.AgentEnd); ok && f.Agent == "helper" {
				ended++
			}
		}
		if ended != 1 {
			t.Errorf("the agent has ended %d times", ended)
		}
	})
}

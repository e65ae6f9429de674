package agent_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A run that awaits a hanging agent still ends at its time limit, which ends the agent too.
func TestAwaitedAgentHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Step{Text: "late", Delay: time.Hour} }}
		a := &agent.Agent{AwaitAgents: true, Budget: agent.Budget{Time: time.Minute}, Model: llmtest.Script(delegates(1), say("end")),
			Tools: []tool.Tool{delegate(&agent.Agent{Name: "helper", Model: slow}, true)}}
		run := a.Session("")
		began := time.Now()
		res, err := run.Prompt(t.Context(), "go")
		if err == nil || res.Reason != event.TimedOut || time.Since(began) != time.Minute {
			t.Errorf("%+v after %v, %v", res, time.Since(began), err)
		}
		synctest.Wait()
		if n := len(run.Children()); n != 0 {
			t.Errorf("%d agents are at work", n)
		}
		run.Close()
		if took := time.Since(began); took != time.Minute {
			t.Errorf("closed after %v", took)
		}
	})
}

// Closing a session while agents start ends all of them with that reason.
func TestClosedWhileAgentsStart(t *testing.T) {
	for range 100 {
		store := session.Memory()
		slow := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Step{Text: "late", Delay: time.Hour} }}
		kind := &agent.Agent{Name: "helper", Model: slow}
		a := &agent.Agent{Sessions: store, MaxParallelCalls: 20, Model: llmtest.Script(delegates(slices.Collect(count(20))...), say("end")),
			Tools: []tool.Tool{delegate(kind, rand.IntN(2) == 0)}}
		run := a.Session("s")
		ended := make(chan error, 1)
		go func() { _, err := run.Prompt(t.Context(), "go"); ended <- err }()
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		run.Close()
		if err := <-ended; err != nil && !errors.Is(err, agent.ErrInterrupted) && !errors.Is(err, agent.ErrClosed) {
			t.Error(err)
		}
		open := map[string]bool{}
		for e := range store.Read(t.Context(), "s", 0) {
			switch f := e.Data.(type) {
			case event.AgentStart:
				open[f.Key] = true
			case event.AgentEnd:
				delete(open, f.Key)
			}
		}
		if len(open) > 0 {
			t.Errorf("no end of %v is on record", open)
		}
	}
}

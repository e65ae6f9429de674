package agent_test

import (
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// TestOpenElsewhere checks what a program reads if another Session has the session open.
func TestOpenElsewhere(t *testing.T) {
	for name, store := range map[string]session.Store{"memory": session.Memory(), "dir": session.Dir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Model: llmtest.Script(llmtest.Say("ok"), llmtest.Say("ok")), Sessions: store}
			first := a.Session("ann")
			defer first.Close()
			if _, err := first.Prompt(t.Context(), "Hello."); err != nil {
				t.Fatal(err)
			}
			second := a.Session("ann")
			defer second.Close()
			_, err := second.Prompt(t.Context(), "Hello.")
			const want = "agent: opening session ann: session is in use by another process or agent; close it there"
			if err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}

package agent_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Without a store an agent remembers the sessions that have a name, and no others.
func TestNamedSessionsWithoutStore(t *testing.T) {
	count := func(r *llmtest.Request, _ int) llmtest.Step { return say(fmt.Sprint(len(r.Messages))) }
	a := &agent.Agent{Model: &llmtest.Model{Rule: count}}
	ask := func(a *agent.Agent, id string) string {
		t.Helper()
		s := a.Session(id)
		defer s.Close()
		res, err := s.Prompt(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		return res.Text
	}
	before := *a
	for i, want := range []string{"1", "3", "5"} {
		if got := ask(a, "x"); got != want {
			t.Errorf("prompt %d has %s messages", i, got)
		}
	}
	if y, unnamed, copied := ask(a, "y"), ask(a, ""), ask(&before, "x"); y != "1" || unnamed != "1" || copied != "1" {
		t.Errorf("other sessions have %s, %s and %s messages", y, unnamed, copied)
	}
	open := a.Session("x")
	defer open.Close()
	if _, err := open.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	other := a.Session("x")
	defer other.Close()
	if _, err := other.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("a session that is open elsewhere: %v", err)
	}
}

// Many goroutines use an agent without a store.
func TestNamedSessionsTogether(t *testing.T) {
	a := &agent.Agent{Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return say("ok") }}}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := a.Session(fmt.Sprint("s", i%2*i))
			s.Prompt(t.Context(), "go")
			s.Close()
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

package subagent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// After a restart of the program, TaskOutput and TaskGet know an agent that TaskStop has
// ended, by its name and its id, also if it had not begun.
func TestStoppedAgentIsKnownAfterRestart(t *testing.T) {
	s := newStage(t)
	s.plays("work", func(*llmtest.Request) llmtest.Step {
		return llmtest.Step{Text: "half of it", Calls: []llm.ToolUse{use("Bash", map[string]any{"command": "touch begun; sleep 60"})}}
	})
	s.plays("go", spawn("work", map[string]any{"run_in_background": true, "name": "ann"}),
		func(*llmtest.Request) llmtest.Step {
			for _, err := os.Stat(filepath.Join(s.dir, "begun")); err != nil; _, err = os.Stat(filepath.Join(s.dir, "begun")) {
				time.Sleep(time.Millisecond)
			}
			return llmtest.Call(use("TaskStop", map[string]any{"id": "ann"}))
		}, "end")
	first := s.agent.Session("s")
	if _, err := first.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	agents := workers(t, s, "s")
	first.Close()

	later := newStage(t)
	later.agent.Sessions = s.agent.Sessions
	var answers []string
	note := func(r *llmtest.Request) {
		if answers == nil {
			answers = []string{}
			return
		}
		last := r.Messages[len(r.Messages)-1]
		for _, b := range last.Content {
			if result, ok := b.(llm.ToolResult); ok {
				answers = append(answers, result.Content.Text())
			}
		}
	}
	ask := func(name, id string) func(r *llmtest.Request) llmtest.Step {
		return func(r *llmtest.Request) llmtest.Step {
			note(r)
			return llmtest.Call(use(name, map[string]any{"id": id}))
		}
	}
	later.plays("go", ask("TaskOutput", "ann"), ask("TaskGet", "ann"), ask("TaskOutput", agents[0]), func(r *llmtest.Request) llmtest.Step {
		note(r)
		return llmtest.Step{Text: "end"}
	})
	second := later.agent.Session("s")
	defer second.Close()
	if _, err := second.Prompt(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	for i, text := range answers {
		if !strings.Contains(text, "ann") || !strings.Contains(text, "was stopped") || !strings.Contains(text, "half of it") {
			t.Errorf("answer %d: %q", i, text)
		}
	}
	if len(answers) != 3 {
		t.Errorf("%d answers", len(answers))
	}
}

// workers returns the sessions of the agents that a session has put to work.
func workers(t *testing.T, s *stage, id string) (list []string) {
	t.Helper()
	for e, err := range s.agent.Sessions.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := e.Data.(event.AgentStart); ok {
			list = append(list, at.Session)
		}
		if at, ok := e.Data.(event.AgentEnd); ok {
			t.Logf("%+v", at)
		}
	}
	return list
}

package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// talked is a session with something to summarise; its model has the steps after that.
func talked(t *testing.T, store session.Store, steps ...llmtest.Step) (*agent.Session, *llmtest.Model) {
	t.Helper()
	m := llmtest.Script(append([]llmtest.Step{say(strings.Repeat("much ", 500)), say("two")}, steps...)...)
	s := (&agent.Agent{Model: m, Sessions: store, Permissions: bypass, Tools: []tool.Tool{talks}}).Session("s")
	t.Cleanup(func() { s.Close() })
	for range 2 {
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	return s, m
}

// What a model says beside a call of a tool, and what it could not finish because the
// window is full, is no summary: it is asked again.
func TestNotASummary(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"call":     {Text: "I look at the file first.", Calls: []llm.ToolUse{llmtest.Use("a", "long", number{1})}},
		"overflow": {Text: "<summary>The first half of", Stop: llm.Overflow},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(session.Memory)
			s, m := talked(t, store, step, say("<summary>All of it.</summary>"))
			if err := s.Compact(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			messages, err := s.Messages(t.Context())
			if err != nil || !strings.Contains(messages[0].Text(), "All of it.") || strings.Contains(messages[0].Text(), "first") {
				t.Errorf("%.300s (%v)", messages[0].Text(), err)
			}
			if n := len(m.Requests()); n != 4 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// A compaction that is interrupted changes nothing, and the next one is as if there had
// been none.
func TestInterruptedCompaction(t *testing.T) {
	store := new(session.Memory)
	s, m := talked(t, store, say(" "), llmtest.Step{Text: "never", Delay: time.Hour}, say("<summary>All of it.</summary>"))
	before, _ := s.Messages(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	starts := 0
	for e, err := range s.StreamInput(ctx, agent.Input{Compact: true}) {
		if err != nil {
			break
		}
		if f, ok := e.Data.(event.ModelStart); ok && f.Compacts != "" {
			if starts++; starts == 2 { // the second asks for less
				cancel()
			}
		}
	}
	after, err := s.Messages(t.Context())
	if err != nil || len(after) != len(before) || after[0].Text() != before[0].Text() {
		t.Fatalf("%d messages of %d, %v", len(after), len(before), err)
	}
	if err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	requests := m.Requests()
	first, last := requests[2], requests[len(requests)-1]
	if len(requests) < 4 || first.Thinking != last.Thinking || first.ToolChoice != last.ToolChoice {
		t.Errorf("%d requests, the last one is %+v", len(requests), last.ToolChoice)
	}
	for _, f := range history(t, store, "s") {
		if r, ok := f.Data.(event.Compacted); ok && r.Failed == "" && r.Until == 0 {
			t.Errorf("%+v", r)
		}
	}
}

package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
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

// Text beside a call of a tool is not a summary. Neither is text that is cut off because
// the window is full. The model is asked again.
func TestNotASummary(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"call":     {Text: "I look at the file first.", Calls: []llm.ToolUse{llmtest.Use("a", "long", number{1})}},
		"overflow": {Text: "<summary>The first half of", Stop: llmconst.Overflow},
	} {
		t.Run(name, func(t *testing.T) {
			store := session.Memory()
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

// A summary that is cut off is requested again, with more room and a limit in words. If the
// second one is cut off too, it is used and marked. The rest of its last line of memory is
// dropped, because half a line may say the opposite.
func TestCutSummary(t *testing.T) {
	half := llmtest.Step{Text: "<memory>\n- decision: a\n</memory>\n<summary>The first half of", Stop: llm.MaxTokens}
	for name, c := range map[string]struct {
		steps    []llmtest.Step
		want     string
		cut      bool
		memory   []string
		requests int
	}{
		"whole":   {[]llmtest.Step{half, say("<summary>All of it.</summary>")}, "<summary>\nAll of it.\n</summary>", false, nil, 4},
		"cut":     {[]llmtest.Step{half, {Text: "<memory>\n- decision: a\n</memory>\n<summary>The longer half of", Stop: llm.MaxTokens}}, "The longer half of\n</summary>\n\nThe summary was cut off before its end.", true, []string{"decision: a"}, 4},
		"trailer": {[]llmtest.Step{{Text: "<summary>All of it.</summary> And now I", Stop: llm.MaxTokens}}, "<summary>\nAll of it.\n</summary>", false, nil, 3},
		"plain":   {[]llmtest.Step{{Text: "One two", Stop: llm.MaxTokens}, {Text: "One two three", Stop: llm.MaxTokens}}, "One two three\n</summary>\n\nThe summary was cut off", true, nil, 4},
		"memory":  {[]llmtest.Step{{Text: "<memory>\n- constraint: never", Stop: llm.MaxTokens}, {Text: "<memory>\n- decision: b\n- constraint: never", Stop: llm.MaxTokens}, say("<summary>All of it.</summary>")}, "All of it.", false, nil, 5},
		"unended": {[]llmtest.Step{say("<memory>\n- decision: b\n<summary>All of it.</summary>")}, "<summary>\nAll of it.\n</summary>", false, []string{"decision: b"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			store := session.Memory()
			s, m := talked(t, store, c.steps...)
			if err := s.Compact(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			messages, err := s.Messages(t.Context())
			if err != nil || !strings.Contains(messages[0].Text(), c.want) {
				t.Errorf("%.600s (%v)", messages[0].Text(), err)
			}
			all := compactions(t, store, "s")
			if last := all[len(all)-1]; last.Cut != c.cut || !slices.Equal(last.Memory, c.memory) {
				t.Errorf("%+v", last)
			}
			requests := m.Requests()
			if len(requests) != c.requests {
				t.Fatalf("%d requests", len(requests))
			}
			if c.requests == 3 {
				return
			}
			first, again := requests[2], requests[3]
			if again.MaxTokens <= first.MaxTokens || again.Thinking.On() || !strings.Contains(again.Messages[len(again.Messages)-1].Text(), fmt.Sprintf("at most %d words", again.MaxTokens/2)) {
				t.Errorf("asked with %d tokens, then with %d", first.MaxTokens, again.MaxTokens)
			}
		})
	}
}

// What hooks say is for the writer of the summary, beside what the user says, and is no
// message to the model. It is on record, so that a resumed compaction has it too.
func TestHooksInstructSummaries(t *testing.T) {
	store := session.Memory()
	s, m := talked(t, store, llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, RetryAfter: time.Millisecond}), say("<summary>All of it.</summary>"), say("three"))
	def := *s.Agent()
	for _, text := range []string{"keep the ticket's number", strings.Repeat("x", 20_000)} {
		def.Hooks = append(def.Hooks, hook.Hook{On: hook.PreCompact, Match: "manual", Func: func(context.Context, *hook.Input) (hook.Output, error) {
			return hook.Output{Context: text}, nil
		}})
	}
	s.Close()
	s = def.Session("s")
	defer s.Close()
	if err := s.Compact(t.Context(), "mind the parser"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), "and?"); err != nil {
		t.Fatal(err)
	}
	requests := m.Requests()
	for _, r := range requests[2:4] {
		ask := r.Messages[len(r.Messages)-1].Text()
		if !strings.Contains(ask, "The user says of this summary: mind the parser\n\nA hook says of this summary: keep the ticket's number\nxxx") || len(ask) > 16_000 {
			t.Errorf("%d bytes: %.3000s", len(ask), ask)
		}
	}
	for _, msg := range requests[4].Messages {
		if strings.Contains(msg.Text(), "ticket") {
			t.Errorf("the model is told: %s", msg.Text())
		}
	}
}

// A compaction that is interrupted changes nothing, and the next one is as if there had
// been none.
func TestInterruptedCompaction(t *testing.T) {
	store := session.Memory()
	s, m := talked(t, store, say(" "), llmtest.Step{Text: "never", Delay: time.Hour}, say("<summary>All of it.</summary>"))
	before, _ := s.Messages(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	starts := 0
	for e, err := range s.StreamInput(ctx, agent.Input{Compact: true}) {
		if err != nil {
			break
		}
		if f, ok := e.Data.(fact.ModelStart); ok && f.Compacts != "" {
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

package tools

import (
	"context"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

func TestPauseForHuman(t *testing.T) {
	for input, want := range map[string]string{`{"reason":" "}`: "reason is empty", `{}`: "reason", `{"reason":"` + strings.Repeat("a", maxReason+1) + `"}`: "more than 2000"} {
		if r := tooltest.Run(t, newPauseForHuman(), input); !r.IsError || !strings.Contains(r.Text(), want) || len(r.Questions) > 0 {
			t.Errorf("%.40s: %s", input, r.Text())
		}
	}
	m := llmtest.Script(llmtest.Call(llmtest.Use("", "PauseForHuman", pauseInput{"Look at the plan\nof today"})), llmtest.Step{Text: "end"})
	a := &agent.Agent{Model: m, Tools: []tool.Tool{newPauseForHuman()}}
	if pool, err := a.ResolveTools(t.Context()); err != nil || len(pool) != 0 {
		t.Errorf("offered where nobody is: %v, %v", pool, err)
	}
	var asked tool.Question
	a.AskUser = func(_ context.Context, _ tool.Call, qs []tool.Question) ([]tool.Answer, error) {
		asked = qs[0]
		return []tool.Answer{{Options: []string{"Continue"}, Text: "but slowly"}}, nil
	}
	s := a.Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	messages, err := s.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := messages[2].Content[0].(llm.ToolResult).Content.Text()
	if asked.Text != "Look at the plan\nof today" || !strings.Contains(told, "Continue, but slowly") {
		t.Errorf("asked %+v, told %q", asked, told)
	}
	if r := tooltest.Run(t, newPauseForHuman(), pauseInput{"x"}); !strings.Contains(r.Text(), "Nobody is there") {
		t.Errorf("nobody: %s", r.Text())
	}
}

// The answer of a run that the model ends is the tool's result, all of it.
func TestAttemptCompletion(t *testing.T) {
	if r := tooltest.Run(t, newAttemptCompletion(), completionInput{" "}); !r.IsError || r.Patch.EndRun {
		t.Errorf("an empty answer ends the run: %+v", r)
	}
	answer := strings.Repeat("a line of the answer\n", 5000)
	m := llmtest.Script(llmtest.Call(llmtest.Use("", "TodoRead", nil), llmtest.Use("", "attempt_completion", completionInput{answer})))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{newTodoRead(), newAttemptCompletion()}}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil || res.Reason != event.ToolEnded || res.Text != answer {
		t.Errorf("%v, %+v", err, res)
	}
}

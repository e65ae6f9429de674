package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// poll is a tool whose results result returns.
func poll(result func(n int) string) tool.Tool {
	n := 0
	return tool.Func(tool.Spec{Name: "poll", ReadOnly: true}, func(context.Context, number) (string, error) {
		n++
		return result(n), nil
	})
}

// polls is a model that makes the same call in the given number of answers.
func polls(times int) *llmtest.Model {
	return &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		if n >= times {
			return say("end")
		}
		return uses("poll")
	}}
}

// The loop guard ends a run whose call has the same result again and again, within the
// limits of Agent.Loop. It does not end a run that polls.
func TestLoop(t *testing.T) {
	same := func(int) string { return "pending" }
	for _, c := range []struct {
		name   string
		loop   event.Loop
		result func(n int) string
		turns  int // 0: the run completes
	}{
		{"same result", event.Loop{}, same, 3},
		{"another time", event.Loop{}, func(n int) string { return fmt.Sprintf("pending since %d.3s", n) }, 3},
		{"other results", event.Loop{}, func(n int) string { return fmt.Sprint(n, " of 10") }, 0},
		{"pairs", event.Loop{Repeats: 3}, func(n int) string { return fmt.Sprint(n/2, " of 10") }, 0},
		{"five", event.Loop{Repeats: 5}, same, 6},
		{"one", event.Loop{Repeats: 1}, same, 2},
		{"off", event.Loop{Off: true}, same, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &agent.Agent{Model: polls(10), Tools: []tool.Tool{poll(c.result)}, Loop: c.loop}
			res, err := a.Prompt(t.Context(), "go")
			if c.turns == 0 {
				if err != nil || res.Turns != 11 {
					t.Errorf("%+v, %v", res, err)
				}
			} else if !errors.Is(err, agent.ErrLimit) || res.Reason != event.DoomLoop || res.Turns != c.turns {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	bad := &agent.Agent{Model: llmtest.Script(), Loop: event.Loop{Repeats: -1}}
	if _, err := bad.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("a negative number is taken: %v", err)
	}
}

// A call that has the same result in each answer is no loop while another call of the answer
// has a new one, also in a batch.
func TestLoopBesidePolling(t *testing.T) {
	still := tool.Func(tool.Spec{Name: "still", ReadOnly: true}, func(context.Context, number) (string, error) { return "unchanged", nil })
	for _, changes := range []bool{true, false} {
		for name, calls := range map[string][]llm.ToolUse{
			"side by side": {llmtest.Use("", "still", number{1}), llmtest.Use("", "poll", number{})},
			"batch":        {llmtest.Use("", "Batch", map[string]any{"tool_calls": []any{map[string]any{"tool": "still", "parameters": number{1}}, map[string]any{"tool": "poll", "parameters": number{}}}})},
		} {
			m := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
				if n == 10 {
					return say("end")
				}
				return llmtest.Step{Calls: calls}
			}}
			result := func(n int) string { return "pending" }
			if changes {
				result = func(n int) string { return fmt.Sprint(n, " of 10") }
			}
			a := &agent.Agent{Model: m, Tools: []tool.Tool{still, poll(result), tools.Batch()}}
			res, err := a.Prompt(t.Context(), "go")
			if changes && (err != nil || res.Turns != 11) || !changes && (res.Reason != event.DoomLoop || res.Turns != 3) {
				t.Errorf("%s, changes %v: %+v, %v", name, changes, res, err)
			}
		}
	}
}

// Different calls that fail do not end a run. The same one that fails in the same way does,
// also with others in between.
func TestLoopFailures(t *testing.T) {
	run := func(loop event.Loop, input func(n int) int) (*agent.Result, error) {
		m := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
			if n == 12 {
				return say("end")
			}
			return llmtest.Call(llmtest.Use("", "write", number{input(n)}))
		}}
		a := &agent.Agent{Model: m, Tools: []tool.Tool{fine}, Loop: loop,
			CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
				return permission.Deny("no"), nil
			}}
		return a.Prompt(t.Context(), "go")
	}
	if res, err := run(event.Loop{}, func(n int) int { return n }); err != nil || res.Turns != 13 {
		t.Errorf("different calls: %+v, %v", res, err)
	}
	if res, err := run(event.Loop{}, func(n int) int { return n % 2 }); res.Reason != event.DoomLoop || res.Turns != 7 {
		t.Errorf("two calls in turn: %+v, %v", res, err)
	}
	if res, err := run(event.Loop{Failures: 5}, func(n int) int { return n % 2 }); res.Reason != event.DoomLoop || res.Turns != 11 {
		t.Errorf("two calls in turn, with five failures: %+v, %v", res, err)
	}
}

// A resumed run counts the results from before, with the limits that it began with.
func TestLoopResumed(t *testing.T) {
	for _, c := range []struct {
		loop  event.Loop
		turns int
	}{{event.Loop{}, 3}, {event.Loop{Repeats: 4}, 5}, {event.Loop{Off: true}, 11}} {
		var steps []llmtest.Step
		for range 10 {
			steps = append(steps, uses("poll"))
		}
		steps = append(steps, say("end"))
		agentWith := func(loop event.Loop, store session.Store) *agent.Session {
			a := &agent.Agent{Model: byTurn(t, steps...), Tools: []tool.Tool{poll(func(int) string { return "pending" })}, Loop: loop, Sessions: store}
			return a.Session("s")
		}
		first := agentWith(c.loop, nil)
		full, _ := collect(t, first, "go")
		first.Close()
		var facts []event.Event
		for _, e := range full {
			if e.Seq > 0 {
				facts = append(facts, e)
			}
		}
		for cut := 2; cut < len(facts); cut++ {
			s := agentWith(event.Loop{}, seeded(t, facts[:cut]))
			for range s.Resume(t.Context()) {
			}
			if res := s.Result(); res == nil || res.Turns != c.turns || (c.turns == 11) != (res.Reason == event.Completed) {
				t.Errorf("%+v, cut after %d facts: %+v", c.loop, cut, res)
			}
			s.Close()
		}
	}
}

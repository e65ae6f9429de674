package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// batch makes a call of Batch.
func batch(names ...string) llmtest.Step {
	var calls []map[string]any
	for i, n := range names {
		calls = append(calls, map[string]any{"tool": n, "parameters": number{i}})
	}
	return llmtest.Call(llmtest.Use("b", "Batch", map[string]any{"tool_calls": calls}))
}

// The calls of a batch take the same path as the model's calls: rules, callback and
// records. The strict server sees one result.
func TestBatch(t *testing.T) {
	server := llmtest.NewPipe(t, batch("double", "write", "Write", "nope", "forbidden"), say("end"))
	var asked []string
	ran := 0
	forbidden := tool.Func(tool.Spec{Name: "forbidden"}, func(context.Context, number) (string, error) { t.Error("a denied call ran"); return "", nil })
	a := &agent.Agent{Model: (&anthropic.Client{BaseURL: server.URL, HTTP: server.Client(), APIKey: "k"}).Model("claude-sonnet-4-6"), Tools: []tool.Tool{double, tools.Batch(), forbidden,
		write(func(_ context.Context, c tool.Call, n int) (*tool.Result, error) {
			ran++
			return tool.Text(fmt.Sprint("wrote ", n)), nil
		})},
		Permissions: permission.Policy{Deny: []permission.Rule{"forbidden(*)"}},
		CanUseTool: func(_ context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
			if v.Behavior == permission.Asked {
				asked = append(asked, c.ID+" "+c.Name)
				if len(asked) == 2 {
					return permission.Deny("once is enough"), nil
				}
			}
			return permission.Allow(), nil
		}}
	var seen []string
	var result event.ToolResult
	for e, err := range a.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.Data.(event.ToolResult); ok {
			seen = append(seen, r.Call)
			result = r
		}
	}
	id, _, _ := strings.Cut(result.Call, ".")
	slices.Sort(seen)
	if want := []string{".0", ".0.1", ".0.2", ".0.3", ".0.4", ".0.5"}; len(seen) != len(want) || seen[0] != id+want[0] || seen[5] != id+want[5] {
		t.Errorf("results of %v", seen)
	}
	if ran != 1 || len(asked) != 2 || asked[0] != id+".0.2 write" || asked[1] != id+".0.3 write" {
		t.Errorf("ran %d times; asked about %v", ran, asked)
	}
	for _, want := range []string{"== 1. double ==\n0\n", "== 2. write ==\nwrote 1\n", "== 3. write, failed ==\nPermission denied: once is enough\n",
		"== 4. nope, failed ==\nthere is no tool", "== 5. forbidden, failed ==\nPermission denied"} {
		if !strings.Contains(result.Result.Text(), want) {
			t.Errorf("no %q in:\n%s", want, result.Result.Text())
		}
	}
	var details struct {
		Calls []struct {
			Tool    string `json:"tool"`
			IsError bool   `json:"is_error"`
		} `json:"calls"`
	}
	if err := json.Unmarshal(result.Result.Details, &details); err != nil || len(details.Calls) != 5 || details.Calls[0].IsError || !details.Calls[3].IsError {
		t.Errorf("details %s, %v", result.Result.Details, err)
	}
}

// A batch that was interrupted anywhere gets an answer, and none of its calls is repeated.
func TestBatchCut(t *testing.T) {
	for cut := range 5 {
		ran := map[string]int{}
		w := write(func(_ context.Context, c tool.Call, n int) (*tool.Result, error) {
			ran[c.ID]++
			if n == cut {
				panic("out") // the call fails, the batch goes on
			}
			return tool.Text("ok"), nil
		})
		var last *llm.Request
		script := llmtest.Script(batch("write", "write", "write", "write"), llmtest.Reply(func(r *llm.Request) llm.Response {
			last = r
			return llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "end"}}}}
		}))
		a := agent.Agent{Model: script, Tools: []tool.Tool{w, tools.Batch()}, Permissions: bypass}
		if _, err := a.Prompt(t.Context(), "go"); err != nil || len(ran) != 4 {
			t.Fatal(ran, err)
		}
		answer := last.Messages[len(last.Messages)-1].Content
		if r, ok := answer[0].(llm.ToolResult); !ok || len(answer) != 1 || r.IsError || strings.Contains(r.Content.Text(), "panicked") != (cut < 4) {
			t.Errorf("cut %d: %+v", cut, answer)
		}
	}
}

// An answer makes a bounded number of calls, whether it names them itself or in
// batches. What is too much is refused with an error that says so, and runs nothing.
func TestBatchBounds(t *testing.T) {
	ran := 0
	count := tool.Func(tool.Spec{Name: "count"}, func(context.Context, number) (string, error) { ran++; return "counted", nil })
	run := func(batches, each int) (refused []string, done int) {
		t.Helper()
		ran = 0
		var uses []llm.ToolUse
		for range batches {
			uses = append(uses, batch(slices.Repeat([]string{"count"}, each)...).Calls...)
		}
		for i := range uses {
			uses[i].ID = fmt.Sprint("b", i)
		}
		m := llmtest.Script(llmtest.Call(uses...), say("end"))
		a := &agent.Agent{Model: m, Tools: []tool.Tool{count, tools.Batch()}, Permissions: permission.Policy{Allow: []permission.Rule{"*"}}}
		if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "end" {
			t.Fatalf("%+v, %v", res, err)
		}
		for _, b := range m.Requests()[1].Messages[2].Content {
			if r := b.(llm.ToolResult); r.IsError {
				refused = append(refused, r.Content.Text())
			} else {
				done++
			}
		}
		return refused, done
	}
	for _, each := range []int{26, 10_000} {
		if refused, done := run(1, each); ran != 0 || done != 0 || len(refused) != 1 || !strings.Contains(refused[0], fmt.Sprintf("tool_calls has %d calls; make at most 25", each)) {
			t.Errorf("%d calls: %d ran, %v", each, ran, refused)
		}
	}
	if refused, done := run(10, 25); ran != 250 || done != 10 {
		t.Errorf("%d ran: %v", ran, refused)
	}
	const many = 100
	refused, done := run(many, 25)
	if ran == 0 || ran > llmconst.MaxBlocks || len(refused)+done != many || !strings.Contains(refused[0], "in your next answer") {
		t.Errorf("%d ran, %d were refused: %.200s", ran, len(refused), refused)
	}
}

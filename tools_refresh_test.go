package agent_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// changing is a tool set that becomes another one.
type changing struct {
	version atomic.Uint64
	lists   [][]tool.Tool
	asked   atomic.Int64
}

func (c *changing) Tools(context.Context) ([]tool.Tool, error) {
	c.asked.Add(1)
	return c.lists[c.version.Load()], nil
}

func (c *changing) Version() uint64 { return c.version.Load() }

func (c *changing) Instructions() string {
	return "about " + names(c.lists[c.version.Load()])
}

func plain(name string) tool.Tool {
	return tool.Func(tool.Spec{Name: name, ReadOnly: true, Description: strings.Repeat("words ", 20)}, func(context.Context, number) (string, error) { return name + " ran", nil })
}

// A tool set that changes while a run goes on is asked again before the next request,
// once. What the model has seen stays first; a call of a tool that has gone since
// is answered.
func TestToolsetsThatChange(t *testing.T) {
	set := &changing{lists: [][]tool.Tool{{plain("b"), plain("gone")}, {plain("a"), plain("b")}}}
	change := tool.Func(tool.Spec{Name: "change", ReadOnly: true}, func(context.Context, number) (string, error) {
		set.version.Store(1)
		return "changed", nil
	})
	var seen, prompts []string
	step := func(calls ...string) llmtest.Step {
		return llmtest.Reply(func(r *llm.Request) llm.Response {
			var list []string
			for _, d := range r.Tools {
				list = append(list, d.Name)
			}
			seen, prompts = append(seen, strings.Join(list, " ")), append(prompts, r.System)
			if len(calls) == 0 {
				return llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "end"}}}}
			}
			m := llm.Message{Role: llm.Assistant}
			for i, name := range calls {
				m.Content = append(m.Content, llm.ToolUse{ID: name + string(rune('0'+i)), Name: name, Input: []byte(`{"n":1}`)})
			}
			return llm.Response{Stop: llm.UseTools, Message: m}
		})
	}
	a := &agent.Agent{System: "You are.", Model: llmtest.Script(step("change"), step("a"), step("gone"), step(), step()), Tools: []tool.Tool{change}, Toolsets: []tool.Set{set}}
	s := a.Session("")
	defer s.Close()
	var results []string
	changed := 0
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case event.ToolResult:
			results = append(results, d.Result.Text())
		case fact.ToolsChanged:
			changed++
		}
	}
	if _, err := s.Prompt(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"change b gone", "change b a", "change b a", "change b a", "change a b"}; !slices.Equal(seen, want) {
		t.Errorf("the model sees %q, not %q", seen, want)
	}
	if prompts[0] != "You are.\n\nabout b gone" || prompts[1] != "You are.\n\nabout a b" {
		t.Errorf("%q", prompts)
	}
	if results[1] != "a ran" || !strings.Contains(results[2], "gone") || changed != 1 || set.asked.Load() != 3 {
		t.Error(results, changed, set.asked.Load())
	}
}

// Tools that a model has found stay found when their set changes, and those of a set
// that become too many are deferred, but for those that say otherwise and those that
// it has seen.
func TestDeferredToolsThatChange(t *testing.T) {
	many := []tool.Tool{plain("seen")}
	for _, c := range "abcdefghij" {
		many = append(many, plain("many_"+string(c)))
	}
	always := tool.Func(tool.Spec{Name: "always", AlwaysLoad: true}, func(context.Context, number) (string, error) { return "", nil })
	set := &changing{lists: [][]tool.Tool{{plain("seen")}, append(many, always), append(slices.Clone(many[1:]), always)}}
	to := func(n uint64) tool.Tool {
		return tool.Func(tool.Spec{Name: "to" + string(rune('0'+n)), ReadOnly: true}, func(context.Context, number) (string, error) {
			set.version.Store(n)
			return "", nil
		})
	}
	var seen []string
	step := func(name string, input map[string]any) llmtest.Step {
		return llmtest.Reply(func(r *llm.Request) llm.Response {
			var list []string
			for _, d := range r.Tools {
				list = append(list, d.Name)
			}
			seen = append(seen, strings.Join(list, " "))
			if name == "" {
				return llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "end"}}}}
			}
			return llm.Response{Stop: llm.UseTools, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llmtest.Use("", name, input)}}}
		})
	}
	n := map[string]any{"n": 1}
	model := llmtest.Script(step("to1", n), step("ToolSearch", map[string]any{"query": "select:many_c"}), step("many_c", n), step("to2", n), step("", nil))
	model.Facts.Window = 100_000
	a := &agent.Agent{Model: model, Tools: []tool.Tool{to(1), to(2), tools.ToolSearch()}, Toolsets: []tool.Set{set}, DeferAbove: 0.005,
		Permissions: permission.Policy{Mode: permission.Bypass}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	want := []string{"to1 to2 seen", "to1 to2 seen ToolSearch always", "to1 to2 seen ToolSearch always many_c", "to1 to2 seen ToolSearch always many_c", "to1 to2 ToolSearch always many_c"}
	if !slices.Equal(seen, want) {
		t.Errorf("the model sees\n%s\nnot\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

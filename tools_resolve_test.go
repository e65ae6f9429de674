package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func names(pool []tool.Tool) string {
	var out []string
	for _, t := range pool {
		out = append(out, t.Spec().Name)
	}
	return strings.Join(out, " ")
}

// Models that write patches get ApplyPatch instead of the tools that replace text. All
// others get those tools. The table of models may say otherwise.
func TestPatches(t *testing.T) {
	ws := &workspace.Workspace{Root: t.TempDir()}
	defer ws.Close()
	var own catalog.Table
	for name, edits := range map[string]string{"claude-sonnet-4-6": llmconst.EditsPatch, "gpt-5": llmconst.EditsReplace} {
		e, _ := catalog.Embedded().Lookup("", name)
		e.Edits = edits
		if err := own.Register(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := own.Register(catalog.Entry{Name: "x", Edits: "guess"}); err == nil {
		t.Error("an unknown form of edits is registered")
	}
	all := []tool.Tool{tools.Read(ws), tools.Write(ws), tools.Edit(ws), tools.ApplyPatch(ws), tools.MultiEdit(ws)}
	const replacing, patching = "Read Write Edit MultiEdit", "Read ApplyPatch"
	for _, test := range []struct {
		model llm.Model
		want  string
	}{
		{anthropic.Model("claude-sonnet-4-6"), replacing},
		{openai.Model("gpt-5"), patching}, {openai.Model("gpt-6-unheard-of"), patching}, {openai.Model("openai/gpt-5.2"), patching},
		{openai.Model("gpt-4.1"), replacing}, {openai.Model("gpt-oss-120b"), replacing}, {openai.Model("deepseek-chat"), replacing},
		{(&anthropic.Client{Catalog: &own}).Model("claude-sonnet-4-6"), patching}, {(&openai.Client{Catalog: &own}).Model("gpt-5"), replacing},
	} {
		a := &agent.Agent{Model: test.model, Tools: all}
		if pool, err := a.ResolveTools(t.Context()); err != nil || names(pool) != test.want {
			t.Errorf("%s: %s, %v", test.model.Name(), names(pool), err)
		}
	}
	alone := &agent.Agent{Model: anthropic.Model("claude-sonnet-4-6"), Tools: []tool.Tool{tools.ApplyPatch(ws)}}
	if pool, err := alone.ResolveTools(t.Context()); err != nil || names(pool) != "ApplyPatch" {
		t.Error("a tool that is the only one of its kind is hidden:", names(pool), err)
	}
}

// Tools named as deferred are found only by a search.
func TestDeferredByName(t *testing.T) {
	var seen [][]string
	look := func(step llmtest.Step) llmtest.Step {
		return llmtest.Reply(func(r *llm.Request) llm.Response {
			var names []string
			for _, s := range r.Tools {
				names = append(names, s.Name)
			}
			seen = append(seen, names)
			m := llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "end"}}}
			stop := llm.EndTurn
			if len(step.Calls) > 0 {
				m.Content, stop = llm.Blocks{step.Calls[0]}, llm.UseTools
			}
			return llm.Response{Message: m, Stop: stop}
		})
	}
	a := &agent.Agent{Tools: []tool.Tool{double, tools.ToolSearch(), tools.TodoWrite()}, DeferredTools: []string{"TodoWrite", "nope"},
		Model: llmtest.Script(look(llmtest.Call(llmtest.Use("1", "ToolSearch", map[string]any{"query": "todo"}))), look(llmtest.Step{}))}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || !slices.Equal(seen[0], []string{"double", "ToolSearch"}) || !slices.Equal(seen[1], []string{"double", "ToolSearch", "TodoWrite"}) {
		t.Error(seen)
	}
}

// A tool is replaced while a prompt runs: the next request describes the new one,
// the next call runs it, and so do later prompts.
func TestReplaceTool(t *testing.T) {
	made := func(text string) tool.Tool {
		return tool.New(tool.Spec{Name: "tell", Description: text, ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
			return tool.Text(text), nil
		})
	}
	var s *agent.Session
	swap := tool.Func(tool.Spec{Name: "swap", ReadOnly: true}, func(ctx context.Context, _ number) (string, error) {
		return "swapped", s.ReplaceTool(ctx, made("new"))
	})
	var described []string
	var said []string
	model := func(step llmtest.Step) llmtest.Step {
		return llmtest.Reply(func(r *llm.Request) llm.Response {
			for _, d := range r.Tools {
				if d.Name == "tell" {
					described = append(described, d.Description)
				}
			}
			if res, ok := r.Messages[len(r.Messages)-1].Content[0].(llm.ToolResult); ok {
				said = append(said, res.Content.Text())
			}
			if len(step.Calls) == 0 {
				return llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "end"}}}}
			}
			return llm.Response{Stop: llm.UseTools, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{step.Calls[0]}}}
		})
	}
	a := &agent.Agent{Model: llmtest.Script(model(uses("tell")), model(uses("swap")), model(uses("tell")), model(llmtest.Step{}), model(uses("tell")), model(llmtest.Step{})),
		Tools: []tool.Tool{made("old"), swap}, Permissions: permission.Policy{Mode: permission.Bypass}}
	s = a.Session("")
	defer s.Close()
	for range 2 {
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"old", "old", "new", "new", "new", "new"}; !slices.Equal(described, want) {
		t.Errorf("described as %v", described)
	}
	if want := []string{"old", "swapped", "new", "new"}; !slices.Equal(said, want) {
		t.Errorf("the results are %v", said)
	}
	if err := s.ReplaceTool(t.Context(), swap); err != nil {
		t.Error("between prompts:", err)
	}
	other := tool.Func(tool.Spec{Name: "other"}, func(context.Context, number) (string, error) { return "", nil })
	if err := s.ReplaceTool(t.Context(), other); !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), "other") {
		t.Error("a tool that is not there:", err)
	}
}

package agent_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// The option Tools names tools that a kind of sub-agents brings along. A kind that loses all
// of them is in the log.
func TestPromptToolsOfSubagents(t *testing.T) {
	for name, c := range map[string]struct {
		tools []string
		has   []string // tools of the sub-agent
		lost  bool
	}{
		"none named": {tools: []string{"Agent"}, lost: true},
		"one named":  {tools: []string{"Agent", "search_docs"}, has: []string{"search_docs"}},
		"both named": {tools: []string{"Agent", "search_docs", "read_doc"}, has: []string{"search_docs", "read_doc"}},
		"no option":  {has: []string{"search_docs", "read_doc"}},
		"no agents":  {tools: []string{"own"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := func(name string) tool.Tool {
				return tool.Func(tool.Spec{Name: name, Description: name, ReadOnly: true}, func(context.Context, struct{}) (string, error) { return "ok", nil })
			}
			model := &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
				"You lead.": llmtest.Steps(
					llmtest.Call(llmtest.Use("1", "Agent", map[string]string{"subagent_type": "research", "description": "x", "prompt": "search"})),
					llmtest.Say("done"),
				),
				"You research.": llmtest.Steps(llmtest.Say("found")),
			})}
			manager := &subagent.Manager{NoBuiltin: true, Definitions: []subagent.Definition{{Description: "d",
				Agent: &agent.Agent{Name: "research", System: "You research.", Tools: []tool.Tool{found("search_docs"), found("read_doc")}}}}}
			var log bytes.Buffer
			a := &agent.Agent{Model: model, System: "You lead.", Tools: []tool.Tool{tools.Agent(manager), found("own")}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			if _, err := a.Do(t.Context(), agent.Input{Text: "go", Tools: c.tools}); err != nil {
				t.Fatal(err)
			}
			var has []string
			for _, r := range model.Requests() {
				if strings.Contains(r.System, "You research.") {
					for _, tool := range r.Tools {
						has = append(has, tool.Name)
					}
				}
			}
			if !slices.Equal(has, c.has) {
				t.Errorf("the sub-agent has %q, want %q", has, c.has)
			}
			warned := strings.Contains(log.String(), "leave a sub-agent without any tool") && strings.Contains(log.String(), "search_docs")
			if warned != c.lost {
				t.Errorf("warned: %v\n%s", warned, log.String())
			}
		})
	}
}

// NoBuiltin leaves only the kinds of the program in the description of Agent.
func TestNoBuiltinKinds(t *testing.T) {
	for _, without := range []bool{false, true} {
		m := &subagent.Manager{NoBuiltin: without, Definitions: []subagent.Definition{{Description: "d", Agent: &agent.Agent{Name: "research"}}}}
		text := tools.Agent(m).Spec().Description
		for _, kind := range []string{"general-purpose", "Explore", "Plan"} {
			if strings.Contains(text, "\n- "+kind+": ") == without {
				t.Errorf("NoBuiltin %v: %s", without, text)
			}
		}
		if !strings.Contains(text, "\n- research: d") {
			t.Error(text)
		}
	}
}

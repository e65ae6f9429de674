package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

var deferredTools = []tool.Spec{
	{Name: "mcp__github__create_issue", Description: "Create a new issue in a repository."},
	{Name: "mcp__github__list_issues", Description: "List issues."},
	{Name: "queryDatabase", Description: "Run SQL."},
	{Name: "weather", Description: "Report the weather.\nIn detail."},
}

func TestToolSearch(t *testing.T) {
	search := ToolSearch().(toolSearch).Over(deferredTools)
	tooltest.Check(t, search)
	if d := search.Spec().Description; !strings.Contains(d, "To be found: mcp__github__create_issue, mcp__github__list_issues, queryDatabase, weather.") {
		t.Errorf("the description is %q", d)
	}
	for query, want := range map[string]string{
		"create issue":            "[mcp__github__create_issue]",
		"issue":                   "[mcp__github__create_issue mcp__github__list_issues]",
		"database":                "[queryDatabase]",
		"select:Weather,nope":     "[weather]",
		"forecast of the weather": "[weather]",
		"quantum":                 "[]",
		"":                        "[]",
	} {
		r := tooltest.Run(t, search, map[string]any{"query": query})
		if got := fmt.Sprint(r.Patch.Enable); got != want || r.IsError {
			t.Errorf("%q finds %s: %s", query, got, r.Text())
		}
	}
	if r := tooltest.Run(t, search, map[string]any{"query": "select:nope"}); !r.IsError || !strings.Contains(r.Text(), `"nope"`) {
		t.Errorf("an unknown name gives %q", r.Text())
	}
	if r := tooltest.Run(t, search, map[string]any{"query": "issue", "max_results": 1}); len(r.Patch.Enable) != 1 {
		t.Errorf("found %v", r.Patch.Enable)
	}
	if d := ToolSearch().Spec().Description; !strings.Contains(d, "no tools to be found") {
		t.Errorf("unbound the description is %q", d)
	}
}

func TestAskUser(t *testing.T) {
	ask := AskUser()
	tooltest.Check(t, ask)
	option := func(labels ...string) []map[string]any {
		var out []map[string]any
		for _, l := range labels {
			out = append(out, map[string]any{"label": l})
		}
		return out
	}
	question := func(text string, labels ...string) map[string]any {
		return map[string]any{"question": text, "options": option(labels...)}
	}
	r := tooltest.Run(t, ask, map[string]any{"questions": []any{question("Which?", "a", "b"), question("Why?")}})
	if r.IsError || len(r.Questions) != 2 || r.Questions[0].Options[1].Label != "b" || !strings.Contains(r.Text(), "Nobody is there") {
		t.Errorf("got %+v", r)
	}
	for name, questions := range map[string][]any{
		"none":    {},
		"empty":   {question(" ")},
		"equal":   {question("x", "a", "a")},
		"unnamed": {question("x", "")},
		"many":    {question("1"), question("2"), question("3"), question("4"), question("5")},
		"options": {question("x", "1", "2", "3", "4", "5", "6", "7", "8", "9")},
	} {
		if r := tooltest.Run(t, ask, map[string]any{"questions": questions}); !r.IsError || r.Questions != nil {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// A form that a person could not understand is declined without a question. Invalid answers
// are asked for again, with the reason.
func TestForms(t *testing.T) {
	var many, choices []string
	for i := range 60 {
		many = append(many, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
		choices = append(choices, fmt.Sprintf(`"c%d"`, i))
	}
	one := func(schema string) string {
		return `{"type":"object","properties":{"x":` + schema + `},"required":["x"]}`
	}
	for _, c := range []struct {
		name, schema string
		says         []string // to x, in turn
		want         string
		problem      string
	}{
		{"no schema", ``, nil, `decline`, ""},
		{"no object", `[]`, nil, `decline`, ""},
		{"no members", `{"type":"object"}`, nil, `accept {}`, ""},
		{"properties that are a list", `{"properties":[1]}`, nil, `decline`, ""},
		{"a member that is no schema", one(`7`), nil, `decline`, ""},
		{"too many members", `{"properties":{` + strings.Join(many, ",") + `}}`, nil, `decline`, ""},
		{"too many choices", one(`{"type":"string","enum":[` + strings.Join(choices, ",") + `]}`), nil, `decline`, ""},
		{"a number", one(`{"type":"number","minimum":1,"maximum":2}`), []string{"3", "NaN", "1.5"}, `accept {"x":1.5}`, "a number is needed"},
		{"a whole number", one(`{"type":"integer"}`), []string{"1.5", "7"}, `accept {"x":7}`, "a whole number is needed"},
		{"yes", one(`{"type":"boolean"}`), []string{"maybe", "YES"}, `accept {"x":true}`, `"maybe" is not one of the choices`},
		{"titled", one(`{"type":"string","oneOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}]}`), []string{"second"}, `accept {"x":"b"}`, ""},
		{"several", one(`{"type":"array","minItems":2,"items":{"type":"string","anyOf":[{"const":"a","title":"First"},{"const":"b"}]}}`), []string{"first", "First, b"}, `accept {"x":["a","b"]}`, "at least 2 are needed"},
		{"too long", one(`{"type":"string","maxLength":3}`), []string{"long", "ok"}, `accept {"x":"ok"}`, "at most 3 characters"},
		{"a default", one(`{"type":"string","default":"d"}`), []string{""}, `accept {"x":"d"}`, "without an answer"},
		{"needed", one(`{"type":"string"}`), []string{"", "", ""}, `cancel`, "an answer is needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asks := tool.Func(tool.Spec{Name: "asks"}, func(ctx context.Context, _ number) (string, error) {
				e := toolhost.Elicit(ctx, toolhost.Elicitation{Server: "s", Message: "Fill in.", Schema: []byte(c.schema)})
				return strings.TrimSpace(fmt.Sprintf("%s %s", e.Action, e.Content)), nil
			})
			var asked []string
			said := 0
			m := llmtest.Script(uses("asks"), say("end"))
			a := &agent.Agent{Model: m, Permissions: bypass, Toolsets: []tool.Set{&changing{lists: [][]tool.Tool{{asks}}}},
				AskUser: func(_ context.Context, _ tool.Call, questions []tool.Question) ([]tool.Answer, error) {
					asked = append(asked, questions[0].Text)
					if strings.Contains(questions[0].Text, "Fill in.") {
						return []tool.Answer{{Options: []string{"Answer"}}}, nil
					}
					said++
					return []tool.Answer{{Text: c.says[said-1]}}, nil
				}}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			last := m.Requests()[1].Messages
			if got := fmt.Sprint(last[len(last)-1].Content); !strings.Contains(got, "{"+c.want+"}") {
				t.Errorf("%s, not %s", got, c.want)
			}
			if c.want == "decline" && len(asked) > 0 || !strings.Contains(strings.Join(asked, "\n"), c.problem) {
				t.Errorf("%q", asked)
			}
		})
	}
}

// A person sees all of a server's question, or is not asked. Its end may be what matters.
func TestFormsAreShownWhole(t *testing.T) {
	long := strings.Repeat("many words ", 200)
	for _, c := range []struct {
		name string
		ask  toolhost.Elicitation
		want []string // in the questions; nil: it is declined
	}{
		{"message", toolhost.Elicitation{Message: long + "\n# a comment\nand THE END", Schema: []byte(`{"type":"object"}`)}, []string{"THE END", "\n# a comment\n"}},
		{"page", toolhost.Elicitation{Message: "go", URL: "https://example.com/?" + strings.Repeat("a", 400) + "END"}, []string{"aEND"}},
		{"description", toolhost.Elicitation{Message: "go", Schema: []byte(`{"type":"object","properties":{"x":{"type":"string","title":"T` + long + `TITLE","description":"` + long + `THE END","default":"` + long + `DEFAULT"}}}`)}, []string{"TITLE", "THE END", "DEFAULT"}},
		{"choice", toolhost.Elicitation{Message: "go", Schema: []byte(`{"type":"object","properties":{"x":{"type":"string","enum":["` + long + `CHOICE"]}}}`)}, []string{"CHOICE"}},
		{"too long a message", toolhost.Elicitation{Message: strings.Repeat("a", 70_000)}, nil},
		{"too long a form", toolhost.Elicitation{Message: "go", Schema: []byte(`{"type":"object","properties":{"x":{"type":"string","description":"` + strings.Repeat("a", 70_000) + `"}}}`)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			action := toolhost.Action("")
			asks := tool.Func(tool.Spec{Name: "asks"}, func(ctx context.Context, _ number) (string, error) {
				c.ask.Server = "s"
				action = toolhost.Elicit(ctx, c.ask).Action
				return "", nil
			})
			shown := ""
			a := &agent.Agent{Model: llmtest.Script(uses("asks"), say("end")), Permissions: bypass, Toolsets: []tool.Set{&changing{lists: [][]tool.Tool{{asks}}}},
				AskUser: func(_ context.Context, _ tool.Call, questions []tool.Question) ([]tool.Answer, error) {
					shown += fmt.Sprint(questions)
					return []tool.Answer{{Options: []string{"Answer"}}}, nil
				}}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if (shown == "") != (c.want == nil) || c.want == nil && action != toolhost.Declined {
				t.Errorf("%s, shown: %q", action, shown)
			}
			for _, want := range c.want {
				if !strings.Contains(shown, want) {
					t.Errorf("%q is not in %q", want, shown)
				}
			}
		})
	}
}

// Of servers that ask at once each waits for the one before it: a person reads one
// question at a time.
func TestFormsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := tool.Func(tool.Spec{Name: "asks", ReadOnly: true}, func(ctx context.Context, _ number) (string, error) {
			return string(toolhost.Elicit(ctx, toolhost.Elicitation{Server: "s", Message: "Fill in.", Schema: []byte(`{"type":"object"}`)}).Action), nil
		})
		var asking, most, all atomic.Int32
		m := llmtest.Script(llmtest.Call(llmtest.Use("a", "asks", number{1}), llmtest.Use("b", "asks", number{2}), llmtest.Use("c", "asks", number{3})), say("end"))
		a := &agent.Agent{Model: m, Permissions: bypass, Toolsets: []tool.Set{&changing{lists: [][]tool.Tool{{asks}}}},
			AskUser: func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
				all.Add(1)
				if n := asking.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second)
				asking.Add(-1)
				return []tool.Answer{{Options: []string{"Answer"}}}, nil
			}}
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if all.Load() != 3 || most.Load() != 1 {
			t.Errorf("%d questions, up to %d at once", all.Load(), most.Load())
		}
	})
}

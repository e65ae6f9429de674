package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// A pad is a list of todos between calls, as a session keeps it.
type pad struct {
	testing.TB
	state json.RawMessage
}

func (p *pad) do(input string) *tool.Result {
	p.Helper()
	r := tooltest.RunCall(p, TodoWrite(), tool.Call{Input: json.RawMessage(input), State: p.state})
	if r.Patch.State != nil {
		p.state = r.Patch.State
	}
	return r
}

func (p *pad) list() string {
	p.Helper()
	return tooltest.RunCall(p, newTodoRead(), tool.Call{State: p.state}).Text()
}

func TestTodos(t *testing.T) {
	p := &pad{TB: t}
	for _, c := range []struct{ input, says, list string }{
		{`{"action":"list"}`, "No todos.", "No todos."},
		{`{"action":"add","text":" read it "}`, `Todo added: #1 "read it"`, "[ ] #1 read it"},
		{`{"action":"add","text":"write it","priority":"high"}`, `#2`, "[ ] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"add","text":"x","id":"2"}`, "is a todo #2 already", "[ ] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"toggle","id":1}`, "[x] #1 read it", "[x] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"toggle","id":"1"}`, "[ ] #1 read it", "[ ] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"toggle","id":"#1"}`, "[x] #1 read it", "[x] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"toggle","id":"#1"}`, "[ ] #1 read it", "[ ] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"toggle","id":3}`, "no todo #3; there are #1, #2", "[ ] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"toggle"}`, "id is missing", "[ ] #1 read it\n[ ] #2 write it (high)"},
		{`{"action":"remove","id":1}`, "Todo removed: #1", "[ ] #2 write it (high)"},
		{`{"action":"add","text":"check it"}`, "#3", "[ ] #2 write it (high)\n[ ] #3 check it"},
		{`{"todos":[{"content":"a","status":"completed","id":"x"},{"content":"b","status":"in_progress","activeForm":"doing b"}]}`,
			"Todos set: 1 done, 1 in progress, 0 to do.", "[x] #x a\n[>] #1 b"},
		{`{"todos":"[{\"content\":\"c\",\"status\":\"pending\"}]"}`, "0 done, 0 in progress, 1 to do", "[ ] #1 c"},
		{`{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`, "one at a time", "[>] #1 a\n[>] #2 b"},
		{`{"todos":[{"content":"a","status":"pending","id":1},{"content":"b","status":"pending","id":"1"}]}`, "ids must differ", "[>] #1 a\n[>] #2 b"},
		{`{"todos":[{"content":" ","status":"pending"}]}`, "todo 1: the content is empty", "[>] #1 a\n[>] #2 b"},
		{`{"todos":[{"content":"a","status":"done"}]}`, "status", "[>] #1 a\n[>] #2 b"},
		{`{"todos":[],"action":"clear"}`, "do not go together", "[>] #1 a\n[>] #2 b"},
		{`{"action":"drop"}`, "action", "[>] #1 a\n[>] #2 b"},
		{`{}`, "give todos", "[>] #1 a\n[>] #2 b"},
		{`{"action":"clear"}`, "2 removed", "No todos."},
		{`{"todos":[]}`, "0 to do", "No todos."},
	} {
		if got := p.do(c.input).Text(); !strings.Contains(got, c.says) {
			t.Errorf("%s: says %q, want %q", c.input, got, c.says)
		}
		if got := p.list(); got != c.list {
			t.Errorf("%s: the list is\n%s\nwant\n%s", c.input, got, c.list)
		}
	}
}

func TestTodosAreBounded(t *testing.T) {
	item := func(text string) string { return fmt.Sprintf(`{"content":%q,"status":"pending"}`, text) }
	for input, want := range map[string]string{
		`{"todos":[` + item(strings.Repeat("é", maxTodoText+1)) + `]}`:                   "more than 500 characters",
		`{"todos":[` + strings.Repeat(item("a")+",", maxTodos) + item("a") + `]}`:        "101 todos are too many",
		`{"action":"add","text":"` + strings.Repeat("a", maxTodoText+1) + `"}`:           "more than 500 characters",
		`{"action":"add","text":"a","id":"` + strings.Repeat("a", maxTodoID+1) + `"}`:    "more than 40 characters",
		`{"action":"toggle","id":"` + strings.Repeat("a", 100_000) + `"}`:                "the list is empty",
		`{"todos":[{"content":"a","status":"pending","id":99999999999999999999999999}]}`: "",
	} {
		p := &pad{TB: t}
		r := p.do(input)
		if r.IsError != (want != "") || !strings.Contains(r.Text(), want) || len(r.Text()) > 1000 {
			t.Errorf("%.60s…: %.200s", input, r.Text())
		}
	}
	p := &pad{TB: t}
	full := p.do(`{"todos":[` + strings.Repeat(item(strings.Repeat("é", maxTodoText))+",", maxTodos-1) + item("a") + `]}`)
	if full.IsError {
		t.Fatal(full.Text())
	}
	if r := p.do(`{"action":"add","text":"a"}`); !r.IsError || !strings.Contains(r.Text(), "the most there can be") {
		t.Error(r.Text())
	}
	p.state = json.RawMessage(`{"todos":7}`)
	if got := p.list(); got != "No todos." {
		t.Errorf("a state of another program is shown as %q", got)
	}
}

func TestTodoContracts(t *testing.T) {
	for _, tl := range []tool.Tool{TodoWrite(), newTodoRead(), newPauseForHuman(), newAttemptCompletion()} {
		tooltest.Check(t, tl)
	}
}

// Calls of one answer do not lose each other's changes. They need no permission, even in
// plan mode. A later session has their list; a fork has the list at the time of the fork.
func TestTodosInARun(t *testing.T) {
	add := func(text string) llm.ToolUse {
		return llmtest.Use("", "TodoWrite", map[string]string{"action": "add", "text": text})
	}
	list := llmtest.Use("", "TodoRead", nil)
	m := llmtest.Script(
		llmtest.Call(add("a"), add("b"), add("c"), list), llmtest.Step{Text: "end"},
		llmtest.Call(add("d"), list), llmtest.Step{Text: "end"},
		llmtest.Call(list), llmtest.Step{Text: "end"})
	store := session.Memory()
	a := &agent.Agent{Model: m, Tools: []tool.Tool{TodoWrite(), newTodoRead()}, Sessions: store, Permissions: permission.Policy{Mode: permission.Plan}}
	prompt := func(id string) string {
		s := a.Session(id)
		defer s.Close()
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		messages, err := s.Messages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := messages[len(messages)-2].Content
		return last[len(last)-1].(llm.ToolResult).Content.Text()
	}
	if got, want := prompt("one"), "[ ] #1 a\n[ ] #2 b\n[ ] #3 c"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := session.Fork(t.Context(), store, "one", "two", 0); err != nil {
		t.Fatal(err)
	}
	if got, want := prompt("one"), "[ ] #1 a\n[ ] #2 b\n[ ] #3 c\n[ ] #4 d"; got != want {
		t.Errorf("resumed: got\n%s\nwant\n%s", got, want)
	}
	if got, want := prompt("two"), "[ ] #1 a\n[ ] #2 b\n[ ] #3 c"; got != want {
		t.Errorf("forked: got\n%s\nwant\n%s", got, want)
	}
}

package tools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

//go:embed todo_write.md
var todoWriteText string

//go:embed todo_read.md
var todoReadText string

const (
	todoState = "todos" // the state slot of both tools

	maxTodos    = 100
	maxTodoText = 500 // characters of an item's content and activeForm
	maxTodoID   = 40  // characters
)

const (
	todoPending    = "pending"
	todoInProgress = "in_progress"
	todoCompleted  = "completed"
)

// todoKeys are the keys of calls: each call works on the list that the one before it left.
var todoKeys = []string{"todos:"}

// todoSchema is written out for its lists of words, and for ids: models write
// numbers and texts.
const todoSchema = `{
	"type": "object",
	"properties": {
		"todos": {"type": "array", "items": {
			"type": "object",
			"properties": {
				"content": {"type": "string"},
				"status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
				"activeForm": {"type": "string"},
				"id": {"type": ["integer", "string"]},
				"priority": {"type": "string", "enum": ["high", "medium", "low"]}
			},
			"required": ["content", "status"],
			"additionalProperties": false
		}},
		"action": {"type": "string", "enum": ["add", "toggle", "remove", "list", "clear"]},
		"text": {"type": "string"},
		"id": {"type": ["integer", "string"]},
		"priority": {"type": "string", "enum": ["high", "medium", "low"]}
	},
	"additionalProperties": false
}`

type todoInput struct {
	Todos    []todo `json:"todos"`
	Action   string `json:"action"`
	Text     string `json:"text"`
	ID       todoID `json:"id"`
	Priority string `json:"priority"`
}

// A todo is an item of the list.
type todo struct {
	ID         todoID `json:"id"`
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm,omitempty"`
	Priority   string `json:"priority,omitempty"`
}

// A todoID names an item: the tool's number, or a text of the model. Both are read, so that
// 1 and "1" are the same, and "#1", as lists show it.
type todoID string

func (id *todoID) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		var text string
		err := json.Unmarshal(data, &text)
		*id = todoID(strings.TrimPrefix(text, "#"))
		return err
	}
	var n json.Number
	err := json.Unmarshal(data, &n)
	*id = todoID(n)
	return err
}

// A todoList is the content of the state slot, as a whole and in order. It is
// the Details of results as well.
type todoList struct {
	Items []todo `json:"todos"`
}

// TodoWrite returns the tool that keeps the model's list of steps. The list is
// part of the session's state: a resumed session and a fork have it.
//
// It changes nothing outside of the session, so it asks no permission and works
// in every mode. A call that a crash cut short has changed nothing and is made
// again.
func TodoWrite() tool.Tool {
	return tool.New(tool.Spec{
		Name: "TodoWrite", Title: "Plan steps", Description: todoWriteText, Input: json.RawMessage(todoSchema), State: todoState,
		NonDestructive: true, Idempotent: true,
	}, func(_ context.Context, call tool.Call, in todoInput) (*tool.Result, error) {
		return writeTodos(readTodos(call), in), nil
	}).OnClassify(func(tool.Call, todoInput) tool.Traits { return tool.Traits{Internal: true, Touches: todoKeys} })
}

// newTodoRead returns the tool that shows the list that [TodoWrite] keeps.
func newTodoRead() tool.Tool {
	return tool.New(tool.Spec{
		Name: "TodoRead", Title: "Show steps", Description: todoReadText, State: todoState,
		ReadOnly: true, NonDestructive: true, Idempotent: true,
	}, func(_ context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
		return readTodos(call).shown(), nil
	}).OnClassify(func(tool.Call, struct{}) tool.Traits { return tool.Traits{ReadOnly: true, Touches: todoKeys} })
}

// readTodos returns the list as the session has it.
func readTodos(call tool.Call) todoList {
	var l todoList
	if json.Unmarshal(call.State, &l) != nil {
		return todoList{} // nothing there, or of another program
	}
	return l
}

func writeTodos(l todoList, in todoInput) *tool.Result {
	switch {
	case in.Todos != nil && in.Action != "":
		return tool.Errorf("todos and action do not go together: todos sets the whole list, action changes one item")
	case in.Todos != nil:
		return l.set(in.Todos)
	}
	switch in.Action {
	case "add":
		return l.add(in)
	case "toggle":
		return l.toggle(in.ID)
	case "remove":
		return l.remove(in.ID)
	case "clear":
		return todoList{}.saved(fmt.Sprintf("Todos cleared (%d removed).", len(l.Items)))
	case "list":
		return l.shown()
	}
	return tool.Errorf("give todos, the whole list, or action: add, toggle, remove, list or clear")
}

// set makes items the whole list.
func (l todoList) set(items []todo) *tool.Result {
	if len(items) > maxTodos {
		return tool.Errorf("%d todos are too many; keep at most %d", len(items), maxTodos)
	}
	next := todoList{Items: slices.Clone(items)}
	for i := range next.Items {
		t := &next.Items[i]
		t.Content = strings.TrimSpace(t.Content)
		if problem := t.problem(); problem != "" {
			return tool.Errorf("todo %d: %s", i+1, problem)
		}
		if t.ID != "" && next.index(t.ID) < i {
			return tool.Errorf("todo %d: another one has the id %q; ids must differ, or be left out", i+1, t.ID)
		}
	}
	for i := range next.Items {
		if next.Items[i].ID == "" {
			next.Items[i].ID = next.free()
		}
	}
	text := "Todos set: " + next.counts() + "."
	if n := next.count(todoInProgress); n > 1 {
		text += fmt.Sprintf(" %d are in progress; work on one at a time.", n)
	}
	return next.saved(text)
}

func (l todoList) add(in todoInput) *tool.Result {
	if len(l.Items) >= maxTodos {
		return tool.Errorf("there are %d todos already, the most there can be; remove some first", len(l.Items))
	}
	id := in.ID
	if id == "" {
		id = l.free()
	} else if l.index(id) >= 0 {
		return tool.Errorf("there is a todo #%s already; leave the id out to get a free one", id)
	}
	t := todo{ID: id, Content: strings.TrimSpace(in.Text), Status: todoPending, Priority: in.Priority}
	if problem := t.problem(); problem != "" {
		return tool.Errorf("text: %s", problem)
	}
	l.Items = append(l.Items, t)
	return l.saved(fmt.Sprintf("Todo added: #%s %q", t.ID, t.Content))
}

func (l todoList) toggle(id todoID) *tool.Result {
	i := l.index(id)
	if i < 0 {
		return l.missing(id)
	}
	t := &l.Items[i]
	if t.Status == todoCompleted {
		t.Status = todoPending
	} else {
		t.Status = todoCompleted
	}
	return l.saved(t.line())
}

func (l todoList) remove(id todoID) *tool.Result {
	i := l.index(id)
	if i < 0 {
		return l.missing(id)
	}
	t := l.Items[i]
	l.Items = slices.Delete(l.Items, i, i+1)
	return l.saved(fmt.Sprintf("Todo removed: #%s %q", t.ID, t.Content))
}

func (l todoList) missing(id todoID) *tool.Result {
	if id == "" {
		return tool.Errorf("id is missing: name the todo; %s", l.ids())
	}
	return tool.Errorf("there is no todo #%.*s; %s", maxTodoID, id, l.ids())
}

func (l todoList) ids() string {
	if len(l.Items) == 0 {
		return "the list is empty"
	}
	var all []string
	for _, t := range l.Items {
		all = append(all, "#"+string(t.ID))
	}
	return "there are " + strings.Join(all, ", ")
}

// index returns the index of an item, -1 if there is none.
func (l todoList) index(id todoID) int {
	return slices.IndexFunc(l.Items, func(t todo) bool { return id != "" && t.ID == id })
}

// free returns the number after the highest that the list has.
func (l todoList) free() todoID {
	highest := 0
	for _, t := range l.Items {
		if n, err := strconv.Atoi(string(t.ID)); err == nil && n < 1e9 {
			highest = max(highest, n)
		}
	}
	return todoID(strconv.Itoa(highest + 1))
}

func (l todoList) count(status string) int {
	n := 0
	for _, t := range l.Items {
		if t.Status == status {
			n++
		}
	}
	return n
}

func (l todoList) counts() string {
	return fmt.Sprintf("%d done, %d in progress, %d to do", l.count(todoCompleted), l.count(todoInProgress), l.count(todoPending))
}

// saved is the result of a change.
func (l todoList) saved(text string) *tool.Result {
	r := l.told(text)
	r.Patch.State = r.Details
	return r
}

// shown is the result of looking.
func (l todoList) shown() *tool.Result {
	if len(l.Items) == 0 {
		return l.told("No todos.")
	}
	var lines []string
	for _, t := range l.Items {
		lines = append(lines, t.line())
	}
	return l.told(strings.Join(lines, "\n"))
}

func (l todoList) told(text string) *tool.Result {
	if l.Items == nil {
		l.Items = []todo{}
	}
	r := tool.Text(text)
	r.Title = "Todos: " + l.counts()
	r.Details = toolapi.Details(l)
	return r
}

// problem returns the mistake in an item, "" if there is none.
func (t todo) problem() string {
	switch {
	case t.Content == "":
		return "the content is empty"
	case utf8.RuneCountInString(t.Content) > maxTodoText || utf8.RuneCountInString(t.ActiveForm) > maxTodoText:
		return fmt.Sprintf("it has more than %d characters; name the step in a line", maxTodoText)
	case utf8.RuneCountInString(string(t.ID)) > maxTodoID:
		return fmt.Sprintf("the id has more than %d characters", maxTodoID)
	}
	return ""
}

// line shows an item as "[x] #1 text (high)".
func (t todo) line() string {
	mark := " "
	switch t.Status {
	case todoInProgress:
		mark = ">"
	case todoCompleted:
		mark = "x"
	}
	s := fmt.Sprintf("[%s] #%s %s", mark, t.ID, t.Content)
	if t.Priority != "" {
		s += " (" + t.Priority + ")"
	}
	return s
}

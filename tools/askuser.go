package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

//go:embed askuser.md
var askUserText string

const (
	maxQuestions = 4
	maxOptions   = 8
)

type askUserInput struct {
	Questions []askedQuestion `json:"questions"`
}

type askedQuestion struct {
	Question string        `json:"question"`
	Header   string        `json:"header,omitempty"`
	Options  []askedOption `json:"options,omitempty"`
	Multiple bool          `json:"multiple,omitempty"`
}

type askedOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// AskUser returns the tool that puts questions to a person. The agent decides who answers
// ([agent.Agent].AskUser); without anyone the model is told to decide itself.
func AskUser() tool.Tool {
	return asking{tool.New(tool.Spec{Name: "AskUser", Title: "Ask the user", Description: askUserText, ReadOnly: true, NeedsPerson: true, Timeout: -1},
		func(_ context.Context, _ tool.Call, in askUserInput) (*tool.Result, error) {
			switch n := len(in.Questions); {
			case n == 0:
				return tool.Errorf("questions is empty; ask at least one"), nil
			case n > maxQuestions:
				return tool.Errorf("%d questions are too many; ask at most %d at once", n, maxQuestions), nil
			}
			r := tool.Text("Nobody is there to answer. Decide yourself, take the safer way where it matters, and say what you assumed.")
			for _, q := range in.Questions {
				asked, problem := q.question()
				if problem != "" {
					return tool.Errorf("%s", problem), nil
				}
				r.Questions = append(r.Questions, asked)
			}
			r.Title = in.Questions[0].Question
			return r, nil
		})}
}

// asking is AskUser. It reads multiSelect, as Claude Code writes it, in place of multiple.
type asking struct{ *tool.Typed[askUserInput] }

// Run runs the tool with the members as its schema writes them.
func (t asking) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	return t.Typed.Run(ctx, readMultiple(call))
}

// Validate judges the input that Run would get.
func (t asking) Validate(call tool.Call) error { return t.Typed.Validate(readMultiple(call)) }

// Repair returns the input that Run uses.
func (t asking) Repair(call tool.Call) json.RawMessage { return t.Typed.Repair(readMultiple(call)) }

// readMultiple renames multiSelect in the questions of a call. A question with both stays as it is.
func readMultiple(call tool.Call) tool.Call {
	var in map[string]json.RawMessage
	var questions []map[string]json.RawMessage
	if json.Unmarshal(call.Input, &in) != nil || json.Unmarshal(in["questions"], &questions) != nil {
		return call
	}
	changed := false
	for _, q := range questions {
		many, given := q["multiSelect"]
		if _, both := q["multiple"]; given && !both {
			q["multiple"] = many
			delete(q, "multiSelect")
			changed = true
		}
	}
	if changed {
		in["questions"] = toolapi.Details(questions)
		call.Input = toolapi.Details(in)
	}
	return call
}

// question checks the model's input.
func (q askedQuestion) question() (_ tool.Question, problem string) {
	if strings.TrimSpace(q.Question) == "" {
		return tool.Question{}, "a question is empty"
	}
	if len(q.Options) > maxOptions {
		return tool.Question{}, "a question has more than eight options"
	}
	out := tool.Question{Text: q.Question, Header: q.Header, Multiple: q.Multiple}
	seen := map[string]bool{}
	for _, o := range q.Options {
		label := strings.TrimSpace(o.Label)
		if label == "" || seen[label] {
			return tool.Question{}, "the labels of a question's options must differ and not be empty"
		}
		seen[label] = true
		out.Options = append(out.Options, tool.Option{Label: label, Description: o.Description})
	}
	return out, ""
}

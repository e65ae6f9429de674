package streamjson

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/tool"
)

// questionTool is the tool name for questions of tools and MCP servers. Hosts receive them as
// can_use_tool and return the answers in its input.
const questionTool = "AskUserQuestion"

// askedByHost is the input of the request that asks the host's user.
type askedByHost struct {
	Questions []clientQuestion `json:"questions"`
	// Answers, in the input that the host returns, map questions to texts: a label, several labels
	// with commas, or a free answer.
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
}

type clientQuestion struct {
	Question string        `json:"question"`
	Header   string        `json:"header"`
	Options  []tool.Option `json:"options"`
	Multiple bool          `json:"multiSelect"`
}

// AskUser is the agent's AskUser function. It sends the questions to the client.
func (d *Session) AskUser(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	use, err := d.report.calls.Find(ctx, d.s.Session.ID, call)
	if err != nil {
		return nil, err
	}
	var in askedByHost
	for _, q := range questions {
		options := q.Options
		if options == nil {
			options = []tool.Option{}
		}
		in.Questions = append(in.Questions, clientQuestion{q.Text, q.Header, options, q.Multiple})
	}
	input, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encoding questions: %w", err)
	}
	q := question{Subtype: "can_use_tool", ToolName: questionTool, Input: input, ToolUse: use.ID, Interaction: true,
		Reason: call.Name + " asks the user", ReasonType: "other", Suggestions: []app.PermissionUpdate{}}
	if call.Session != d.s.Session.ID {
		q.Agent, q.AgentName = new(call.Session), call.Agent
	}
	r, err := d.ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case r.Behavior != "allow":
		if r.Interrupt {
			if _, err := d.s.Session.Interrupt(context.WithoutCancel(ctx)); err != nil {
				return nil, err
			}
		}
		return nil, unanswered(r)
	}
	return answersOf(questions, r.Input)
}

// unanswered tells the model why the host's user does not answer.
func unanswered(r reply) error {
	if r.Message == "" {
		return app.ErrNoPerson
	}
	return fmt.Errorf("%s. Decide yourself", strings.TrimRight(r.Message, ". "))
}

// answersOf reads the answers of a host. A missing question has no answer.
func answersOf(questions []tool.Question, input json.RawMessage) ([]tool.Answer, error) {
	var in askedByHost
	if len(input) > 0 {
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, fmt.Errorf("reading the answers of the host: %w; answers must be an object from question to text", err)
		}
	}
	if len(in.Answers) == 0 {
		return nil, errors.New("the host allowed the questions and gave no answers; decide yourself")
	}
	answers := make([]tool.Answer, len(questions))
	for i, q := range questions {
		raw, ok := in.Answers[q.Text]
		if !ok {
			continue
		}
		var text string
		var list []string
		switch {
		case json.Unmarshal(raw, &text) == nil:
			answers[i] = app.ParseAnswer(q, text)
		case json.Unmarshal(raw, &list) == nil:
			answers[i] = app.ParseAnswer(q, strings.Join(list, ","))
		default:
			return nil, fmt.Errorf("the host's answer to %q is not a text or a list of texts", cli.Clip(q.Text))
		}
	}
	return answers, nil
}

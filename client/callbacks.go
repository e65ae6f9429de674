package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// questionTool is the name of the tool that asks a person questions.
const questionTool = "AskUserQuestion"

// canUseTool answers a question for permission.
func (s *Session) canUseTool(ctx context.Context, raw json.RawMessage) (any, error) {
	var q struct {
		Tool       string          `json:"tool_name"`
		Input      json.RawMessage `json:"input"`
		ToolUse    string          `json:"tool_use_id"`
		Agent      string          `json:"agent_id"`
		AgentName  string          `json:"agent_name"`
		Reason     string          `json:"decision_reason"`
		ReasonType string          `json:"decision_reason_type"`
		Suggested  json.RawMessage `json:"permission_suggestions"`
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, fmt.Errorf("reading the question: %w", err)
	}
	if q.Tool == "" || len(q.Input) == 0 || q.Input[0] != '{' {
		return nil, errors.New("the question names no tool, or its input is not an object")
	}
	call := tool.Call{ID: q.ToolUse, Name: q.Tool, Input: q.Input, Session: s.ID()}
	if q.Agent != "" {
		call.Session, call.Root, call.Agent = q.Agent, call.Session, q.AgentName
	}
	verdict := permission.Decision{Behavior: permission.Asked, Reason: q.Reason, Source: permission.Source(q.ReasonType)}
	var d permission.Decision
	var updates []hook.Update
	var err error
	switch {
	case q.Tool == questionTool && s.o.AskUser != nil:
		d, err = s.ask(ctx, call)
	case s.o.Permit != nil:
		var suggested []hook.Update
		if json.Unmarshal(q.Suggested, &suggested) != nil {
			suggested = nil // of a program that suggests something else
		}
		err = safely(func() error {
			d, updates, err = s.o.Permit(ctx, call, verdict, suggested)
			return err
		})
	case s.o.CanUseTool == nil:
		d = permission.Deny("nobody decides about calls here")
	default:
		err = safely(func() error {
			d, err = s.o.CanUseTool(ctx, call, verdict)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return replyOf(d, updates, call)
}

// replyOf is a decision as the program reads it.
func replyOf(d permission.Decision, updates []hook.Update, call tool.Call) (any, error) {
	reply := map[string]any{"toolUseID": call.ID}
	var changes []json.RawMessage
	for _, u := range updates {
		raw, err := json.Marshal(u)
		if err == nil {
			raw, err = withMember(raw, "destination", "session")
		}
		if err != nil {
			return nil, fmt.Errorf("writing an update of the permissions: %w", err)
		}
		changes = append(changes, raw)
	}
	if d.By != "" {
		reply["decidedBy"] = d.By
	}
	if !d.Expires.IsZero() {
		reply["expiresAt"] = d.Expires
	}
	switch d.Behavior {
	case permission.Allowed:
		reply["behavior"], reply["updatedInput"] = "allow", call.Input
		if d.Input != nil {
			reply["updatedInput"] = d.Input
		}
		if len(changes) > 0 {
			reply["updatedPermissions"] = changes
		}
	case permission.Denied, permission.NoOpinion:
		reply["behavior"], reply["message"] = "deny", d.Reason
		if d.Interrupt {
			reply["interrupt"] = true
		}
		if d.Reason == "" {
			reply["message"] = "refused by the user"
		}
	case permission.Deferred:
		reply["behavior"] = "defer"
	default:
		return nil, fmt.Errorf("the decision is %.50q; it must be allow, deny or defer", d.Behavior)
	}
	return reply, nil
}

// ask puts the questions of a tool to a person.
func (s *Session) ask(ctx context.Context, call tool.Call) (permission.Decision, error) {
	var in struct {
		Questions []struct {
			Text     string        `json:"question"`
			Header   string        `json:"header"`
			Options  []tool.Option `json:"options"`
			Multiple bool          `json:"multiSelect"`
		} `json:"questions"`
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return permission.Decision{}, fmt.Errorf("reading the questions: %w", err)
	}
	var questions []tool.Question
	for _, q := range in.Questions {
		questions = append(questions, tool.Question{Text: q.Text, Header: q.Header, Options: q.Options, Multiple: q.Multiple})
	}
	var answers []tool.Answer
	err := safely(func() (err error) {
		answers, err = s.o.AskUser(ctx, call, questions)
		return err
	})
	if err != nil { // the model is told
		return permission.Deny(err.Error()), nil
	}
	if len(answers) != len(questions) {
		return permission.Decision{}, fmt.Errorf("AskUser returned %d answers to %d questions", len(answers), len(questions))
	}
	texts := map[string]string{}
	for i, a := range answers {
		if parts := a.Options; len(parts) > 0 || a.Text != "" {
			if a.Text != "" {
				parts = append(parts[:len(parts):len(parts)], a.Text)
			}
			texts[questions[i].Text] = strings.Join(parts, ", ")
		}
	}
	input, err := withMember(call.Input, "answers", texts)
	if err != nil {
		return permission.Decision{}, err
	}
	return permission.AllowWith(input), nil
}

// safely turns a panic into an error.
func safely(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the callback panicked: %v", v)
		}
	}()
	return fn()
}

// hookCallback calls a hook.
func (s *Session) hookCallback(ctx context.Context, raw json.RawMessage) (any, error) {
	var q struct {
		ID    string          `json:"callback_id"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, fmt.Errorf("reading the call of a hook: %w", err)
	}
	for i, h := range s.o.Hooks {
		if q.ID != hookID(i) {
			continue
		}
		in, err := hookrun.ReadInput(q.Input)
		in.Event = h.On
		out := hook.Output{}
		if err == nil {
			outcome := s.hooks[i].Run(ctx, in, nil)
			out, err = outcome.Output, errors.Join(outcome.Errors...)
		}
		if err != nil && !hookrun.Guards(h.On) {
			return nil, err
		}
		if err != nil {
			out.Block = true
			if out.Reason == "" {
				out.Reason = "a hook failed: " + err.Error()
			}
		}
		data, err := hookrun.Format(h.On, out)
		return json.RawMessage(data), err
	}
	return nil, fmt.Errorf("there is no hook %.50q", q.ID)
}

package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/event"
	protocol "github.com/openagent-go/agent/internal/acp"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Ids of the answers to a permission question.
const (
	allowOnce   = "allow_once"
	allowAlways = "allow_always"
	allowEdits  = "allow_edits" // a plan, and edits without questions
	rejectOnce  = "reject_once"
)

const exitPlanMode = "ExitPlanMode"

// decide is the session's CanUseTool function. It asks the user of the editor.
func (e *editorSession) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	nobody := permission.Decision{}
	if verdict.Behavior != permission.Asked {
		return nobody, nil
	}
	if e.rules.Covers(ctx, call, verdict) {
		return permission.Allow(), nil
	}
	pending, err := e.app.Session.Pending(ctx)
	if err != nil {
		return nobody, err
	}
	about := app.PendingRequest(pending, e.id, call)
	q := protocol.PermissionQuestion{Session: e.id, Call: e.describe(call, verdict, about, e.rules.Risks(ctx, call))}
	ofAgent := call.Session != "" && call.Session != e.id
	if !ofAgent {
		if q.Call.ID, err = e.toolID(ctx, call); err != nil {
			return nobody, err
		}
	}
	if q.Call.ID == "" {
		e.announce(&q.Call, call, ofAgent)
	}
	always := e.alwaysRules(about)
	q.Options = answersTo(call, always)
	if call.Name == exitPlanMode && e.app.Options.Permits(permission.AcceptEdits) != nil {
		q.Options = slices.DeleteFunc(q.Options, func(o protocol.PermissionOption) bool { return o.ID == allowEdits })
	}
	var answer protocol.PermissionAnswer
	err = e.server.conn.Call(ctx, "session/request_permission", q, &answer)
	switch {
	case ctx.Err() != nil:
		return nobody, ctx.Err()
	case errors.Is(err, protocol.ErrClosed):
		return nobody, nil // nobody answers any more
	case err != nil:
		return permission.Deny("the question failed: " + e.h.OneLine(err.Error())), nil
	}
	return e.settle(call, answer, q.Options, always), nil
}

// settle turns an answer into a decision. An answer that was not offered allows nothing.
func (e *editorSession) settle(call tool.Call, answer protocol.PermissionAnswer, offered []protocol.PermissionOption, always []permission.Rule) permission.Decision {
	chosen := answer.Outcome.Option
	if answer.Outcome.Outcome == "cancelled" {
		e.cancel()
		d := permission.Deny("the user cancelled the question")
		d.Source = policies.FromPerson
		return d
	}
	d := permission.Allow()
	if answer.Outcome.Outcome != "selected" || !slices.ContainsFunc(offered, func(o protocol.PermissionOption) bool { return o.ID == chosen }) || chosen == rejectOnce {
		d = permission.Deny("refused by the user")
	} else if chosen == allowAlways {
		e.rules.Add(always...)
	} else if chosen == allowEdits {
		e.mu.Lock()
		if e.after == nil {
			e.after = map[string]permission.Mode{}
		}
		e.after[call.ID] = permission.AcceptEdits
		e.mu.Unlock()
	}
	d.Source = policies.FromPerson
	return d
}

// afterPlan sets the mode that the user chose with a plan. The tool has left plan mode by then.
func (e *editorSession) afterPlan(ctx context.Context, d event.ToolResult) {
	e.mu.Lock()
	mode := e.after[d.Call]
	delete(e.after, d.Call)
	e.mu.Unlock()
	if mode == "" || d.Result.IsError || d.Cause != "" {
		return
	}
	if err := e.app.Session.SetMode(ctx, mode); err != nil {
		e.h.Warn("%v", err)
	}
}

// describe shows a call to the user: the command itself, or the change as a diff.
func (e *editorSession) describe(call tool.Call, verdict permission.Decision, about event.PermissionRequest, risks []rules.Risk) protocol.ToolCall {
	e.encoding.Lock()
	t := e.encoder.Describe(call.Name, call.Input)
	e.encoding.Unlock()
	t.Status = protocol.Pending
	t.Content = append(t.Content, protocol.Diffs(about.Preview)...)
	var lines []string
	for _, r := range risks {
		lines = append(lines, "- "+e.h.Visible(strings.TrimPrefix(r.Text+": ", ": ")+r.Why))
	}
	if verdict.Source != policies.FromMode && verdict.Reason != "" {
		lines = append(lines, "- "+e.h.Visible(verdict.Reason))
	}
	if len(lines) > 0 && call.Name != exitPlanMode {
		t.Content = append(t.Content, protocol.ToolContent{Type: "content", Content: &protocol.Block{Type: "text", Text: strings.Join(lines, "\n")}})
	}
	return t
}

// announce tells the client of a call that it does not know yet, such as that of a sub-agent.
func (e *editorSession) announce(t *protocol.ToolCall, call tool.Call, ofAgent bool) {
	t.ID = call.Session + "/" + call.ID
	if ofAgent {
		t.Title = cmp.Or(call.Agent, "agent") + ": " + t.Title
	}
	e.mu.Lock()
	e.announced[t.ID] = true
	e.mu.Unlock()
	shown := *t
	shown.Update = "tool_call"
	e.send(&shown)
}

// alwaysRules returns the rules that would allow calls like this one, as far as they are permitted.
func (e *editorSession) alwaysRules(about event.PermissionRequest) []permission.Rule {
	list := about.Suggestions
	for _, s := range about.Widths {
		if s.Width == rules.Usual {
			list = s.Rules
		}
	}
	if len(list) == 0 || e.rules.Check(list...) != nil {
		return nil
	}
	return list
}

// answersTo returns the answers that the user can choose.
func answersTo(call tool.Call, always []permission.Rule) []protocol.PermissionOption {
	if call.Name == exitPlanMode {
		return []protocol.PermissionOption{{ID: allowEdits, Name: "Yes, and accept edits", Kind: "allow_always"}, {ID: allowOnce, Name: "Yes", Kind: "allow_once"},
			{ID: rejectOnce, Name: "No, keep planning", Kind: "reject_once"}}
	}
	list := []protocol.PermissionOption{{ID: allowOnce, Name: "Allow once", Kind: "allow_once"}}
	if len(always) > 0 {
		list = append(list, protocol.PermissionOption{ID: allowAlways, Name: "Always allow " + app.JoinRules(always) + " in this session", Kind: "allow_always"})
	}
	return append(list, protocol.PermissionOption{ID: rejectOnce, Name: "Reject", Kind: "reject_once"})
}

// errNoForm is what the model learns if the editor has no forms.
var errNoForm = errors.New("the user's editor cannot show questions; write them into your answer and end your turn there, or decide yourself")

// askUser is the agent's AskUser function. It asks with a form, if the editor has forms.
func (e *editorSession) askUser(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	if !protocol.Has(e.client.Elicitation.Form) {
		return nil, errNoForm
	}
	form := protocol.Form{Session: e.id, Mode: "form", Schema: protocol.FormSchema{Type: "object", Properties: map[string]protocol.FormField{}}}
	if call.Session == "" || call.Session == e.id {
		id, err := e.toolID(ctx, call)
		if err != nil {
			return nil, err
		}
		form.Call = id
	}
	var texts []string
	for i, q := range questions {
		texts = append(texts, e.h.Visible(strings.ReplaceAll(q.Text, "\n", " ")))
		e.addFields(&form, i, q)
	}
	form.Message = strings.Join(texts, "\n")
	var answer protocol.FormAnswer
	if err := e.server.conn.Call(ctx, "elicitation/create", form, &answer); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, app.ErrNoPerson
	}
	if answer.Action != "accept" {
		return nil, errors.New("the user does not answer the questions; decide yourself")
	}
	answers := make([]tool.Answer, len(questions))
	for i, q := range questions {
		answers[i] = answerOf(q, answer.Content[field(i)], answer.Content[freeField(i)])
	}
	return answers, nil
}

func field(i int) string     { return fmt.Sprintf("question_%d", i+1) }
func freeField(i int) string { return fmt.Sprintf("question_%d_own", i+1) }

// addFields adds a question to a form: a choice, and a field for an answer in the user's own words.
func (e *editorSession) addFields(form *protocol.Form, i int, q tool.Question) {
	about := protocol.FormField{Type: "string", Title: cmp.Or(q.Header, q.Text), Description: q.Text}
	var choices []protocol.FormChoice
	for _, o := range q.Options {
		choices = append(choices, protocol.FormChoice{Const: o.Label, Title: o.Label, Description: o.Description})
	}
	switch {
	case len(choices) == 0:
	case q.Multiple:
		about.Type, about.Items = "array", &protocol.FormItems{AnyOf: choices}
	default:
		about.OneOf = choices
	}
	form.Schema.Properties[field(i)] = about
	if len(choices) > 0 {
		form.Schema.Properties[freeField(i)] = protocol.FormField{Type: "string", Title: "Your own answer"}
	}
}

// answerOf reads the answer to a question. Only options of the question count as options.
func answerOf(q tool.Question, chosen, own json.RawMessage) (a tool.Answer) {
	var one string
	var many []string
	if json.Unmarshal(chosen, &one) == nil && one != "" {
		many = []string{one}
	} else {
		_ = json.Unmarshal(chosen, &many) // else there is no answer
	}
	var words []string
	for _, s := range many {
		if slices.ContainsFunc(q.Options, func(o tool.Option) bool { return o.Label == s }) {
			a.Options = append(a.Options, s)
		} else {
			words = append(words, s)
		}
	}
	var free string
	if json.Unmarshal(own, &free) == nil && free != "" {
		words = append(words, free)
	}
	a.Text = strings.Join(words, ", ")
	return a
}

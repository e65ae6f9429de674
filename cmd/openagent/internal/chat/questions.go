package chat

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// pose shows a question and waits for what the person answers: a ui.Decision or a
// []ui.Answer, or nil if nobody can answer any more.
func (c *Chat) pose(ctx context.Context, q ui.Question) (any, error) {
	answer := make(chan any, 1)
	c.mu.Lock()
	c.asked++
	q.ID = c.asked
	c.questions[q.ID] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.questions, q.ID)
		c.mu.Unlock()
	}()
	c.post(ui.Pose{Question: q})
	select {
	case a := <-answer:
		return a, nil
	case <-c.over:
		return nil, nil
	case <-ctx.Done():
		c.post(ui.Settled{ID: q.ID})
		return nil, ctx.Err()
	}
}

// answer passes an answer on to who waits for it.
func (c *Chat) answer(id int, a any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.questions[id]; answer != nil {
		select {
		case answer <- a:
		default:
		}
	}
}

// decide is the session's CanUseTool function.
func (c *Chat) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	nobody := permission.Decision{}
	if verdict.Behavior != permission.Asked {
		return nobody, nil
	}
	if c.rules.Covers(ctx, call, verdict) {
		return permission.Allow(), nil
	}
	pending, err := c.s.Session.Pending(ctx)
	if err != nil && !errors.Is(err, agent.ErrNotRunning) { // it may be a call of the person's own
		return nobody, err
	}
	request := app.PendingRequest(pending, c.s.Session.ID, call)
	for {
		q, widths := c.permissionQuestion(ctx, call, verdict, request)
		a, err := c.pose(ctx, q)
		if err != nil {
			return nobody, err
		}
		said, ok := a.(ui.Decision)
		if !ok {
			return nobody, nil
		}
		d, err := c.decision(call, said)
		if err != nil {
			c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
			continue
		}
		if err := c.keep(ctx, said, widths); err != nil {
			c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
			continue
		}
		d.Source = policies.FromPerson
		return d, nil
	}
}

// decision is what a person's answer means.
func (c *Chat) decision(call tool.Call, said ui.Decision) (permission.Decision, error) {
	switch {
	case said.Later:
		return permission.Defer(), nil
	case !said.Allow:
		d := permission.Deny("refused by the user")
		if said.Reason != "" {
			d.Reason += ": " + said.Reason
		}
		return d, nil
	}
	d := permission.Allow()
	if said.Edited != "" {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(call.Input, &members); err != nil {
			return d, err
		}
		command, err := json.Marshal(said.Edited)
		if err != nil {
			return d, err
		}
		members["command"] = command
		if d.Input, err = json.Marshal(members); err != nil {
			return d, err
		}
	}
	return d, nil
}

// keep keeps rules for the session, or in a settings file as well.
func (c *Chat) keep(ctx context.Context, said ui.Decision, widths []permission.Suggestion) error {
	if !said.Keep || said.Width >= len(widths) {
		return nil
	}
	list := widths[said.Width].Rules
	if err := c.rules.Check(list...); err != nil {
		return err
	}
	where := "in this session"
	if said.Scope != rules.ForSession {
		scope := config.Local
		if said.Scope == rules.ForUser {
			scope = config.User
		}
		file, err := c.s.KeepRules(ctx, c.h, scope, list)
		if err != nil {
			return err
		}
		where = "in " + c.s.ShortPath(file)
	}
	c.rules.Add(list...)
	c.say(ui.DimLine, "  saved "+c.h.Visible(app.JoinRules(list))+" "+c.h.OneLine(where))
	return nil
}

// permissionQuestion is a question about a call, with everything that a person should see. widths
// are those of its rules.
func (c *Chat) permissionQuestion(ctx context.Context, call tool.Call, verdict permission.Decision, request event.PermissionRequest) (q ui.Question, widths []permission.Suggestion) {
	h := c.h
	risks := c.rules.Risks(ctx, call)
	q = ui.Question{Tool: h.Visible(call.Name), Agent: c.whose(call), Note: "no rule allows it"}
	if verdict.Source != policies.FromMode {
		q.Note = text.Runes(h.Visible(verdict.Reason), 70)
	}
	shown := preview.CallLines(h, "", call, risks, request.Preview)
	if request.Preview != "" { // the diff is drawn in another way
		q.Diff = wire.Mask(request.Preview, h.Secrets)
		shown = shown[:len(shown)-len(slices.Collect(strings.Lines(request.Preview)))]
	}
	for _, l := range shown {
		if path := filePath(call); path != "" && strings.HasSuffix(l.Text, "_path: "+h.Visible(path)) {
			continue // the heading says it
		}
		line := ui.Line{Kind: kinds[l.Colour], Text: strings.ReplaceAll(l.Text, "\t", "    ")}
		if head := "? " + h.Visible(call.Name); strings.HasPrefix(line.Text, head) { // the heading of the card says it
			if line.Text = strings.TrimLeft(line.Text[len(head):], ", "); line.Text == "" {
				continue
			}
			line.Kind = ui.PlainLine
		} else {
			line.Text = strings.TrimPrefix(line.Text, "  ")
		}
		q.Body = append(q.Body, line)
	}
	if p := filePath(call); p != "" {
		q.Head = h.Visible(strings.TrimPrefix(p, c.s.Project+"/"))
	}
	for _, r := range risks {
		if r.Grave && q.Grave == "" {
			q.Grave = h.Visible(text.Runes(strings.TrimPrefix(r.Text+": "+r.Why, ": "), 200))
		}
	}
	var in struct{ Command string }
	if json.Unmarshal(call.Input, &in) == nil {
		if c.visibleLines(in.Command) == in.Command {
			q.Command = in.Command
		}
	}
	q.Why = []ui.Line{{Kind: ui.DimLine, Text: h.Visible(verdict.Reason)}, {Kind: ui.DimLine, Text: "the whole input: " + h.Visible(string(call.Input))}}
	for _, s := range request.Widths {
		if c.rules.Check(s.Rules...) != nil {
			continue
		}
		w := ui.Width{Scopes: s.Scopes}
		for _, r := range s.Rules {
			w.Rules = append(w.Rules, h.Visible(string(r)))
		}
		if s.Width == broad {
			w.Wide = "this rule allows far more than this call"
		}
		if s.Width == rules.Usual {
			q.Usual = len(q.Widths)
		}
		q.Why = append(q.Why, ui.Line{Kind: ui.DimLine, Text: s.Width + ": " + strings.Join(w.Rules, " ")})
		q.Widths, widths = append(q.Widths, w), append(widths, s)
	}
	return q, widths
}

// broad is the width of rules that allow all calls of a kind.
const broad = "broad"

var kinds = map[string]ui.LineKind{term.Dim: ui.DimLine, term.Red: ui.WarnLine, term.Green: ui.AddedLine}

// filePath is the file that a call is about.
func filePath(call tool.Call) string {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return ""
	}
	if in.File == "" {
		return in.Notebook
	}
	return in.File
}

// whose returns the name of the sub-agent that makes a call, or "" for the main agent.
func (c *Chat) whose(call tool.Call) string {
	if call.Session == "" || call.Session == c.s.Session.ID || call.Agent == "" {
		return ""
	}
	return c.h.OneLine(call.Agent)
}

// AskUser is the agent's AskUser function.
func (c *Chat) AskUser(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	q := ui.Question{Tool: "a question", Agent: c.whose(call)}
	for _, asked := range questions {
		a := ui.Asked{Header: c.h.Visible(asked.Header), Text: c.visibleLines(asked.Text), Multiple: asked.Multiple}
		for _, o := range asked.Options {
			a.Options = append(a.Options, ui.Option{Label: c.h.Visible(strings.TrimSpace(o.Label)), Description: c.h.Visible(strings.TrimSpace(o.Description))})
		}
		q.Ask = append(q.Ask, a)
	}
	said, err := c.pose(ctx, q)
	if err != nil {
		return nil, err
	}
	list, ok := said.([]ui.Answer)
	if !ok {
		return nil, app.ErrNoPerson
	}
	answers := make([]tool.Answer, len(questions))
	for i := range min(len(list), len(questions)) {
		answers[i] = tool.Answer{Text: list[i].Text}
		for _, n := range list[i].Chosen {
			answers[i].Options = append(answers[i].Options, questions[i].Options[n].Label)
		}
	}
	return answers, nil
}

// visibleLines is Visible for a text of several lines.
func (c *Chat) visibleLines(s string) string {
	list := strings.Split(strings.TrimSpace(s), "\n")
	for i := range list {
		list[i] = c.h.Visible(list[i])
	}
	return strings.Join(list, "\n")
}

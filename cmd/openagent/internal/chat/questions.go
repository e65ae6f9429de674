package chat

import (
	"context"
	"errors"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cards"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
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
	case <-c.nobody:
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
		return permission.Deny(cards.Refusal(said.Reason)), nil
	}
	d := permission.Allow()
	if said.Edited != "" {
		var err error
		if d.Input, err = cards.Edited(call, said.Edited); err != nil {
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

// permissionQuestion is a question about a call. widths are those of its rules.
func (c *Chat) permissionQuestion(ctx context.Context, call tool.Call, verdict permission.Decision, request event.PermissionRequest) (q ui.Question, widths []permission.Suggestion) {
	note := verdict.Reason
	if verdict.Source == policies.FromMode {
		note = "no rule allows it"
	}
	for _, s := range request.Widths {
		if c.rules.Check(s.Rules...) == nil {
			widths = append(widths, s)
		}
	}
	return cards.Permission(c.h, cards.Request{Call: call, Agent: c.whose(call), Note: note, Reason: verdict.Reason,
		Preview: request.Preview, Project: c.s.Project, Risks: c.rules.Risks(ctx, call), Widths: widths}), widths
}

// whose returns the name of the sub-agent that makes a call, or "" for the main agent.
func (c *Chat) whose(call tool.Call) string {
	if call.Session == "" || call.Session == c.s.Session.ID || call.Agent == "" {
		return ""
	}
	return call.Agent
}

// AskUser is the agent's AskUser function.
func (c *Chat) AskUser(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	said, err := c.pose(ctx, cards.Ask(c.h, c.whose(call), questions))
	if err != nil {
		return nil, err
	}
	list, ok := said.([]ui.Answer)
	if !ok {
		return nil, app.ErrNoPerson
	}
	return cards.Answers(questions, list), nil
}

package repl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A permissionQuestion is a permission question that waits for the user's answer.
type permissionQuestion struct {
	ctx     context.Context
	call    tool.Call
	verdict permission.Decision
	request event.PermissionRequest
	risks   []rules.Risk
	answer  chan permission.Decision
}

// decide is the session's CanUseTool function. It shows the question on the screen.
func (c *REPL) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	nobody := permission.Decision{}
	if verdict.Behavior != permission.Asked {
		return nobody, nil
	}
	if c.rules.Covers(ctx, call, verdict) {
		return permission.Allow(), nil
	}
	q := &permissionQuestion{ctx: ctx, call: call, verdict: verdict, answer: make(chan permission.Decision, 1)}
	pending, err := c.s.Session.Pending(ctx)
	if err != nil {
		return nobody, err
	}
	q.request = app.PendingRequest(pending, c.s.Session.ID, call)
	q.risks = c.rules.Risks(ctx, call)
	if there, err := c.put(ctx, call, q); !there {
		return nobody, err
	}
	select {
	case d := <-q.answer:
		return d, nil
	case <-c.gone:
		return nobody, nil
	case <-ctx.Done():
		return nobody, ctx.Err()
	}
}

func (q *permissionQuestion) over() bool { return q.ctx.Err() != nil }

func (q *permissionQuestion) gone() <-chan struct{} { return q.ctx.Done() }

func (q *permissionQuestion) pose(c *REPL) {
	showQuestion(c.screen, preview.CallLines(c.h, c.whose(q.call), q.call, q.risks, q.request.Preview))
	if len(q.request.Widths) == 0 || c.rules.Check(q.usualSuggestion().Rules...) != nil {
		c.screen.Ask("allow? [y]es, [n]o, [l]ater, [e]xplain: ")
		return
	}
	c.screen.Ask("allow? [y]es, [n]o, [l]ater, [a]lways in this session: " + c.h.Visible(app.JoinRules(q.usualSuggestion().Rules)) + ", [p]roject or [u]ser: keep the rule, [e]xplain: ")
}

// usualSuggestion is the suggestion used if no number is given.
func (q *permissionQuestion) usualSuggestion() permission.Suggestion {
	for _, s := range q.request.Widths {
		if s.Width == rules.Usual {
			return s
		}
	}
	return q.request.Widths[0]
}

// chosenSuggestion returns the suggestion with a number; "" means the usual one.
func (q *permissionQuestion) chosenSuggestion(number string) (permission.Suggestion, error) {
	if len(q.request.Widths) == 0 {
		return permission.Suggestion{}, errors.New("no rule can allow this call; [y]es or [n]o: ")
	}
	if number = strings.TrimSpace(number); number == "" {
		return q.usualSuggestion(), nil
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > len(q.request.Widths) {
		return permission.Suggestion{}, fmt.Errorf("choose a rule from 1 to %d, or e to show them: ", len(q.request.Widths))
	}
	return q.request.Widths[i-1], nil
}

// keep allows a suggestion for the session. For the letters p and u it also writes the rule to a
// settings file.
func (q *permissionQuestion) keep(c *REPL, letter, number string) error {
	s, err := q.chosenSuggestion(number)
	if err != nil {
		return err
	}
	if err := c.rules.Check(s.Rules...); err != nil {
		return fmt.Errorf("%s; answer y or n: ", c.h.OneLine(err.Error()))
	}
	scope, name := config.Local, rules.ForProject
	if letter == "u" {
		scope, name = config.User, rules.ForUser
	}
	if letter != "a" {
		if !slices.Contains(s.Scopes, name) {
			return errors.New("the rule applies to this project only; answer p or a: ")
		}
		file, err := c.s.KeepRules(q.ctx, c.h, scope, s.Rules)
		if err != nil {
			return fmt.Errorf("%s; answer y or a: ", c.h.OneLine(err.Error()))
		}
		c.screen.Line(term.Dim, "saved %s in %s", c.h.Visible(app.JoinRules(s.Rules)), c.h.OneLine(c.s.ShortPath(file)))
	} else {
		c.screen.Line(term.Dim, "allowed %s in this session", c.h.Visible(app.JoinRules(s.Rules)))
	}
	c.rules.Add(s.Rules...)
	return nil
}

func (q *permissionQuestion) take(c *REPL, line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	d := permission.Allow()
	switch strings.ToLower(word) {
	case "y", "yes":
	case "a", "always", "p", "project", "u", "user":
		if err := q.keep(c, strings.ToLower(word[:1]), rest); err != nil {
			c.screen.Ask(err.Error())
			return false
		}
	case "l", "later":
		d = permission.Defer()
	case "n", "no":
		d = permission.Deny("refused by the user")
		if rest = strings.TrimSpace(rest); rest != "" {
			d.Reason += ": " + rest
		}
	case "e", "explain":
		c.screen.Line(term.Dim, "  %s", c.h.Visible(q.verdict.Reason))
		c.screen.Line(term.Dim, "  the whole input: %s", c.h.Visible(string(q.call.Input)))
		for i, s := range q.request.Widths {
			c.screen.Line(term.Dim, "  %d %s", i+1, c.h.Visible(app.JoinRules(s.Rules)))
		}
		c.screen.Ask("allow? ")
		return false
	default:
		c.screen.Ask("answer y, n, n and a reason, l, e, or a, p or u and a number: ")
		return false
	}
	d.Source = policies.FromPerson
	q.answer <- d
	return true
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An asking is a permission question that waits for the person.
type asking struct {
	ctx     context.Context
	call    tool.Call
	verdict permission.Decision
	request event.PermissionRequest
	risks   []permission.Risk
	answer  chan permission.Decision
}

// decide is the session's CanUseTool: it has the question put on the screen.
func (c *repl) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	nobody := permission.Decision{}
	if verdict.Behavior != permission.Asked {
		return nobody, nil
	}
	if c.grants.cover(ctx, call, verdict) {
		return permission.Allow(), nil
	}
	q := &asking{ctx: ctx, call: call, verdict: verdict, answer: make(chan permission.Decision, 1)}
	pending, err := c.s.session.Pending(ctx)
	if err != nil {
		return nobody, err
	}
	q.request = requestFor(pending, c.s.session.ID, call)
	q.risks = c.grants.risks(ctx, call)
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

// requestFor returns the question about a call among those that wait, of the session's
// run and of its agents.
func requestFor(pending []event.PermissionRequest, session string, call tool.Call) event.PermissionRequest {
	id := call.ID
	if call.Session != session {
		id = call.Session + "/" + id
	}
	for _, p := range pending {
		if p.Call.ID == id {
			return p
		}
	}
	return event.PermissionRequest{}
}

func (q *asking) over() bool { return q.ctx.Err() != nil }

func (q *asking) gone() <-chan struct{} { return q.ctx.Done() }

func (q *asking) pose(c *repl) {
	c.screen.question(c.h.aboutCall(c.whose(q.call), q.call, q.risks, q.request.Preview))
	if len(q.request.Widths) == 0 || c.grants.check(q.usual().Rules...) != nil {
		c.screen.ask("allow? [y]es, [n]o, [l]ater, [e]xplain: ")
		return
	}
	c.screen.ask("allow? [y]es, [n]o, [l]ater, [a]lways in this session: " + c.h.visible(joinRules(q.usual().Rules)) + ", [p]roject or [u]ser: keep the rule, [e]xplain: ")
}

// usual is the suggestion that counts where no number is given.
func (q *asking) usual() permission.Suggestion {
	for _, s := range q.request.Widths {
		if s.Width == permission.Usual {
			return s
		}
	}
	return q.request.Widths[0]
}

// chosen is the suggestion with a number, "" for the usual one.
func (q *asking) chosen(number string) (permission.Suggestion, error) {
	if len(q.request.Widths) == 0 {
		return permission.Suggestion{}, errors.New("there is no rule for this call; [y]es or [n]o: ")
	}
	if number = strings.TrimSpace(number); number == "" {
		return q.usual(), nil
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > len(q.request.Widths) {
		return permission.Suggestion{}, fmt.Errorf("the rules are numbered 1 to %d, e shows them: ", len(q.request.Widths))
	}
	return q.request.Widths[i-1], nil
}

// keep allows a suggestion for the session, and writes it to a file of settings
// where the letter says so.
func (q *asking) keep(c *repl, letter, number string) error {
	s, err := q.chosen(number)
	if err != nil {
		return err
	}
	if err := c.grants.check(s.Rules...); err != nil {
		return fmt.Errorf("%s; answer y or n: ", c.h.oneLine(err.Error()))
	}
	scope, name := config.Local, permission.ForProject
	if letter == "u" {
		scope, name = config.User, permission.ForUser
	}
	if letter != "a" {
		if !slices.Contains(s.Scopes, name) {
			return errors.New("the rule means something in this project alone; answer p or a: ")
		}
		if err := c.h.keepRules(q.ctx, c.s, scope, s.Rules); err != nil {
			return fmt.Errorf("%s; answer y or a: ", c.h.oneLine(err.Error()))
		}
	}
	c.grants.add(s.Rules...)
	return nil
}

// keepRules adds rules that allow to a file of settings.
func (h *host) keepRules(ctx context.Context, s *setup, scope config.Scope, rules []permission.Rule) error {
	f, ok := h.sources(s.options, s.project).File(scope)
	if !ok {
		return errors.New("there is no such file here")
	}
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = string(r)
	}
	change, err := config.Append(ctx, f, "permissions.allow", texts...)
	if err != nil || scope == config.User || change.After == "" {
		return err
	}
	return h.trustChange(ctx, f, change)
}

func joinRules(rules []permission.Rule) string {
	words := make([]string, len(rules))
	for i, r := range rules {
		words[i] = string(r)
	}
	return strings.Join(words, " ")
}

func (q *asking) take(c *repl, line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	d := permission.Allow()
	switch strings.ToLower(word) {
	case "y", "yes":
	case "a", "always", "p", "project", "u", "user":
		if err := q.keep(c, strings.ToLower(word[:1]), rest); err != nil {
			c.screen.ask(err.Error())
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
		c.screen.line(inDim, "  %s", c.h.visible(q.verdict.Reason))
		c.screen.line(inDim, "  the whole input: %s", c.h.visible(string(q.call.Input)))
		for i, s := range q.request.Widths {
			c.screen.line(inDim, "  %d %s", i+1, c.h.visible(joinRules(s.Rules)))
		}
		c.screen.ask("allow? ")
		return false
	default:
		c.screen.ask("answer y, n, n and a reason, l, e, or a, p or u and a number: ")
		return false
	}
	d.Source = permission.FromPerson
	q.answer <- d
	return true
}

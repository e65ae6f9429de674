package main

import (
	"context"
	"strings"

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
	answer  chan permission.Decision
}

// decide is the session's CanUseTool: it has the question put on the screen.
func (c *conversation) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
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
	for _, p := range pending {
		if p.Call.ID == call.ID {
			q.request = p
		}
	}
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

func (q *asking) over() bool { return q.ctx.Err() != nil }

func (q *asking) pose(c *conversation) {
	c.screen.line(inYellow, "? %s %s", q.call.Name, briefly(q.call.Input))
	c.screen.diff(q.request.Preview)
	always := ""
	if len(q.request.Suggestions) > 0 {
		always = ", [a]lways in this session: " + joinRules(q.request.Suggestions)
	}
	c.screen.ask("allow? [y]es, [n]o, [l]ater" + always + ", [e]xplain: ")
}

func joinRules(rules []permission.Rule) string {
	words := make([]string, len(rules))
	for i, r := range rules {
		words[i] = string(r)
	}
	return strings.Join(words, " ")
}

func (q *asking) take(c *conversation, line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	d := permission.Allow()
	switch strings.ToLower(word) {
	case "y", "yes":
	case "a", "always":
		if len(q.request.Suggestions) == 0 {
			c.screen.ask("there is no rule for this call; [y]es or [n]o: ")
			return false
		}
		c.grants.add(q.request.Suggestions...)
	case "l", "later":
		d = permission.Defer()
	case "n", "no":
		d = permission.Deny("refused by the user")
		if rest = strings.TrimSpace(rest); rest != "" {
			d.Reason += ": " + rest
		}
	case "e", "explain":
		c.screen.line(inDim, "  %s", q.verdict.Reason)
		c.screen.line(inDim, "  the whole input: %s", string(q.call.Input))
		c.screen.ask("allow? ")
		return false
	default:
		c.screen.ask("answer y, n, n and a reason, l, a or e: ")
		return false
	}
	d.Source = permission.FromPerson
	q.answer <- d
	return true
}

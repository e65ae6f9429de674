package attached

import (
	"context"
	"errors"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cards"
	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A card is a question that is on the screen, or was answered here and is on its way.
type card struct {
	remote.Question
	sent bool   // it was answered here
	by   string // who has answered it elsewhere
}

// kept are the widths of rules that the server keeps: those for the session.
func (c *card) kept() []permission.Suggestion {
	var out []permission.Suggestion
	for _, w := range c.Widths {
		if slices.Contains(w.Scopes, rules.ForSession) {
			w.Scopes = []string{rules.ForSession}
			out = append(out, w)
		}
	}
	return out
}

// questions brings the cards to the open questions of the server.
func (v *View) questions(ctx context.Context) {
	if v.asking.Swap(true) {
		return // one who waits reads them
	}
	v.ask.Lock()
	defer v.ask.Unlock()
	v.asking.Store(false)
	open, err := v.c.Pending(ctx, v.id)
	if err != nil {
		if ctx.Err() == nil && isRefusal(err) {
			v.warn(err)
		}
		return // another connection asks again
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, c := range v.cards {
		if slices.ContainsFunc(open, func(q remote.Question) bool { return q.Call == c.Call }) {
			continue
		}
		delete(v.cards, id)
		if c.sent {
			continue
		}
		v.post(ui.Settled{ID: id})
		said := "the question about " + v.h.OneLine(c.Tool) + " is settled"
		if c.by != "" {
			said += ": " + v.h.OneLine(c.by)
		}
		v.say(ui.DimLine, "  "+said)
	}
	for _, q := range open {
		if !v.shows(q.Call) && (q.Kind == "permission" || len(q.Questions) > 0) {
			v.pose(&card{Question: q})
		}
	}
}

func isRefusal(err error) bool {
	var refused *remote.Error
	return errors.As(err, &refused)
}

func (v *View) shows(call string) bool {
	for _, c := range v.cards {
		if c.Call == call {
			return true
		}
	}
	return false
}

// pose shows a question. It is called with the lock.
func (v *View) pose(c *card) {
	v.asked++
	v.cards[v.asked] = c
	var q ui.Question
	if c.Kind == "permission" {
		q = cards.Permission(v.h, cards.Request{Call: tool.Call{ID: c.Call, Name: c.Tool, Input: c.Input}, Agent: c.Agent, Note: c.Text, Reason: c.Text,
			Preview: c.Preview, Project: v.info.Dir, Risks: c.Risks, Widths: c.kept()})
	} else {
		q = cards.Ask(v.h, c.Agent, c.Questions)
	}
	q.ID, q.Elsewhere = v.asked, true
	v.post(ui.Pose{Question: q})
}

// answeredBy notes who has answered a question.
func (v *View) answeredBy(d fact.Answered) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.cards {
		if c.Call == d.Call && !c.sent {
			c.by = string(d.Decision.Behavior)
			if d.Decision.By != "" {
				c.by += " by " + d.Decision.By
			}
		}
	}
}

// take returns a card that the person has answered.
func (v *View) take(id int) *card {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.cards[id]
	if c != nil {
		c.sent = true
	}
	return c
}

// decide answers a permission question.
func (v *View) decide(ctx context.Context, id int, said ui.Decision) {
	c := v.take(id)
	if c == nil {
		return
	}
	if said.Later {
		v.say(ui.DimLine, "  the question waits: answer it in a browser, or attach again")
		return
	}
	d := remote.Decision{Behavior: "deny", Reason: cards.Refusal(said.Reason)}
	if said.Allow {
		d = remote.Decision{Behavior: "allow"}
	}
	if said.Edited != "" {
		var err error
		if d.Input, err = cards.Edited(tool.Call{Input: c.Input}, said.Edited); err != nil {
			v.again(id, err)
			return
		}
	}
	if kept := c.kept(); said.Keep && said.Width < len(kept) {
		d.Keep = kept[said.Width].Rules
	}
	err := v.c.Decide(ctx, v.id, c.Call, d)
	if err != nil {
		v.again(id, err)
		return
	}
	if len(d.Keep) > 0 {
		v.say(ui.DimLine, "  saved "+v.h.Visible(joined(d.Keep))+" in this session")
	}
}

func joined(list []permission.Rule) string {
	out := ""
	for i, r := range list {
		if i > 0 {
			out += " "
		}
		out += string(r)
	}
	return out
}

// reply answers the questions of a tool.
func (v *View) reply(ctx context.Context, id int, said []ui.Answer) {
	c := v.take(id)
	if c == nil {
		return
	}
	if err := v.c.Answer(ctx, v.id, c.Call, cards.Answers(c.Questions, said)); err != nil {
		v.again(id, err)
	}
}

// again says why an answer had no effect. If the question is still open, it is asked again.
func (v *View) again(id int, err error) {
	v.warn(err)
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.cards[id]; c != nil && !remote.IsCode(err, "answered") && !remote.IsCode(err, "no_question") {
		delete(v.cards, id)
		v.pose(&card{Question: c.Question})
	}
}

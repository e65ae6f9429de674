package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/tool"
)

// An inquiry is the questions of a tool, which the person answers one by one.
type inquiry struct {
	ctx       context.Context
	questions []tool.Question
	answers   []tool.Answer
	done      chan []tool.Answer
}

var errNobody = errors.New("nobody is there any more; decide yourself")

// inquire is the agent's AskUser: it has the questions put on the screen.
func (c *conversation) inquire(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	q := &inquiry{ctx: ctx, questions: questions, done: make(chan []tool.Answer, 1)}
	if there, err := c.put(ctx, call, q); !there {
		if err == nil {
			err = errNobody
		}
		return nil, err
	}
	select {
	case answers := <-q.done:
		return answers, nil
	case <-c.gone:
		return nil, errNobody
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *inquiry) over() bool { return q.ctx.Err() != nil }

func (q *inquiry) gone() <-chan struct{} { return q.ctx.Done() }

// pose puts the next question on the screen.
func (q *inquiry) pose(c *conversation) {
	asked := q.questions[len(q.answers)]
	text := c.h.oneLine(asked.Text)
	if header := c.h.oneLine(asked.Header); header != "" {
		text = header + ": " + text
	}
	c.screen.line(inYellow, "? %s", text)
	for i, o := range asked.Options {
		line := fmt.Sprintf("  %d  %s", i+1, c.h.oneLine(o.Label))
		if d := c.h.oneLine(o.Description); d != "" {
			line += ": " + d
		}
		c.screen.line(inPlain, "%s", line)
	}
	switch {
	case len(asked.Options) == 0:
		c.screen.ask("your answer (empty: none): ")
	case asked.Multiple:
		c.screen.ask("numbers with commas, or words of yours (empty: no answer): ")
	default:
		c.screen.ask("a number, or words of yours (empty: no answer): ")
	}
}

func (q *inquiry) take(c *conversation, line string) bool {
	q.answers = append(q.answers, answerTo(q.questions[len(q.answers)], line))
	if len(q.answers) < len(q.questions) {
		q.pose(c)
		return false
	}
	q.done <- q.answers
	return true
}

// answerTo reads an answer: options by their number or label, several with
// commas where that is asked for; all else is the person's own words.
func answerTo(q tool.Question, line string) tool.Answer {
	parts := []string{line}
	if q.Multiple {
		parts = strings.Split(line, ",")
	}
	var a tool.Answer
	var words []string
	for _, p := range parts {
		p = strings.TrimSpace(p)
		label, ok := optionOf(q, p)
		switch {
		case ok && !slices.Contains(a.Options, label):
			a.Options = append(a.Options, label)
		case !ok && p != "":
			words = append(words, p)
		}
	}
	a.Text = strings.Join(words, ", ")
	return a
}

func optionOf(q tool.Question, said string) (string, bool) {
	if n, err := strconv.Atoi(said); err == nil && 1 <= n && n <= len(q.Options) {
		return q.Options[n-1].Label, true
	}
	for _, o := range q.Options {
		if strings.EqualFold(o.Label, said) {
			return o.Label, true
		}
	}
	return "", false
}

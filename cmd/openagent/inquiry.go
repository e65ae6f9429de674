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
func (c *repl) inquire(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
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
func (q *inquiry) pose(c *repl) {
	asked := q.questions[len(q.answers)]
	c.screen.question(c.h.aboutQuestion(asked))
	switch {
	case len(asked.Options) == 0:
		c.screen.ask("your answer (empty: none): ")
	case asked.Multiple:
		c.screen.ask("numbers with commas, or words of yours (empty: no answer): ")
	default:
		c.screen.ask("a number, or words of yours (empty: no answer): ")
	}
}

// aboutQuestion shows all of a question: nothing is cut, and nothing is invisible.
func (h *host) aboutQuestion(asked tool.Question) []questionLine {
	rows := textRows(strings.TrimSpace(asked.Text))
	if header := strings.TrimSpace(asked.Header); header != "" {
		rows[0] = header + ": " + rows[0]
	}
	lines := []questionLine{{inYellow, "? " + h.visible(rows[0])}}
	if len(rows) > 1 {
		lines = h.gutter(lines, rows[1:])
	}
	for i, o := range asked.Options {
		line := fmt.Sprintf("  %d  %s", i+1, h.visible(strings.TrimSpace(o.Label)))
		if d := strings.TrimSpace(o.Description); d != "" {
			line += ": " + h.visible(d)
		}
		lines = append(lines, questionLine{inPlain, line})
	}
	return lines
}

func (q *inquiry) take(c *repl, line string) bool {
	q.answers = append(q.answers, answerTo(q.questions[len(q.answers)], line))
	if len(q.answers) < len(q.questions) {
		c.before(q.ctx, func(string) {})
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

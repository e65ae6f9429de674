package repl

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/tool"
)

// A questionnaire holds the questions of a tool. The user answers them one by one.
type questionnaire struct {
	ctx       context.Context
	questions []tool.Question
	answers   []tool.Answer
	done      chan []tool.Answer
}

// AskUser is the agent's AskUser function. It shows the questions on the screen.
func (c *REPL) AskUser(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	q := &questionnaire{ctx: ctx, questions: questions, done: make(chan []tool.Answer, 1)}
	if there, err := c.put(ctx, call, q); !there {
		if err == nil {
			err = app.ErrNoPerson
		}
		return nil, err
	}
	select {
	case answers := <-q.done:
		return answers, nil
	case <-c.gone:
		return nil, app.ErrNoPerson
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *questionnaire) over() bool { return q.ctx.Err() != nil }

func (q *questionnaire) gone() <-chan struct{} { return q.ctx.Done() }

// pose shows the next question.
func (q *questionnaire) pose(c *REPL) {
	asked := q.questions[len(q.answers)]
	showQuestion(c.screen, aboutQuestion(c.h, asked))
	switch {
	case len(asked.Options) == 0:
		c.screen.Ask("your answer (empty: none): ")
	case asked.Multiple:
		c.screen.Ask("numbers with commas, or your own words (empty: no answer): ")
	default:
		c.screen.Ask("a number, or your own words (empty: no answer): ")
	}
}

// aboutQuestion shows a question in full, with invisible characters escaped.
func aboutQuestion(h *cli.IO, asked tool.Question) []preview.Line {
	rows := preview.SplitLines(strings.TrimSpace(asked.Text))
	if header := strings.TrimSpace(asked.Header); header != "" {
		rows[0] = header + ": " + rows[0]
	}
	lines := []preview.Line{{Colour: term.Yellow, Text: "? " + h.Visible(rows[0])}}
	if len(rows) > 1 {
		lines = preview.NumberLines(h, lines, rows[1:])
	}
	for i, o := range asked.Options {
		line := fmt.Sprintf("  %d  %s", i+1, h.Visible(strings.TrimSpace(o.Label)))
		if d := strings.TrimSpace(o.Description); d != "" {
			line += ": " + h.Visible(d)
		}
		lines = append(lines, preview.Line{Colour: term.Plain, Text: line})
	}
	return lines
}

func (q *questionnaire) take(c *REPL, line string) bool {
	q.answers = append(q.answers, app.ParseAnswer(q.questions[len(q.answers)], line))
	if len(q.answers) < len(q.questions) {
		c.before(q.ctx, func(string) {})
		q.pose(c)
		return false
	}
	q.done <- q.answers
	return true
}

package app

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/tool"
)

// ErrNoPerson is returned when nobody can answer a question any more.
var ErrNoPerson = errors.New("no person can answer; decide yourself")

// ParseAnswer reads an answer: options by number or label, several with commas if the question
// allows it. Any other text is a free answer.
func ParseAnswer(q tool.Question, line string) tool.Answer {
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

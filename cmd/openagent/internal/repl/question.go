package repl

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
)

// showQuestion writes the lines of a question.
func showQuestion(s *term.Screen, lines []preview.Line) {
	for _, l := range lines {
		s.Line(l.Colour, "%s", l.Text)
	}
}

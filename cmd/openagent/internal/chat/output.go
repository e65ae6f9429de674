package chat

import (
	"io"
	"strings"
	"sync"

	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// An output is a writer whose lines the person sees.
type output struct{ c *Chat }

func (o *output) Write(p []byte) (int, error) {
	if said := strings.TrimRight(string(p), "\n"); said != "" {
		kind := ui.PlainLine
		if strings.HasPrefix(said, "! ") || strings.HasPrefix(said, "openagent: ") {
			kind = ui.WarnLine
		}
		o.c.say(kind, said)
	}
	return len(p), nil
}

// showLines shows the lines of a command in a colour.
func (c *Chat) showLines(colour, said string) {
	kinds := map[string]ui.LineKind{term.Dim: ui.DimLine, term.Red: ui.WarnLine, term.Yellow: ui.WarnLine, term.Green: ui.AddedLine}
	c.say(kinds[colour], said)
}

func lines(kind ui.LineKind, said string) []ui.Line {
	var out []ui.Line
	for line := range strings.SplitSeq(said, "\n") {
		out = append(out, ui.Line{Kind: kind, Text: line})
	}
	return out
}

// A redirect is a writer that can be led elsewhere.
type redirect struct {
	to io.Writer // where it led at first

	mu  sync.Mutex
	now io.Writer // nil: to
}

func (r *redirect) set(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = w
}

func (r *redirect) Write(p []byte) (int, error) {
	r.mu.Lock()
	w := r.now
	r.mu.Unlock()
	if w == nil {
		w = r.to
	}
	return w.Write(p)
}

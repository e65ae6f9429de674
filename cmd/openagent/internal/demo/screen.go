package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
)

func (v *demoView) row(label, text string) {
	v.write("  " + v.paint(term.Dim, fmt.Sprintf("%-8s", label)) + text + "\n")
}

// rule is a line across, with a text in it.
func (v *demoView) rule(text string) string {
	bar := v.mark("─", "-")
	return bar + bar + " " + text + strings.Repeat(bar, max(0, demoWidth-3-len(text)))
}

func (v *demoView) edge() string { return "    " + v.paint(term.Dim, v.mark("│", "|")) + " " }

func (v *demoView) body(line, colour string) {
	v.write(v.edge() + v.paint(colour, text.Runes(terminal.Text(strings.ReplaceAll(line, "\t", "    ")), demoWidth-6)) + "\n")
}

func (v *demoView) line(colour, text string) {
	v.endLine()
	v.write("  " + v.paint(colour, text) + "\n")
}

// mark is a sign, or what stands for it in plain text.
func (v *demoView) mark(sign, plain string) string {
	if v.colours {
		return sign
	}
	return plain
}

func (v *demoView) write(s string) {
	if v.err == nil {
		_, v.err = io.WriteString(v.host.ColourOut(), s)
		v.err = cli.WriteError(v.err)
	}
}

func (v *demoView) paint(colour, s string) string {
	if !v.colours || colour == "" || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// changedLines returns the lines of a unified diff that go and come, with
// their neighbours. The names of the files and the positions are left out.
func changedLines(diff string) []string {
	var lines []string
	hunk := false
	for line := range strings.Lines(diff) {
		if hunk = hunk || strings.HasPrefix(line, "@@"); hunk {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	same := func(i int) bool { return i < 0 || i >= len(lines) || strings.ContainsAny(lines[i][:1], " @") }
	var out []string
	for i, line := range lines {
		if line[0] != '@' && !(same(i-1) && same(i) && same(i+1)) {
			out = append(out, line)
		}
	}
	return out
}

// colourOf is the colour of a line of a diff.
func colourOf(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return term.Green
	case strings.HasPrefix(line, "-"):
		return term.Red
	}
	return term.Dim
}

func secondsOf(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

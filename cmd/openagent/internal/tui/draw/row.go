package draw

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
)

type (
	row  = styled.Row
	span = styled.Span
)

// A kind is what a text means, with attributes.
type kind struct {
	kind styled.Kind
	attr styled.Attr
}

var (
	plain        = kind{}
	dim          = kind{styled.Dim, 0}
	strong       = kind{styled.Plain, styled.Strong}
	good         = kind{styled.Good, 0}
	bad          = kind{styled.Bad, 0}
	warn         = kind{styled.Warn, 0}
	accent       = kind{styled.Accent, 0}
	strongAccent = kind{styled.Accent, styled.Strong}
	added        = kind{styled.Added, 0}
	removed      = kind{styled.Removed, 0}
)

// sp is a span of text that is clean.
func sp(k kind, text string) span { return span{Kind: k.kind, Attr: k.attr, Text: text} }

// say is a row of one span, from a text of any origin.
func say(k kind, text string) row { return row{sp(k, clean(text))} }

// clean makes a text of any origin fit for a row: nothing in it drives the terminal.
func clean(text string) string { return styled.Clean(styled.Plain, text).Text }

// name makes a name or title of any origin fit for a row, so that it looks like no other one.
func name(text string) string { return styled.Label(text) }

// blanks is a row that further rows of a text begin with.
func blanks(text string) row { return row{sp(plain, text)} }

// suffix is the end of a text that takes at most so many cells.
func suffix(text string, width int) string {
	over := frame.Width(text) - width
	for g := graphemes.FromString(text); over > 0 && g.Next(); {
		if over -= frame.Width(g.Value()); over <= 0 {
			return text[g.End():]
		}
	}
	return text
}

// middle shortens a text in its middle, as paths are.
func middle(text string, width int) string {
	if frame.Width(text) <= width {
		return text
	}
	if width < 4 {
		return styled.Prefix(text, max(width, 0))
	}
	tail := (width - 1) * 2 / 3
	return styled.Prefix(text, width-1-tail) + "…" + suffix(text, tail)
}

// beside puts right at the right edge. It is left out if there is no room for it.
func beside(left, right row, width int) row {
	gap := width - left.Width() - right.Width()
	if len(right) == 0 || gap < 2 {
		return left.Cut(width)
	}
	return append(append(left[:len(left):len(left)], sp(plain, strings.Repeat(" ", gap))), right...)
}

// indented puts first before the first row and rest before the others.
func indented(rows []row, first, rest row) []row {
	for i, r := range rows {
		before := rest
		if i == 0 {
			before = first
		}
		rows[i] = append(before[:len(before):len(before)], r...)
	}
	return rows
}

// Row returns a row as a line of the terminal, in a theme.
func Row(t Theme, r styled.Row) string { return render(t, r) }

// render is a row with the sequences of its styles.
func render(t Theme, r row) string {
	var b strings.Builder
	on := ""
	for _, s := range r {
		if s.Text == "" {
			continue
		}
		if code := t.code(s); code != on {
			if on != "" {
				b.WriteString("\x1b[m")
			}
			if on = code; on != "" {
				b.WriteString("\x1b[" + on + "m")
			}
		}
		b.WriteString(s.Text)
	}
	if on != "" {
		b.WriteString("\x1b[m")
	}
	return b.String()
}

package draw

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// A block is some lines of the screen, maybe with the caret in them.
type block struct {
	lines []string
	caret frame.Caret
	here  bool // the caret is in the block
}

func (b *block) add(t Theme, rows ...row) {
	for _, r := range rows {
		b.lines = append(b.lines, render(t, r))
	}
}

func (b *block) append(other block) {
	if other.here {
		b.here, b.caret = true, frame.Caret{Line: len(b.lines) + other.caret.Line, Byte: other.caret.Byte}
	}
	b.lines = append(b.lines, other.lines...)
}

// editor draws the text of an editor behind a mark, at most limit rows of it around the caret.
func editor(t Theme, e ui.Editor, mark row, width, limit int) block {
	indent := mark.Width()
	rows := e.Rows(max(width-indent, 2))
	at := e.CaretRow(rows)
	first := min(max(0, at-limit/2), max(0, len(rows)-limit))
	last := min(len(rows), first+max(limit, 1))
	var b block
	for i, r := range rows[first:last] {
		line := strings.Repeat(" ", indent)
		if i == 0 && first == 0 {
			line = render(t, mark)
		}
		if i+first == at {
			b.here, b.caret.Line = true, i
		}
		for g := graphemes.FromString(e.Text[r.From:r.To]); g.Next(); {
			if i+first == at && r.From+g.Start() == e.Caret {
				b.caret.Byte = len(line)
			}
			line += letter(t, e, g.Value())
		}
		if i+first == at && e.Caret >= r.To {
			b.caret.Byte = len(line)
		}
		b.lines = append(b.lines, line)
	}
	return b
}

// letter draws a letter of an editor's text. A chip is shown by its label.
func letter(t Theme, e ui.Editor, g string) string {
	r, _ := utf8.DecodeRuneInString(g)
	if label := e.Label(r); label != "" {
		return t.style(sp(accent, clean(label)))
	}
	return clean(g)
}

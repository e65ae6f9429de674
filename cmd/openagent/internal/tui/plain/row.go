package plain

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
)

// A row is the last line of the terminal, on which the person writes. It is changed with
// backspaces, carriage returns and blanks alone: every terminal knows these.
type row struct {
	text  string
	caret int // cells before it
}

// change makes the row show a text. It returns the bytes for the terminal.
func (r *row) change(text string, caret int) string {
	if text == r.text && caret == r.caret {
		return ""
	}
	same := common(r.text, text)
	at := frame.Width(text[:same])
	var b strings.Builder
	back := func(n int) { b.WriteString(strings.Repeat("\b", max(n, 0))) }
	if same == len(r.text) && same == len(text) { // only the caret moves
		at = min(r.caret, caret)
	}
	back(r.caret - at)
	b.WriteString(cells(text, min(r.caret, at), at))
	b.WriteString(cells(text, at, frame.Width(text)))
	width, gone := frame.Width(text), frame.Width(r.text)-frame.Width(text)
	b.WriteString(strings.Repeat(" ", max(gone, 0)))
	back(gone)
	back(width - caret)
	r.text, r.caret = text, caret
	return b.String()
}

// hide removes the row from the terminal.
func (r *row) hide() string {
	if r.text == "" {
		return ""
	}
	blank := "\r" + strings.Repeat(" ", frame.Width(r.text)) + "\r"
	*r = row{}
	return blank
}

// leave goes to the next line. The row stays as it is.
func (r *row) leave() string {
	end := cells(r.text, r.caret, frame.Width(r.text)) + "\r\n"
	*r = row{}
	return end
}

// common returns the length of what two texts begin with, in whole letters.
func common(a, b string) int {
	n := 0
	for g := graphemes.FromString(a); g.Next(); {
		if !strings.HasPrefix(b[n:], g.Value()) {
			break
		}
		n = g.End()
	}
	for g := graphemes.FromString(b); g.Next(); { // a letter of b may be longer
		if g.Start() < n && n < g.End() {
			return g.Start()
		}
	}
	return n
}

// cells returns the part of a text between two columns.
func cells(text string, from, to int) string {
	at, start, end := 0, len(text), len(text)
	for g := graphemes.FromString(text); g.Next(); {
		if at >= from && g.Start() < start {
			start = g.Start()
		}
		if at += frame.Width(g.Value()); at > to {
			end = g.Start()
			break
		}
	}
	return text[min(start, end):end]
}

// window returns the part of a text that fits into so many cells, with the caret in it, and the
// cells before the caret.
func window(before, after string, room int) (shown string, caret int) {
	room = max(room, 4)
	caret = frame.Width(before)
	if caret+frame.Width(after) <= room {
		return before + after, caret
	}
	from := 0
	if step := room / 2; caret >= room {
		from = ((caret-room)/step + 1) * step
	}
	head := cells(before, from, caret)
	return head + cells(after, 0, room-frame.Width(head)), frame.Width(head)
}

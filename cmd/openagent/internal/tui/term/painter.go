package term

import (
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
)

// A Painter turns frames into the bytes that make a terminal show them. It remembers what it
// has painted and writes only what changes. It does no I/O and knows no time.
//
// History lines are written once. The painter never moves above the live region, never
// clears the screen or a part of it (ED) and never sets a scroll region: terminals and
// multiplexers damage their history with these. Lines of the live region are erased one by
// one (EL).
//
// The zero Painter paints from the row of the cursor on.
type Painter struct {
	// Plain says that the terminal does not know synchronised updates (mode 2026).
	Plain bool

	// Cuts says that the terminal cuts lines at its right edge when it gets narrower, and
	// does not wrap them again.
	Cuts bool

	live   []string // as painted
	caret  frame.Caret
	width  int
	height int
	stale  bool // what the terminal shows is not known
}

const (
	syncOn   = "\x1b[?2026h"
	syncOff  = "\x1b[?2026l"
	save     = "\x1b7"
	restore  = "\x1b8"
	eraseEnd = "\x1b[K"
	eraseRow = "\x1b[2K"
	down     = "\x1b[B"
	reset    = "\x1b[m"
)

// Paint appends to b the bytes that make a terminal of a size show f. It appends nothing if
// nothing changes.
func (p *Painter) Paint(b []byte, f frame.Frame, width, height int) []byte {
	width, height = max(width, 1), max(height, 1)
	f = fitting(f, width, height)
	changed := p.stale || width != p.width || height != p.height
	if !changed && len(f.Above) == 0 && f.Caret == p.caret && slices.Equal(f.Live, p.live) {
		return b
	}
	b = p.begin(b)
	if changed || !flat(p.live, width) || !flat(f.Above, width) || !flat(f.Live, width) {
		b = p.rewrite(b, f, width)
	} else {
		b = p.update(b, slices.Concat(f.Above, f.Live), frame.Caret{Line: len(f.Above) + f.Caret.Line, Byte: f.Caret.Byte})
	}
	p.live, p.caret = append(p.live[:0], f.Live...), f.Caret
	p.width, p.height, p.stale = width, height, false
	return p.end(b)
}

// Erase appends the bytes that remove the live region, with the cursor where it began.
func (p *Painter) Erase(b []byte, width int) []byte {
	if len(p.live) == 0 {
		return b
	}
	b = p.begin(b)
	b = p.top(b, max(width, 1))
	b = eraseRows(b, p.rows(len(p.live), max(width, 1)))
	b = p.end(b)
	p.Forget()
	return b
}

// Forget makes the next frame begin at the row of the cursor. Another program has written to
// the terminal.
func (p *Painter) Forget() { p.live, p.caret, p.stale = p.live[:0], frame.Caret{}, true }

// Repaint makes the next frame write the whole live region.
func (p *Painter) Repaint() { p.stale = true }

func (p *Painter) begin(b []byte) []byte {
	if p.Plain {
		return b
	}
	return append(b, syncOn...)
}

func (p *Painter) end(b []byte) []byte {
	if p.Plain {
		return b
	}
	return append(b, syncOff...)
}

// fitting returns the frame with a live region no higher than the terminal, and without
// control characters and blanks that show nothing.
func fitting(f frame.Frame, width, height int) frame.Frame {
	f.Above, f.Live = sanitized(f.Above), slices.Clone(sanitized(f.Live))
	f.Caret.Line = min(max(f.Caret.Line, 0), max(len(f.Live)-1, 0))
	for i, l := range f.Live {
		keep := 0
		if i == f.Caret.Line {
			keep = min(max(f.Caret.Byte, 0), len(l))
		}
		f.Live[i] = trimmed(l, keep)
	}
	rows := 0
	for i := len(f.Live) - 1; i >= 0; i-- {
		if rows += frame.Rows(f.Live[i], width); rows > height && i < len(f.Live)-1 {
			f.Live = f.Live[i+1:]
			f.Caret.Line = max(f.Caret.Line-i-1, 0)
			break
		}
	}
	if len(f.Live) == 0 {
		f.Live = []string{""}
	}
	f.Caret.Byte = boundary(f.Live[f.Caret.Line], f.Caret.Byte)
	return f
}

// trimmed returns a line without blanks at its end that show nothing, but not less than its
// first bytes.
func trimmed(line string, keep int) string {
	short := strings.TrimRight(line[keep:], " ")
	if keep+len(short) < len(line) && styles(line[:keep+len(short)]) == "" {
		return line[:keep+len(short)]
	}
	return line
}

// flat reports whether each line takes one row.
func flat(lines []string, width int) bool {
	for _, l := range lines {
		if len(l) > width && frame.Width(l) > width {
			return false
		}
	}
	return true
}

// rows returns how many rows the first n painted lines take now. A terminal that has become
// narrower has wrapped them again.
func (p *Painter) rows(n, width int) int {
	if p.Cuts && p.width > 0 {
		width = p.width
	}
	sum := 0
	for _, l := range p.live[:n] {
		sum += frame.Rows(l, width)
	}
	return sum
}

// top moves the cursor from the painted caret to the first row of the live region.
func (p *Painter) top(b []byte, width int) []byte {
	if len(p.live) > 0 {
		at := width
		if p.Cuts && p.width > 0 {
			at = p.width
		}
		b = up(b, p.rows(p.caret.Line, width)+frame.Row(p.live[p.caret.Line], p.caret.Byte, at))
	}
	return append(b, '\r')
}

// rewrite erases the live region, whose lines may take several rows, and writes history and
// all live lines from its first row on.
func (p *Painter) rewrite(b []byte, f frame.Frame, width int) []byte {
	b = eraseRows(p.top(b, width), p.rows(len(p.live), width))
	for i, l := range slices.Concat(f.Above, f.Live) {
		if i > 0 {
			b = append(b, "\r\n"...)
		}
		b = append(b, eraseEnd...) // a row that the terminal had before
		b = append(b, l...)
		b = settle(b, l)
	}
	at := frame.Caret{Line: len(f.Live) - 1, Byte: len(f.Live[len(f.Live)-1])}
	below := 0
	for i := f.Caret.Line + 1; i < len(f.Live); i++ {
		below += frame.Rows(f.Live[i], width)
	}
	line := f.Live[f.Caret.Line]
	below += frame.Rows(line, width) - 1 // the rows of its text, of which the caret is on the first
	if below == 0 && f.Caret == at {
		return b
	}
	b = append(up(b, below), '\r')
	return before(b, line, f.Caret)
}

// update changes the rows from the first one of the live region on that differ. Each line takes
// one row. A line of the history was often in the live region before, at the same place. The
// line of the caret is the last to be written.
func (p *Painter) update(b []byte, lines []string, caret frame.Caret) []byte {
	u := updater{b: b, old: p.live, at: p.caret.Line}
	line := lines[caret.Line]
	same := caret.Line < len(p.live) && line == p.live[caret.Line]
	if same && caret == p.caret && len(lines) <= len(p.live) {
		u.b = append(u.b, save...) // nothing scrolls, and the caret stays
		u.lines(lines, -1)
		return append(u.b, restore...)
	}
	u.lines(lines, caret.Line)
	u.line(caret.Line, line)
	if !same && u.behind && caret.Byte == len(line) {
		return u.b
	}
	return before(append(move(u.b, u.at, caret.Line), '\r'), line, caret)
}

// An updater writes those rows that differ from the old ones.
type updater struct {
	b   []byte
	old []string
	at  int // the row of the cursor

	behind bool // the cursor is behind the line that was written last
}

// lines writes all lines but one.
func (u *updater) lines(lines []string, but int) {
	for i, l := range lines {
		switch {
		case i != but:
			u.line(i, l)
		case i >= len(u.old):
			u.line(i, "") // makes the row
		}
	}
	for i := len(lines); i < len(u.old); i++ {
		u.b = append(move(u.b, u.at, i), eraseRow...)
		u.at = i
	}
}

// line writes the line of a row.
func (u *updater) line(i int, line string) {
	switch {
	case i >= len(u.old):
		u.b = append(move(u.b, u.at, i-1), "\r\n"+eraseEnd...)
		u.b, u.behind = settle(append(u.b, line...), line), true
		u.old = append(u.old[:len(u.old):len(u.old)], line)
	case u.old[i] != line:
		u.b, u.behind = change(move(u.b, u.at, i), u.old[i], line)
	default:
		u.behind = false
		return
	}
	u.at = i
}

// before writes the text before the caret, on the row where its line begins. So the
// terminal's own idea of widths says where the caret is.
func before(b []byte, line string, caret frame.Caret) []byte {
	text := line[:caret.Byte]
	return settle(append(b, text...), text)
}

// settle ends the styles that a line leaves on.
func settle(b []byte, line string) []byte {
	if styles(line) != "" {
		b = append(b, reset...)
	}
	return b
}

// eraseRows erases rows from that of the cursor down, and leaves the cursor where it is.
func eraseRows(b []byte, rows int) []byte {
	if rows == 0 {
		return b
	}
	b = append(b, save...)
	for i := range rows {
		if i > 0 {
			b = append(b, down...)
		}
		b = append(b, eraseRow...)
	}
	return append(b, restore...)
}

func up(b []byte, n int) []byte { return cursor(b, n, 'A') }

// move goes from a row to another one.
func move(b []byte, from, to int) []byte {
	if to < from {
		return cursor(b, from-to, 'A')
	}
	return cursor(b, to-from, 'B')
}

func cursor(b []byte, n int, direction byte) []byte {
	if n <= 0 {
		return b
	}
	b = append(b, "\x1b["...)
	if n > 1 {
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, direction)
}

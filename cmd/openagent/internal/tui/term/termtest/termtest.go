// Package termtest is a terminal for tests: strict, with a history, and with the behaviour of
// tmux when its size changes. It knows the sequences that the painter of the terminal UI may
// use. Any other one fails the test.
package termtest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// A Terminal is a terminal with a history without a limit.
type Terminal struct {
	T testing.TB

	// Bytes counts what was written.
	Bytes int

	w, h    int
	lines   []line // history and screen
	history int    // how many lines are history
	x, y    int    // the cursor; x is w after a character in the last column
	style   string

	saved     place
	everSaved bool
	synced    bool // within a synchronised update
}

type place struct {
	x, y, history int
	style         string
}

type line struct {
	cells   []cell // one for each column that was written to
	wrapped bool   // the text goes on in the next line
}

// A cell of a wide character is followed by one with the width -1.
type cell struct {
	text, style string
	width       int
}

// New returns an empty terminal.
func New(t testing.TB, w, h int) *Terminal {
	return &Terminal{T: t, w: w, h: h, lines: make([]line, h)}
}

// Size returns the size of the terminal.
func (t *Terminal) Size() (w, h int) { return t.w, t.h }

// Cursor returns where the cursor is on the screen.
func (t *Terminal) Cursor() (x, y int) { return t.x, t.y }

func (t *Terminal) fail(format string, args ...any) {
	t.T.Helper()
	t.T.Fatalf(format, args...)
}

// Write takes what a program writes. A sequence or a character must not be cut by its end.
func (t *Terminal) Write(b []byte) (int, error) {
	t.T.Helper()
	t.Bytes += len(b)
	s := string(b)
	if !utf8.ValidString(s) {
		t.fail("not UTF-8: %q", s)
	}
	for s != "" {
		switch {
		case s[0] == 0x1b:
			s = s[t.escape(s):]
		case s[0] == '\r':
			t.x, s = 0, s[1:]
		case s[0] == '\n':
			t.lineFeed(false)
			s = s[1:]
		case s[0] < 0x20 || s[0] == 0x7f:
			t.fail("control character %q", s[0])
		default:
			n := strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || 0x7f <= r && r < 0xa0 })
			if n < 0 {
				n = len(s)
			}
			if n == 0 {
				t.fail("control character in %q", s)
			}
			t.print(s[:n])
			s = s[n:]
		}
	}
	return len(b), nil
}

func (t *Terminal) row() *line { return &t.lines[t.history+t.y] }

func (t *Terminal) print(s string) {
	t.T.Helper()
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		n := g.Width()
		if n == 0 {
			t.fail("%q begins with a character that combines with what was written before", s)
		}
		if n > t.w {
			continue
		}
		if t.x+n > t.w {
			t.lineFeed(true)
			t.x = 0
		}
		l := t.row()
		for len(l.cells) < t.x+n {
			l.cells = append(l.cells, cell{text: " ", width: 1})
		}
		t.split(l, t.x)
		t.split(l, t.x+n)
		l.cells[t.x] = cell{g.Value(), t.style, n}
		if n == 2 {
			l.cells[t.x+1] = cell{width: -1}
		}
		t.x += n
	}
}

// split replaces the wide character of which column x is the second half.
func (t *Terminal) split(l *line, x int) {
	if x < len(l.cells) && l.cells[x].width == -1 {
		l.cells[x-1], l.cells[x] = cell{text: " ", width: 1}, cell{text: " ", width: 1}
	}
}

func (t *Terminal) lineFeed(wrapped bool) {
	t.row().wrapped = wrapped
	if t.y < t.h-1 {
		t.y++
		return
	}
	t.lines = append(t.lines, line{})
	t.history++
}

// escape carries out the sequence at the beginning of s and returns its length.
func (t *Terminal) escape(s string) int {
	t.T.Helper()
	if len(s) < 2 {
		t.fail("a sequence is cut: %q", s)
	}
	switch s[1] {
	case '7':
		t.saved, t.everSaved = place{t.x, t.y, t.history, t.style}, true
		return 2
	case '8':
		if !t.everSaved || t.saved.history != t.history {
			t.fail("the cursor is restored after the screen has scrolled, or was never saved")
		}
		t.x, t.y, t.style = min(t.saved.x, t.w-1), t.saved.y, t.saved.style
		return 2
	case '[':
	default:
		t.fail("unknown sequence %q", s[:2])
	}
	end := 2
	for end < len(s) && (s[end] < 0x40 || s[end] > 0x7e) {
		end++
	}
	if end == len(s) {
		t.fail("a sequence is cut: %q", s)
	}
	params, final := s[2:end], s[end]
	switch {
	case final == 'm':
		t.sgr(params)
	case final == 'h' || final == 'l':
		t.mode(params, final == 'h')
	case final == 'K':
		t.erase(params)
	case strings.IndexByte("ABC", final) >= 0:
		n, err := strconv.Atoi(params)
		if params == "" {
			n, err = 1, nil
		}
		if err != nil || n < 1 {
			t.fail("sequence %q", s[:end+1])
		}
		switch final {
		case 'A':
			t.y = max(t.y-n, 0)
		case 'B':
			t.y = min(t.y+n, t.h-1)
		case 'C':
			t.x = min(t.x+n, t.w-1)
		}
	default:
		t.fail("unknown sequence %q", s[:end+1])
	}
	return end + 1
}

func (t *Terminal) mode(name string, on bool) {
	t.T.Helper()
	if name != "?2026" {
		t.fail("mode %s", name)
	}
	if on == t.synced {
		t.fail("synchronised update: begun twice, or ended twice")
	}
	t.synced = on
}

func (t *Terminal) sgr(params string) {
	t.T.Helper()
	if strings.Trim(params, "0123456789;:") != "" {
		t.fail("style %q", params)
	}
	if params == "" || params == "0" {
		t.style = ""
		return
	}
	t.style += "\x1b[" + params + "m"
}

func (t *Terminal) erase(params string) {
	t.T.Helper()
	l := t.row()
	switch {
	case t.style != "":
		t.fail("a line is erased with the style %q", t.style)
	case params == "2" || params == "" && t.x == 0:
		*l = line{}
	case params == "":
		if t.x >= t.w {
			t.fail("the end of a full line is erased")
		}
		t.split(l, t.x)
		l.cells = l.cells[:min(t.x, len(l.cells))]
	default:
		t.fail("sequence ESC [ %s K", params)
	}
}

// Resize changes the size as tmux does it: a lower terminal loses lines below the cursor and
// then moves lines to the history, a higher one takes lines back. A narrower or wider one
// wraps all lines again, of the history too, and the cursor stays at its character.
func (t *Terminal) Resize(w, h int) {
	y := t.history + t.y
	if h < t.h {
		below := min(t.h-1-t.y, t.h-h)
		t.lines = t.lines[:len(t.lines)-below]
		t.history += t.h - h - below
	}
	if h > t.h {
		back := min(t.history, h-t.h)
		t.history -= back
		t.lines = append(t.lines, make([]line, h-t.h-back)...)
	}
	t.h = h
	x := t.x
	if w != t.w {
		x, y = t.reflow(w, x, y)
		t.w = w
	}
	t.x, t.y = x, y-t.history
	if t.y < 0 {
		t.x, t.y = 0, 0
	}
	t.everSaved = false
}

// reflow wraps all lines again and returns where the cursor is then.
func (t *Terminal) reflow(w, x, y int) (newX, newY int) {
	var out []line
	var cells []cell
	at, behind := -1, false // the cursor in cells, or behind all of them
	for i, l := range t.lines {
		if i == y {
			at, behind = len(cells)+x, x >= len(l.cells)
		}
		cells = append(cells, l.cells...)
		if l.wrapped && i < len(t.lines)-1 {
			continue
		}
		rows := wrap(cells, w)
		for n, r := range rows {
			if at < 0 {
				break
			}
			if n == len(rows)-1 || !behind && at < len(r.cells) {
				if newX, newY = at, len(out)+n; behind {
					newX = len(r.cells)
				}
				break
			}
			at = max(at-len(r.cells), 0)
		}
		out = append(out, rows...)
		cells, at = nil, -1
	}
	if n := t.h - len(out); n > 0 {
		out = append(out, make([]line, n)...)
	}
	t.lines, t.history = out, len(out)-t.h
	return newX, newY
}

// wrap cuts cells into lines.
func wrap(cells []cell, w int) []line {
	rows := []line{{}}
	for i := 0; i < len(cells); {
		n := max(cells[i].width, 1)
		last := &rows[len(rows)-1]
		if len(last.cells)+n > w && len(last.cells) > 0 {
			last.wrapped = true
			rows = append(rows, line{})
			last = &rows[len(rows)-1]
		}
		last.cells = append(last.cells, cells[i:min(i+n, len(cells))]...)
		i += n
	}
	return rows
}

// Lines returns all lines of history and screen as text, with those that the terminal has
// wrapped put together, without blanks at their ends and without empty lines at the end.
func (t *Terminal) Lines() []string {
	return text(t.lines)
}

// Screen returns the rows of the screen as text, without blanks at their ends.
func (t *Terminal) Screen() []string {
	rows := make([]string, t.h)
	for i, l := range t.lines[t.history:] {
		rows[i] = strings.TrimRight(l.text(), " ")
	}
	return rows
}

// Styled returns the lines as Lines does, with the styles of their characters.
func (t *Terminal) Styled() []string {
	var out []string
	var b strings.Builder
	end := 0 // of what is not unstyled blanks at the end
	style := ""
	for _, l := range t.lines {
		for _, c := range l.cells {
			if c.style != style && c.width > 0 {
				b.WriteString("\x1b[m" + c.style)
				style = c.style
			}
			b.WriteString(c.text)
			if c.width > 0 && (c.text != " " || c.style != "") {
				end = b.Len()
			}
		}
		if !l.wrapped {
			out = append(out, b.String()[:end])
			b.Reset()
			style, end = "", 0
		}
	}
	return trimmed(out)
}

// trimmed returns lines without the empty ones at the end.
func trimmed(lines []string) []string {
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	return slices.Clip(lines[:end])
}

func text(lines []line) []string {
	var out []string
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text())
		if !l.wrapped {
			out = append(out, strings.TrimRight(b.String(), " "))
			b.Reset()
		}
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return trimmed(out)
}

func (l line) text() string {
	var b strings.Builder
	for _, c := range l.cells {
		b.WriteString(c.text)
	}
	return b.String()
}

// Package frame holds what the terminal is to show: lines of text with styles, and where the
// caret is. It also measures such lines, as the terminal does: by grapheme clusters.
//
//	f := frame.Frame{
//		Above: []string{"the first line of history"},
//		Live:  []string{"❯ hello", "enter send"},
//		Caret: frame.Caret{Line: 0, Byte: len("❯ hello")},
//	}
package frame

import "github.com/clipperhouse/displaywidth"

// A Frame is what the terminal shows at one moment.
//
// A line holds text and sequences that set styles (SGR, such as "\x1b[1m"). It holds no
// other control characters: no tab, no line end. Text from outside is sanitised before it
// becomes part of a line.
type Frame struct {
	// Above goes to the history of the terminal. Each line is written once and never touched
	// again. It may be wider than the terminal, which wraps it.
	Above []string

	// Live is the region below the history, which the next frame replaces. Its lines should
	// be no wider than the terminal, and together no higher.
	Live []string

	Caret Caret
}

// A Caret is the place where text that is typed appears: before a byte of a live line.
type Caret struct {
	Line int // index in Live
	Byte int // offset in the line, sequences included
}

// Sequences that set styles take no cells.
var (
	narrow = displaywidth.Options{ControlSequences: true}
	wide   = displaywidth.Options{ControlSequences: true, EastAsianWidth: true}
)

// Width returns how many cells a line takes.
func Width(line string) int { return narrow.String(line) }

// WidthEastAsian returns how many cells a line takes in a terminal where characters of
// ambiguous width, such as ◐, are wide.
func WidthEastAsian(line string) int { return wide.String(line) }

// Rows returns how many rows of a terminal a line takes, at least 1. A wide character that
// does not fit at the end of a row begins the next one.
func Rows(line string, width int) int {
	rows, _ := Wrap(line, width)
	return rows
}

// Wrap returns how many rows a line takes, and the cells of the last one.
func Wrap(line string, width int) (rows, last int) {
	rows = 1
	for g := narrow.StringGraphemes(line); g.Next(); {
		n := g.Width()
		if last+n > width && last > 0 {
			rows, last = rows+1, 0
		}
		last += n
	}
	return rows, last
}

// Row returns the row of the caret within its line's rows, counted from 0, after the
// terminal has wrapped the line: that of the character behind it, or at the end of a line
// that of the last character.
func Row(line string, caret, width int) int {
	caret = min(max(caret, 0), len(line))
	rows, last := Wrap(line[:caret], width)
	for g := narrow.StringGraphemes(line[caret:]); g.Next(); {
		if n := g.Width(); n > 0 {
			if last > 0 && last+n > width {
				rows++
			}
			break
		}
	}
	return rows - 1
}

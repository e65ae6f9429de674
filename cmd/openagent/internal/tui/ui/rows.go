package ui

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
)

// A Row is a part of an editor's text that stands on one row of the screen.
type Row struct{ From, To int }

// Rows returns the rows of the text on a screen that is so many cells wide. There is always a
// row, and a caret behind a full last row has a row of its own.
func (e Editor) Rows(width int) []Row {
	width = max(width, 2)
	var rows []Row
	from, used := 0, 0
	for g := graphemes.FromString(e.Text); g.Next(); {
		if g.Value() == "\n" || g.Value() == "\r\n" {
			rows = append(rows, Row{from, g.Start()})
			from, used = g.End(), 0
			continue
		}
		w := e.width(g.Value())
		if used+w > width && used > 0 {
			rows = append(rows, Row{from, g.Start()})
			from, used = g.Start(), 0
		}
		used += w
	}
	rows = append(rows, Row{from, len(e.Text)})
	if used >= width {
		rows = append(rows, Row{len(e.Text), len(e.Text)})
	}
	return rows
}

// width is the number of cells of a letter.
func (e Editor) width(letter string) int {
	if r, _ := utf8.DecodeRuneInString(letter); isChip(r) {
		return frame.Width(e.Label(r))
	}
	if letter == "\t" {
		return tabWidth
	}
	return max(frame.Width(letter), 0)
}

// Tabs are shown as so many blanks.
const tabWidth = 4

// at returns the row of the caret and its column.
func (e Editor) at(rows []Row) (row, column int) {
	for i, r := range rows {
		if r.From <= e.Caret {
			row = i
		}
	}
	for g := graphemes.FromString(e.Text[rows[row].From:e.Caret]); g.Next(); {
		column += e.width(g.Value())
	}
	return row, column
}

// CaretRow returns the row that the caret stands on.
func (e Editor) CaretRow(rows []Row) int {
	row, _ := e.at(rows)
	return row
}

// vertical moves the caret up or down by rows. It reports false at the first or last row.
func (e Editor) vertical(by, width int) (Editor, bool) {
	rows := e.Rows(width)
	row, column := e.at(rows)
	if e.last == opVertical && e.goal >= 0 {
		column = e.goal
	}
	to := row + by
	if to < 0 || to >= len(rows) {
		return e, false
	}
	at, used := rows[to].From, 0
	for g := graphemes.FromString(e.Text[at:rows[to].To]); g.Next(); {
		w := e.width(g.Value())
		if used+w > column {
			break
		}
		used += w
		if end := rows[to].From + g.End(); end < rows[to].To || to+1 == len(rows) || rows[to+1].From > end {
			at = end
		}
	}
	e.Caret, e.goal, e.last = at, column, opVertical
	return e, true
}

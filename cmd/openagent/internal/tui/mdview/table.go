package mdview

import (
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/internal/markdown"
)

const minColumn = 4 // cells, unless the texts are shorter

// table draws a table. Its columns are as wide as their texts. If that is too wide, the widest
// columns become narrower, and their texts are wrapped. If even that is too wide, each row
// becomes some lines, one for each column.
func (v *View) table(t markdown.Table) []styled.Row {
	head := v.cells(t.Head, styled.Strong)
	body := make([][][]styled.Row, len(t.Rows))
	for i, r := range t.Rows {
		body[i] = v.cells(r, 0)
	}
	widths := make([]int, len(head))
	for c := range widths {
		widths[c] = 1
	}
	for _, row := range append([][][]styled.Row{head}, body...) {
		for c, cell := range row {
			for _, line := range cell {
				widths[c] = max(widths[c], line.Width())
			}
		}
	}
	room := v.width
	if v.plain {
		room = min(room, maxProse)
	}
	if !narrow(widths, room-len(widths)*3+3) {
		return v.records(head, body)
	}
	out := v.tableRow(head, widths, t.Align)
	var rule []string
	for _, w := range widths {
		rule = append(rule, strings.Repeat(v.sign("─", "-"), w))
	}
	out = append(out, styled.Row{{Kind: styled.Dim, Text: strings.Join(rule, v.sign("─┼─", "-+-"))}})
	for _, row := range body {
		out = append(out, v.tableRow(row, widths, t.Align)...)
	}
	return out
}

// cells returns the lines of each cell of a row.
func (v *View) cells(row [][]markdown.Inline, a styled.Attr) [][]styled.Row {
	out := make([][]styled.Row, len(row))
	for i, text := range row {
		out[i] = v.spans(text, styled.Plain, a)
	}
	return out
}

// narrow makes the widest columns narrower, until all have room. It reports whether they do.
func narrow(widths []int, room int) bool {
	total, least := 0, 0
	for _, w := range widths {
		total += w
		least += min(w, minColumn)
	}
	if least > room {
		return false
	}
	for total > room {
		widest, next, n := 0, 0, 0 // the widest, the widest below them, and how many are the widest
		for _, w := range widths {
			switch {
			case w > widest:
				widest, next, n = w, widest, 1
			case w == widest:
				n++
			case w > next:
				next = w
			}
		}
		step := max(min(widest-max(next, minColumn), (total-room)/n), 1)
		for i, w := range widths {
			if w == widest && total > room {
				widths[i] -= step
				total -= step
			}
		}
	}
	return true
}

// tableRow draws a row of a table.
func (v *View) tableRow(row [][]styled.Row, widths []int, align []markdown.Align) []styled.Row {
	lines := make([][]styled.Row, len(row))
	height := 1
	for c, cell := range row {
		for _, line := range cell {
			for _, part := range line.Wrap(widths[c], nil, nil) {
				lines[c] = append(lines[c], part.Break(widths[c], nil)...)
			}
		}
		height = max(height, len(lines[c]))
	}
	out := make([]styled.Row, height)
	for i := range out {
		for c := range row {
			var text styled.Row
			if i < len(lines[c]) {
				text = lines[c][i]
			}
			gap := max(widths[c]-text.Width(), 0)
			left := 0
			switch align[c] {
			case markdown.AlignRight:
				left = gap
			case markdown.AlignCenter:
				left = gap / 2
			}
			out[i] = styled.Join(out[i], styled.Row{{Text: strings.Repeat(" ", left)}}, text)
			if c < len(row)-1 {
				out[i] = styled.Join(out[i], styled.Row{{Text: strings.Repeat(" ", gap-left)}, {Kind: styled.Dim, Text: v.sign(" │ ", " | ")}})
			}
		}
	}
	return out
}

// records draws a table with a line for each cell: the head of its column, then its text.
func (v *View) records(head [][]styled.Row, body [][][]styled.Row) []styled.Row {
	var out []styled.Row
	for i, row := range body {
		if i > 0 {
			out = append(out, nil)
		}
		for c, cell := range row {
			line := styled.Join(append(append([]styled.Row{}, head[c]...), styled.Row{{Kind: styled.Dim, Text: ": "}})...)
			for j, text := range cell {
				if j > 0 {
					line = styled.Join(line, styled.Row{{Text: " "}})
				}
				line = styled.Join(line, text)
			}
			out = append(out, line.Wrap(v.measure(), nil, styled.Row{{Text: "  "}})...)
		}
	}
	if body == nil {
		for _, cell := range head {
			out = append(out, cell...)
		}
	}
	return out
}

package draw

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

const (
	pickerRows = 18 // of a picker
	lookRows   = 24 // of one that shows details
	listRows   = 5  // of the list beside them
	minText    = 24 // cells of the items' texts, before columns are left out
	maxCell    = 28 // cells of a column
	minNote    = 20 // cells that a note needs
	measured   = 50 // items on both sides of the marked one that columns are made for
)

// picker draws the open picker in at most limit lines.
func picker(t Theme, m ui.Model, width, limit int) block {
	p := m.Picker
	if p.Looking || len(p.About) > 0 {
		limit = min(limit, lookRows)
	} else {
		limit = min(limit, pickerRows)
	}
	tight := limit < roomy-2
	b := pickerHead(t, p, width, tight)
	foot := pickerFoot(t, p, width, tight)
	b.add(t, pickerAbout(p, width, limit-len(b.lines)-len(foot.lines))...)
	if p.Form == ui.Entered || p.Form == ui.Hidden {
		b.append(foot)
		return b
	}
	room := max(limit-len(b.lines)-len(foot.lines), 1)
	rows := room
	if p.Looking {
		rows = min(rows, max(min(listRows, room/2), 1))
	}
	b.append(pickerItems(t, p, width, rows))
	if p.Looking {
		b.append(pickerLook(t, p, width, room-rows))
	}
	b.append(foot)
	return b
}

// pickerAbout is the text above the items, which have room beside it.
func pickerAbout(p *ui.Picker, width, limit int) []row {
	limit -= min(len(p.Items), listRows)
	var rows []row
	for _, l := range p.About {
		if l.Kind == ui.AddedLine || l.Kind == ui.RemovedLine { // as it is
			rows = append(rows, lineRow(l).Cut(width))
			continue
		}
		indent := len(l.Text) - len(strings.TrimLeft(l.Text, " "))
		rows = append(rows, lineRow(l).Wrap(width, nil, blanks(strings.Repeat(" ", min(indent, width/4))))...)
	}
	limit = max(limit, 1)
	if len(rows) <= limit {
		return rows
	}
	if skip := min(p.Skip, len(rows)-limit+1); skip > 0 {
		rows = append([]row{row{sp(dim, fmt.Sprintf("   … %d lines above (page up)", skip+1))}.Cut(width)}, rows[skip+1:]...)
	}
	if cut := len(rows) - limit; cut > 0 {
		rows = append(rows[:limit-1:limit-1], row{sp(dim, fmt.Sprintf("   … %d more lines (page down)", cut+1))}.Cut(width))
	}
	return rows
}

// pickerHead is the title of a picker and the text that is typed.
func pickerHead(t Theme, p *ui.Picker, width int, tight bool) block {
	title := row{sp(strong, name(p.Title)), sp(plain, " ")}
	var b block
	switch {
	case p.Form == ui.Numbered:
		b.add(t, row{sp(strong, name(p.Title))}.Wrap(width, nil, nil)...)
		if !tight {
			b.add(t, row{})
		}
		return b
	case p.Concealed():
		dots := ui.Editor{}
		if typed, _ := p.Query.Content(); typed != "" {
			dots = dots.Insert(strings.Repeat("•", min(len([]rune(typed)), 40)))
		}
		b = editor(t, dots, title, width, 1)
	default:
		b = editor(t, p.Query, title, width, 1)
	}
	if p.Naming != nil || p.Deleting {
		b.here = false
	}
	if p.Scope != "" {
		typed, _ := p.Query.Content()
		used := title.Width() + frame.Width(clean(typed))
		scope := row{sp(dim, name(p.Scope))}
		if used+scope.Width()+3 <= width {
			b.lines[0] += strings.Repeat(" ", width-used-scope.Width()) + render(t, scope)
		}
	}
	return b
}

// pickerItems is the list of a picker, with as many columns as there is room for.
func pickerItems(t Theme, p *ui.Picker, width, rows int) block {
	var b block
	if len(p.Found) == 0 {
		said := "nothing found"
		if len(p.Items) == 0 {
			said = "nothing here yet"
		}
		b.add(t, row{sp(dim, "   "+said)}.Cut(width))
		return b
	}
	first := min(max(0, p.At-rows/2), max(0, len(p.Found)-rows))
	shown := p.Found[first:min(len(p.Found), first+rows)]
	text, cells := columns(p, width)
	for i, n := range shown {
		it := p.Items[n]
		mark, k := "   ", plain
		if first+i == p.At {
			mark, k = " ▸ ", strongAccent
			if p.Form == ui.Numbered {
				b.here, b.caret = true, frame.Caret{Line: i}
			}
		}
		if p.Form == ui.Numbered {
			mark += fmt.Sprintf("%d  ", first+i+1)
		}
		r := row{sp(k, mark+name(it.Text))}
		if len(it.Cells) > 0 {
			r = r.Cut(text + 3).Pad(text + 3)
			for c, w := range cells {
				if w == 0 {
					continue
				}
				cell := row{sp(dim, cellOf(it, c))}
				r = append(r, append(row{sp(plain, "  ")}, cell.Cut(w).Pad(w)...)...)
			}
			b.add(t, r.Cut(width))
			continue
		}
		note := row{sp(dim, clean(it.Note))}
		if it.Note == "" || width < 60 && p.Form == ui.Searched {
			note = nil
		}
		if p.Form == ui.Numbered && note != nil { // behind the texts
			r = r.Pad(text + len("   1  "))
			if width-r.Width() < minNote {
				note = nil
			}
			b.add(t, append(append(r, sp(plain, "   ")), note...).Cut(width))
			continue
		}
		b.add(t, beside(r.Cut(width-note.Width()-2), note, width).Cut(width))
	}
	return b
}

func cellOf(it ui.Item, n int) string {
	if n >= len(it.Cells) {
		return ""
	}
	if marked := name(it.Cells[n]); strings.Contains(marked, `\u{`) {
		return marked
	}
	return clean(it.Cells[n]) // with the blanks that align it
}

// columns returns the width of the items' texts, and those of the columns that have room
// beside them.
func columns(p *ui.Picker, width int) (text int, cells []int) {
	count := 0
	near := p.Items
	if len(near) > 2*measured { // not all of a long list for each frame
		from := max(p.Found[p.At]-measured, 0)
		near = near[from:min(from+2*measured, len(near))]
	}
	for _, it := range near {
		text = max(text, frame.Width(name(it.Text)))
		count = max(count, len(it.Cells))
	}
	left := width - len("   ") - min(text, max(minText, width/3))
	for c := range count {
		w := 0
		for _, it := range near {
			w = max(w, min(frame.Width(cellOf(it, c)), maxCell))
		}
		if w > 0 {
			w0 := w + 2
			if left < w0 {
				break
			}
			left -= w0
		}
		cells = append(cells, w)
	}
	return min(text, left+min(text, max(minText, width/3))), cells
}

// pickerLook is what the marked item holds.
func pickerLook(t Theme, p *ui.Picker, width, rows int) block {
	var b block
	if rows < 2 {
		return b
	}
	b.add(t, row{sp(dim, strings.Repeat("─", min(width, ruleWidth)))})
	var lines []row
	if p.Look == nil {
		lines = []row{say(dim, "   …")}
	}
	for _, l := range p.Look {
		for _, r := range lineRow(l).Wrap(max(width-3, 4), nil, nil) {
			lines = append(lines, append(blanks("   "), r...))
		}
	}
	if len(lines) > rows-1 {
		lines = append(lines[:rows-2:rows-2], say(dim, "   …"))
	}
	b.add(t, lines...)
	return b
}

// pickerFoot is the last line of a picker: the keys, or what it asks about the marked item.
func pickerFoot(t Theme, p *ui.Picker, width int, tight bool) block {
	var b block
	marked := ""
	if p.At < len(p.Found) {
		marked = name(p.Items[p.Found[p.At]].Text)
	}
	leave, choose := "esc back", "enter choose"
	if p.Alone && !p.Back {
		leave = "esc leave"
	}
	switch {
	case p.Busy:
		b.add(t, row{sp(dim, "   one moment …")}.Cut(width))
	case p.Naming != nil:
		b = editor(t, *p.Naming, row{sp(accent, "   new title: ")}, width, 1)
		b.add(t, hints(width, "enter keep it", "empty: none", "esc back"))
	case p.Deleting:
		b.add(t, row{sp(bad, "   delete "), sp(strong, "“"+middle(marked, max(width-30, 8))+"”"), sp(bad, "? ")}.Cut(width))
		b.here, b.caret = true, frame.Caret{Line: 0, Byte: len(b.lines[0])}
		b.add(t, hints(width, "y deletes it for good", "other keys keep it"))
	case p.Warn != "":
		b.add(t, row{sp(warn, "   "+clean(p.Warn))}.Wrap(width, nil, blanks("   "))...)
	case p.Tools && len(p.Items) == 0:
		b.add(t, hints(width, "ctrl+a more or fewer folders", leave))
	case p.Tools:
		look := "space preview"
		if !p.Query.Empty() {
			look = "tab preview"
		}
		b.add(t, hints(width, "↑↓ enter open", look, "ctrl+r rename", "ctrl+d delete", leave))
	case p.Form == ui.Numbered:
		if !tight {
			b.add(t, row{})
		}
		b.add(t, hints(width, "↑↓ or a digit, enter", leave))
	case p.Form == ui.Entered || p.Form == ui.Hidden:
		b.add(t, hints(width, "enter go on", "esc back"))
	default:
		b.add(t, hints(width, "↑↓ "+choose, "type to search", leave))
	}
	return b
}

// hints is a line of what keys do. Those in the middle are left out if there is no room.
func hints(width int, list ...string) row {
	for len(list) > 2 && frame.Width("   "+strings.Join(list, " · ")) > width {
		list = append(list[:len(list)-2:len(list)-2], list[len(list)-1])
	}
	return row{sp(dim, "   "+strings.Join(list, " · "))}.Cut(width)
}

package draw

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

const menuRows = 8

// menu draws the open menu in at most limit lines.
func menu(t Theme, m ui.Model, width, limit int) block {
	var b block
	limit = min(limit, menuRows)
	if !m.Menu.Open() || limit < 1 {
		return b
	}
	first := min(max(0, m.Menu.At-limit/2), max(0, len(m.Menu.Items)-limit))
	items := m.Menu.Items[first:min(len(m.Menu.Items), first+limit)]
	names := 0
	for _, it := range items {
		names = max(names, frame.Width(clean(it.Text+" "+it.Hint)))
	}
	names = min(names, max(width/2, 12))
	for i, it := range items {
		mark, k := "   ", plain
		if first+i == m.Menu.At {
			mark, k = " ▸ ", strongAccent
		}
		r := row{sp(k, mark+middle(clean(it.Text), width-4))}
		if it.Hint != "" {
			r = append(r, sp(dim, " "+clean(it.Hint)))
		}
		if it.Note != "" && width >= 40 {
			r = r.Cut(names + 3)
			r = append(r.Pad(names+3), sp(dim, "   "+clean(it.Note)))
		}
		b.add(t, r.Cut(width))
	}
	return b
}

// picker draws the open picker in at most limit lines.
func picker(t Theme, m ui.Model, width, limit int) block {
	p := m.Picker
	b := editor(t, p.Query, row{sp(strong, clean(p.Title)), sp(plain, " ")}, width, 1)
	for _, l := range p.About {
		b.add(t, lineRow(l).Cut(width))
	}
	rows := max(limit-len(b.lines)-1, 1)
	first := min(max(0, p.At-rows/2), max(0, len(p.Found)-rows))
	for i, n := range p.Found[first:min(len(p.Found), first+rows)] {
		it := p.Items[n]
		mark, k := "   ", plain
		if first+i == p.At {
			mark, k = " ▸ ", strongAccent
		}
		note := row{sp(dim, clean(it.Note))}
		if it.Note == "" || width < 60 {
			note = nil
		}
		b.add(t, beside(row{sp(k, mark+clean(it.Text))}.Cut(width-note.Width()-2), note, width).Cut(width))
	}
	if len(p.Found) == 0 {
		b.add(t, row{sp(dim, "   nothing found")})
	}
	b.add(t, row{sp(dim, "   ↑↓ enter choose · type to search · esc back")}.Cut(width))
	return b
}

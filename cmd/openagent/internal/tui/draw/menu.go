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
		names = max(names, frame.Width(name(it.Text)+" "+clean(it.Hint)))
	}
	names = min(names, max(width/2, 12))
	for i, it := range items {
		mark, k := "   ", plain
		if first+i == m.Menu.At {
			mark, k = " ▸ ", strongAccent
		}
		r := row{sp(k, mark+middle(name(it.Text), width-4))}
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

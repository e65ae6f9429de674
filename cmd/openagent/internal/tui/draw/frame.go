// Package draw turns the model of the terminal UI into frames. It is pure: the same model, size
// and theme give the same frame. All text from outside is sanitised here.
package draw

import (
	"fmt"
	"math"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// Frame draws a model for a terminal of a size. Give the second result back to the model as
// soon as the frame is on the screen.
func Frame(m ui.Model, width, height int, t Theme) (frame.Frame, ui.Painted) {
	width, height = max(width, 1), max(height, 3)
	var f frame.Frame
	above, mark, live := history(m, width, height, t)
	f.Above = above
	p := ui.Painted{Mark: mark}

	foot := bottom(m, width, height, t)
	room := height - len(foot.lines)
	if len(m.Cards) > 0 {
		c, cut := card(t, m, width, room)
		p.Card, p.Cut = m.Cards[0].ID, cut
		c.append(foot)
		if c.here && c.caret.Line < len(c.lines)-len(foot.lines) { // the card has the caret
			foot.here = false
		}
		room -= len(c.lines) - len(foot.lines)
		foot = c
	}
	limit := max(min(height-6, 20, room), 0)
	if cut := len(live) - limit; cut > 0 && limit > 1 {
		live = append([]row{{sp(dim, fmt.Sprintf("  … %d lines above", cut+1))}}, live[cut+1:]...)
	} else if cut > 0 {
		live = live[len(live)-limit:]
	}
	var b block
	for _, r := range live {
		b.add(t, r.Cut(width))
	}
	b.append(foot)
	f.Live, f.Caret = b.lines, b.caret
	return f, p
}

// Close draws the last frame: everything of the session is in the history, and the input is
// gone.
func Close(m ui.Model, width int, t Theme) frame.Frame {
	above, _, live := history(m, max(width, 1), 0, t)
	for _, r := range live {
		above = append(above, render(t, r))
	}
	return frame.Frame{Above: above, Live: []string{""}}
}

// bottom draws what is below the session: the input, the menu and the status line.
func bottom(m ui.Model, width, height int, t Theme) block {
	var b block
	queued := len(m.Queue) > 0
	if m.Running || queued || len(m.Cards) > 0 || m.State != nil && len(todos(m.State.Todos)) > 0 {
		b.add(t, rule(m, width))
	} else {
		b.add(t, row{})
	}
	if m.Picker != nil {
		b.append(picker(t, m, width, height-2))
		if !m.Picker.Alone {
			b.add(t, status(m, width))
		}
		return b
	}
	limit := max(min(height/3, 12), 1)
	var in block
	if s := m.Search; s != nil {
		in = editor(t, s.Query, row{sp(accent, "search: ")}, width, 1)
		found := say(plain, s.Found)
		if s.Found == "" {
			found = say(dim, "nothing found")
		}
		in.add(t, append(row{sp(plain, "  ")}, found...).Cut(width))
	} else {
		in = editor(t, m.Editor, row{sp(accent, "❯ ")}, width, limit)
	}
	if len(m.Cards) > 0 && m.Cards[0].Focus {
		if m.Editor.Empty() {
			in = block{}
			in.add(t, row{sp(accent, "❯ "), sp(dim, "tab: write to the agent instead")}.Cut(width))
		}
		in.here = false
	}
	b.append(in)
	b.append(menu(t, m, width, height-len(b.lines)-2))
	if m.Keys {
		b.add(t, keyRows(width, height-len(b.lines)-2)...)
	}
	b.add(t, status(m, width))
	return b
}

// history returns the lines for the history of the terminal, the mark behind them, and the rows
// of the session that may still change.
func history(m ui.Model, width, height int, t Theme) (above []string, mark ui.Mark, live []row) {
	mark = m.Mark
	out := func(rows ...row) {
		for _, r := range rows {
			above = append(above, render(t, r))
		}
	}
	if !mark.Head && m.Facts.Version != "" {
		out(head(m, width))
		mark.Head = true
		if m.Recalled != nil {
			first, said := recalled(m, width, height)
			mark.Items = first
			if said != "" {
				out(row{sp(dim, said)}.Cut(width))
			}
		}
	}
	notes := func(upTo int) {
		for ; mark.Notes < len(m.Notes) && m.Notes[mark.Notes].Items <= upTo; mark.Notes++ {
			out(noteRows(m.Notes[mark.Notes], width)...)
		}
	}
	var items []*view.Item
	if m.State != nil {
		items = m.State.Items
	}
	for mark.Items < len(items) {
		it := items[mark.Items]
		notes(mark.Items)
		if !it.Final {
			break
		}
		out(item(m, it, mark.Parts, width)...)
		mark.Items, mark.Parts = mark.Items+1, 0
	}
	notes(math.MaxInt)
	for i, it := range items[mark.Items:] {
		from := 0
		if i == 0 {
			if _, ok := it.Data.(*view.Answer); ok && !it.Final {
				if p := m.Prose(it); len(p.Parts) > mark.Parts {
					rows := settled(p, mark.Parts, width)
					if mark.Parts == 0 {
						out(row{})
					}
					out(rows...)
					mark.Parts = len(p.Parts)
				}
			}
			from = mark.Parts
		}
		live = append(live, item(m, it, from, width)...)
	}
	return above, mark, live
}

// recalled returns the first item of the past that is shown, and says how much there is before it.
// One and a half screens are shown at most, and the last item.
func recalled(m ui.Model, width, height int) (first int, said string) {
	items := m.State.Items
	left := max(height, 1) * 3 / 2
	for first = len(items); first > 0; first-- {
		if left -= len(item(m, items[first-1], 0, width)); left < 0 && first < len(items) {
			break
		}
	}
	switch {
	case m.Recalled.Messages > 0:
		said = fmt.Sprintf("… the end of %s (ctrl+o)", text.Count(m.Recalled.Messages, "message"))
	case first > 0:
		said = "… " + text.Count(first, "earlier item") + " (ctrl+o)"
	}
	return first, said
}

// noteRows draws what a command said, broken at its words. Lines of changes are as they are.
func noteRows(n ui.Note, width int) []row {
	var out []row
	for _, l := range n.Lines {
		r := lineRow(l)
		if l.Kind == ui.AddedLine || l.Kind == ui.RemovedLine {
			out = append(out, r)
			continue
		}
		indent := len(l.Text) - len(strings.TrimLeft(l.Text, " "))
		out = append(out, r.Wrap(width, nil, blanks(strings.Repeat(" ", min(indent, width/4))))...)
	}
	return out
}

func lineRow(l ui.Line) row {
	kinds := map[ui.LineKind]kind{ui.DimLine: dim, ui.WarnLine: warn, ui.AddedLine: added, ui.RemovedLine: removed}
	return say(kinds[l.Kind], strings.TrimRight(l.Text, "\n"))
}

var keyHelp = [][2]string{
	{"enter", "send; while a run works: for its next step"}, {"alt+enter, ctrl+j, \\ enter", "new line"},
	{"alt+q", "send after the run"}, {"alt+↑", "edit the last message not seen"},
	{"esc", "close, or stop the run; twice: earlier prompts"}, {"ctrl+c", "clear, stop, or leave"},
	{"tab", "complete; answer a question"}, {"↑ ↓, ctrl+r", "earlier messages"},
	{"ctrl+o", "everything, with search"}, {"ctrl+t", "what took how long"}, {"ctrl+g", "your editor"},
	{"shift+tab", "permission mode"}, {"ctrl+l, ctrl+z", "repaint, suspend"},
	{"/ @ ! #", "command, file, shell, note"}, {"ctrl+d", "leave"},
}

// keyRows is the list of keys.
func keyRows(width, limit int) []row {
	var out []row
	for _, k := range keyHelp[:min(len(keyHelp), max(limit, 0))] {
		out = append(out, append(row{sp(accent, " "+k[0])}.Pad(30), sp(dim, k[1])).Cut(width))
	}
	return out
}

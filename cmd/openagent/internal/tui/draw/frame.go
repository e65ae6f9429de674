// Package draw turns the model of the terminal UI into frames. It is pure: the same model, size
// and theme give the same frame. All text from outside is sanitised here.
package draw

import (
	"fmt"
	"math"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/markdown"
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
		c, fits := card(t, m, width, room)
		p.Card, p.Cut, p.Small = m.Cards[0].ID, fits.cut, fits.small
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
		if next := m.Suggestion(); next != "" { // the caret stays before it
			in.lines[0] = render(t, row{sp(accent, "❯ "), sp(dim, clean(next)), sp(dim, "  (tab)")}.Cut(width))
		}
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
	above, mark = next(m, t, look{
		head: func() []row { return []row{head(m, width)} },
		past: func() (int, row) { return recalled(m, width, height) },
		note: func(n ui.Note) []row { return noteRows(n, width) },
		item: func(it *view.Item, from int) []row { return item(m, it, from, width) },
		blocks: func(it *view.Item, parts []markdown.Part, from int) []row {
			out := settled(ui.Prose{Parts: parts}, from, width)
			if from == 0 {
				out = append([]row{{}}, out...)
			}
			return out
		},
		attempts: func(items []*view.Item) []row { return attemptRows(m, items, false, width) },
	})
	open := unfinished(m, mark)
	if n := attempts(open); n > 0 && mark.Parts == 0 {
		live, open = attemptRows(m, open[:n], true, width), open[n:]
	}
	for i, it := range open {
		from := 0
		if i == 0 {
			from = mark.Parts
		}
		live = append(live, item(m, it, from, width)...)
	}
	return above, mark, live
}

// A look says how the parts of a session are drawn.
type look struct {
	head   func() []row
	past   func() (first int, said row) // the first item of the past that is shown, and what is before it
	note   func(n ui.Note) []row
	item   func(it *view.Item, from int) []row // of an answer the blocks from a number on
	blocks func(it *view.Item, parts []markdown.Part, from int) []row

	// attempts draws those of a call of the model that failed. nil: they are items like others.
	attempts func(items []*view.Item) []row
}

// next returns the lines of what is final and not in the history yet, and the mark behind them.
func next(m ui.Model, t Theme, l look) (lines []string, mark ui.Mark) {
	mark = m.Mark
	out := func(rows ...row) {
		for _, r := range rows {
			lines = append(lines, render(t, r))
		}
	}
	if !mark.Head && m.Facts.Version != "" {
		out(l.head()...)
		mark.Head = true
		if m.Recalled != nil {
			first, said := l.past()
			if mark.Items = first; said != nil {
				out(said)
			}
		}
	}
	notes := func(upTo int) {
		for ; mark.Notes < len(m.Notes) && m.Notes[mark.Notes].Items <= upTo; mark.Notes++ {
			out(l.note(m.Notes[mark.Notes])...)
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
		if n := attempts(items[mark.Items:]); l.attempts != nil && n > 0 && mark.Parts == 0 {
			if trying(m, items[mark.Items+n:]) {
				break
			}
			out(l.attempts(items[mark.Items : mark.Items+n])...)
			mark.Items += n
			continue
		}
		out(l.item(it, mark.Parts)...)
		mark.Items, mark.Parts = mark.Items+1, 0
	}
	notes(math.MaxInt)
	if open := unfinished(m, mark); len(open) > 0 {
		if _, ok := open[0].Data.(*view.Answer); ok {
			if parts := m.Settled(open[0]); len(parts) > mark.Parts {
				out(l.blocks(open[0], parts, mark.Parts)...)
				mark.Parts = len(parts)
			}
		}
	}
	return lines, mark
}

// unfinished are the items that are not in the history yet.
func unfinished(m ui.Model, mark ui.Mark) []*view.Item {
	if m.State == nil {
		return nil
	}
	return m.State.Items[min(mark.Items, len(m.State.Items)):]
}

// recalled returns the first item of the past that is shown, and says how much there is before it.
// One and a half screens are shown at most, and the last item.
func recalled(m ui.Model, width, height int) (first int, said row) {
	items := m.State.Items
	left := max(height, 1) * 3 / 2
	for first = len(items); first > 0; first-- {
		if left -= len(item(m, items[first-1], 0, width)); left < 0 && first < len(items) {
			break
		}
	}
	switch {
	case m.Recalled.Messages > 0:
		said = row{sp(dim, fmt.Sprintf("… the end of %s (ctrl+o)", text.Count(m.Recalled.Messages, "message")))}
	case first > 0:
		said = row{sp(dim, "… "+text.Count(first, "earlier item")+" (ctrl+o)")}
	}
	return first, said.Cut(width)
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
	{"alt+m, alt+t, alt+c", "model, show thinking, copy the answer"}, {"ctrl+a e b f k u w y, ctrl+_", "as in readline, undo"},
}

// keyRows is the list of keys.
func keyRows(width, limit int) []row {
	var out []row
	for _, k := range keyHelp[:min(len(keyHelp), max(limit, 0))] {
		out = append(out, append(row{sp(accent, " "+k[0])}.Pad(30), sp(dim, k[1])).Cut(width))
	}
	return out
}

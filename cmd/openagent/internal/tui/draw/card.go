package draw

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// A cardRoom says how much of the call of a card a frame shows.
type cardRoom struct {
	cut   bool // not enough of it
	small bool // not even the heading, the answers and one line of the call
}

// enough is how many lines of a longer diff have to be on the screen.
const enough = 8

// card draws the first open question in at most height lines. Its heading and its answers have
// room before the call: descriptions are left out first, then the middle of its text. A height
// that has no room for them is told by the result.
func card(t Theme, m ui.Model, width, height int) (block, cardRoom) {
	c := m.Cards[0]
	tight := height < roomy
	foot := cardFoot(t, c, width, height-2, tight)
	if !tight && len(foot.lines)+3 > height {
		tight = true
		foot = cardFoot(t, c, width, height-2, tight)
	}
	room := height - len(foot.lines) - 1
	if !tight {
		room--
	}
	if room < 1 && len(c.Ask) == 0 {
		return smallCard(t, m, width, height), cardRoom{cut: true, small: true}
	}
	var b block
	b.add(t, cardHead(c, len(m.Cards), width))
	body := cardBody(c, width, room)
	if c.Diff != "" && title(c) != shownTitle(c, width) { // the name of the file
		body = append(bodyRows(ui.Line{Text: title(c)}, width), body...)
	}
	from := len(body)
	if c.Diff != "" {
		body = append(body, indented(difftext.Rows(c.Diff, difftext.Options{Width: max(width-2, 10), Exact: true}), blanks("  "), blanks("  "))...)
	}
	to := len(body)
	if len(c.Ask) > 0 {
		body = nil
		for _, r := range say(plain, c.Current().Text).Wrap(min(width-3, 100), nil, nil) {
			body = append(body, append(row{sp(plain, "   ")}, r...))
		}
	}
	if c.Whys {
		for _, l := range c.Why {
			body = append(body, bodyRows(l, width)...)
		}
	}
	b.add(t, cutMiddle(body, room, width)...)
	if !tight {
		b.add(t, row{})
	}
	b.append(foot)
	if len(c.Ask) > 0 || len(body) <= room {
		return b, cardRoom{}
	}
	head, tail := kept(room)
	seen := func(from, to int) int { // how many rows of a part are shown
		return max(min(to, head)-from, 0) + max(to-max(from, len(body)-tail), 0)
	}
	return b, cardRoom{cut: c.Diff == "" || seen(0, from) < from || seen(from, to) < min(to-from, enough)}
}

// smallCard draws a permission question that has no room: what helps, and as much as fits of the
// line that keys change, the heading and the other lines, in this order.
func smallCard(t Theme, m ui.Model, width, height int) block {
	c := m.Cards[0]
	var b block
	if height >= 3 {
		b.add(t, cardHead(c, len(m.Cards), width))
	}
	if height >= 1 {
		b.add(t, row{sp(warn, "   make the terminal larger, or ctrl+o")}.Cut(width))
	}
	if height < 2 {
		return b
	}
	foot := cardFoot(t, c, width, 2, true)
	at := 0
	if foot.here {
		at = foot.caret.Line
	}
	n := min(height-len(b.lines), len(foot.lines))
	first := min(at, len(foot.lines)-n)
	foot.lines = foot.lines[first : first+n]
	foot.caret.Line -= first
	b.append(foot)
	return b
}

// cardBody returns the rows of the text of a question, without descriptions if there is no
// room for all of them.
func cardBody(c ui.Card, width, room int) (body []row) {
	dims := 0
	for _, l := range c.Body {
		rows := bodyRows(l, width)
		body = append(body, rows...)
		if l.Kind == ui.DimLine {
			dims += len(rows)
		}
	}
	if len(body) <= room || dims == 0 {
		return body
	}
	body = nil
	for _, l := range c.Body {
		if l.Kind != ui.DimLine {
			body = append(body, bodyRows(l, width)...)
		}
	}
	return body
}

// roomy is from how many lines on a card is drawn with all its hints.
const roomy = 14

// bodyRows are the rows of a line of a question. Nothing of it is cut.
func bodyRows(l ui.Line, width int) []row {
	kinds := map[ui.LineKind]kind{ui.DimLine: dim, ui.WarnLine: bad, ui.AddedLine: added, ui.RemovedLine: removed}
	text := say(kinds[l.Kind], l.Text)
	if l.Kind == ui.PlainLine {
		text = styled.Letters(styled.Plain, l.Text)
	}
	return indented(text.Break(max(width-3, 4), nil), blanks("   "), blanks("   "))
}

// cutMiddle leaves out rows in the middle and says how many.
func cutMiddle(rows []row, limit, width int) []row {
	limit = max(limit, 1)
	if len(rows) <= limit {
		return rows
	}
	head, tail := kept(limit)
	cut := len(rows) - head - tail
	out := append(rows[:head:head], row{sp(warn, fmt.Sprintf("   … %d lines are left out: ctrl+o …", cut))}.Cut(width))
	return append(out, rows[len(rows)-tail:]...)
}

// kept is how many rows stay at the beginning and at the end if the middle is left out.
func kept(limit int) (head, tail int) {
	head = (limit - 1) / 2
	return head, limit - 1 - head
}

// title names a card.
func title(c ui.Card) string {
	switch {
	case len(c.Ask) > 0:
		return c.Current().Header
	case c.Head != "":
		return c.Tool + " " + c.Head
	}
	return c.Tool
}

// shownTitle is the title in the heading, where a long one is shortened.
func shownTitle(c ui.Card, width int) string {
	return middle(name(title(c)), max(width/2, width-40))
}

// cardHead is the line that begins a card.
func cardHead(c ui.Card, cards, width int) row {
	left := row{sp(warn, "── ? ")}
	if c.Agent != "" {
		left = append(left, sp(accent, name(c.Agent)+": "))
	}
	left = append(left, sp(strong, shownTitle(c, width)))
	if plus, minus := difftext.Count(c.Diff); plus+minus > 0 {
		left = append(left, sp(good, fmt.Sprintf(" +%d", plus)), sp(bad, fmt.Sprintf(" −%d", minus)))
	}
	var notes []string
	if c.Note != "" {
		notes = append(notes, clean(c.Note))
	}
	if n := len(c.Ask); n > 1 {
		notes = append(notes, fmt.Sprintf("question %d of %d", c.Nth+1, n))
	}
	if cards > 1 {
		notes = append(notes, fmt.Sprintf("1 of %d", cards))
	}
	right := row{sp(dim, strings.Join(notes, " · "))}
	left = append(left, sp(plain, " "))
	if gap := width - left.Width() - right.Width() - 4; gap > 0 {
		left = append(left, sp(warn, strings.Repeat("─", gap)+" "))
	}
	return append(left, right...).Cut(width)
}

// choice is a line that can be marked.
func choice(c ui.Card, at int, width int, rest ...span) row {
	mark := sp(plain, "   ")
	if c.At == at && c.Focus && c.Write == nil {
		mark = sp(strongAccent, " ▸ ")
	}
	k := plain
	if c.At == at && c.Focus {
		k = strong
	}
	r := row{mark, sp(k, fmt.Sprintf("%d  ", at+1))}
	if len(rest) > 0 && rest[0].Kind == styled.Plain {
		rest[0].Attr = k.attr
	}
	return append(r, rest...).Cut(width)
}

// cardFoot draws the answers of a card and its hints. In a tight one, a text that the card asks
// for stands in place of the answers, in at most limit lines.
func cardFoot(t Theme, c ui.Card, width, limit int, tight bool) block {
	var b block
	at := func() { // the caret is at the marked line
		b.here, b.caret = true, frame.Caret{Line: len(b.lines) - 1, Byte: 0}
	}
	var hint string
	look := dim
	if len(c.Ask) > 0 {
		hint = askChoices(t, &b, c, width, at)
	} else {
		hint = permissionChoices(t, &b, c, width, at)
	}
	if c.Write != nil {
		if tight {
			b = block{}
		}
		var mark row
		most := 4
		if tight {
			most = min(most, max(limit-1, 1))
		}
		switch c.Writing {
		case ui.WriteYes:
			const ask = ": type yes and enter"
			why := say(warn, c.Word()+ask).Wrap(width-3, nil, nil)
			if tight && len(why) > limit-2 {
				why = []row{row{sp(warn, middle(clean(c.Word()), width-3-len(ask))+ask)}.Cut(width - 3)}
			}
			if tight {
				most = 1
			}
			for _, r := range why {
				b.add(t, append(row{sp(plain, "   ")}, r...))
			}
			mark = row{sp(warn, "   yes? ")}
		case ui.WriteReason:
			mark = row{sp(strong, "   no, because: ")}
		case ui.WriteCommand:
			mark = row{sp(strong, "   run instead: ")}
		default:
			mark = row{sp(strong, "   your answer: ")}
		}
		line := editor(t, *c.Write, mark, width, most)
		line.here = line.here && c.Focus
		b.append(line)
		hint = "enter send · esc back"
		switch {
		case c.Missed && c.Writing == ui.WriteYes:
			look, hint = warn, "not allowed: type yes, or esc back"
		case c.Missed:
			look, hint = warn, "nothing to run: write a command, or esc back"
		}
	}
	if !c.Focus {
		look, hint = dim, "tab to answer"
	}
	hints := say(look, hint).Wrap(width-3, nil, nil)
	if tight {
		hints = []row{say(look, hint).Cut(width - 3)}
	}
	b.add(t, indented(hints, blanks("   "), blanks("   "))...)
	return b
}

// permissionChoices draws the answers to a permission question. It returns the hints.
func permissionChoices(t Theme, b *block, c ui.Card, width int, at func()) string {
	hints := []string{"↑↓ or 1–4, enter"}
	for i := range c.Lines() {
		var rest []span
		switch i {
		case ui.LineOnce:
			rest = []span{sp(plain, "yes, once")}
		case ui.LineAlways:
			if len(c.Widths) == 0 {
				rest = []span{sp(dim, "yes, always: no rule can allow this call")}
				break
			}
			rest = []span{sp(plain, "yes, always   "), sp(accent, clean(strings.Join(c.Rules(), "  ")))}
			if c.Scope < len(c.Scopes()) {
				rest = append(rest, sp(dim, "   in "), sp(accent, scopeText(c.Scopes()[c.Scope])))
			}
		case ui.LineNo:
			rest = []span{sp(plain, "no, because …")}
		case ui.LineLater:
			rest = []span{sp(plain, "later: stop here and ask again with /resume")}
			if c.Elsewhere {
				rest = []span{sp(plain, "later: the question waits, for you or somebody else")}
			}
		}
		rows := []row{rest}
		if i == ui.LineAlways && c.At == i && len(c.Widths) > 0 { // marked, it is shown whole: its end may be what allows the most
			rows = row(rest).Break(max(width-6, 4), nil)
		}
		b.add(t, choice(c, i, width, rows[0]...))
		if c.Focus && c.At == i && c.Write == nil {
			at()
		}
		b.add(t, indented(rows[1:], blanks("      "), blanks("      "))...)
	}
	if len(c.Widths) > 1 {
		hints = append(hints, "←→ wider, narrower")
	}
	if len(c.Scopes()) > 1 {
		hints = append(hints, "s where kept")
	}
	if c.Command != "" {
		hints = append(hints, "e edit")
	}
	if len(c.Why) > 0 {
		hints = append(hints, "? why")
	}
	return strings.Join(append(hints, "tab write to the agent"), " · ")
}

func scopeText(scope string) string {
	switch scope {
	case "project":
		return "this project"
	case "user":
		return "all projects"
	}
	return "this session"
}

// askChoices draws the options of a question of a tool. It returns the hints.
func askChoices(t Theme, b *block, c ui.Card, width int, at func()) string {
	q := c.Current()
	for i, o := range q.Options {
		box := ""
		if q.Multiple {
			box = "○ "
			if c.Chosen[i] {
				box = "● "
			}
		}
		rest := []span{sp(plain, box+name(o.Label))}
		if o.Description != "" {
			rest = append(rest, sp(dim, "  "+name(o.Description)))
		}
		b.add(t, choice(c, i, width, rest...))
		if c.Focus && c.At == i && c.Write == nil {
			at()
		}
	}
	if len(q.Options) == 0 {
		return "enter send"
	}
	b.add(t, choice(c, len(q.Options), width, sp(plain, "other: …")))
	if c.Focus && c.At == len(q.Options) && c.Write == nil {
		at()
	}
	if q.Multiple {
		return "digits or space choose several, enter answers · tab write to the agent"
	}
	return "↑↓ or a digit, enter · tab write to the agent"
}

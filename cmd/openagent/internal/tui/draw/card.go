package draw

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// card draws the first open question in at most height lines. Its heading and its answers
// always have room: descriptions are left out first, then the middle of its text. It reports
// whether a part of the call itself, other than a diff, is left out.
func card(t Theme, m ui.Model, width, height int) (b block, cut bool) {
	c := m.Cards[0]
	b.add(t, cardHead(c, len(m.Cards), width))
	tight := height < roomy
	foot := cardFoot(t, c, width, tight)
	room := height - len(foot.lines) - 1
	if !tight {
		room--
	}
	body := cardBody(c, width, room)
	cut = len(body) > room
	if c.Diff != "" {
		body = append(body, indented(difftext.Rows(c.Diff, difftext.Options{Width: max(width-2, 10), Exact: true}), blanks("  "), blanks("  "))...)
	}
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
	cut = cut || c.Diff == "" && len(body) > room
	return b, cut && len(c.Ask) == 0
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
	head := (limit - 1) / 2
	tail := limit - 1 - head
	cut := len(rows) - head - tail
	out := append(rows[:head:head], row{sp(warn, fmt.Sprintf("   … %d lines are left out: ctrl+o …", cut))}.Cut(width))
	return append(out, rows[len(rows)-tail:]...)
}

// cardHead is the line that begins a card.
func cardHead(c ui.Card, cards, width int) row {
	left := row{sp(warn, "── ? ")}
	if c.Agent != "" {
		left = append(left, sp(accent, name(c.Agent)+": "))
	}
	title := c.Tool
	if c.Head != "" {
		title += " " + c.Head
	}
	if len(c.Ask) > 0 {
		title = c.Current().Header
	}
	left = append(left, sp(strong, middle(name(title), max(width/2, width-40))))
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

// cardFoot draws the answers of a card and its hints.
func cardFoot(t Theme, c ui.Card, width int, tight bool) block {
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
		switch c.Writing {
		case ui.WriteYes:
			for _, r := range say(warn, c.Word()+": type yes and enter").Wrap(width-3, nil, nil) {
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
		line := editor(t, *c.Write, mark, width, 4)
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
		b.add(t, choice(c, i, width, rest...))
		if c.Focus && c.At == i && c.Write == nil {
			at()
		}
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

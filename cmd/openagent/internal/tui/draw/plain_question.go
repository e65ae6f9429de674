package draw

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
)

// PlainQuestion draws the first open question in plain mode, and how it is answered. Nothing of
// the call is cut.
func PlainQuestion(m ui.Model, width int, t Theme) []string {
	p, c := plainLook{m, width}, m.Cards[0]
	var out []row
	switch {
	case len(c.Ask) > 0:
		out = p.ask(c)
	case c.Write != nil && c.Writing == ui.WriteYes:
		why := c.Word()
		if c.At == ui.LineAlways && c.Grave == "" {
			why = strings.Join(c.Rules(), "  ") + ": " + why
		}
		out = p.wrap(say(warn, "! "+why), 2)
	case c.Write == nil:
		out = p.permission(c, len(m.Cards))
	}
	lines := make([]string, len(out))
	for i, r := range out {
		lines[i] = render(t, r)
	}
	return lines
}

// plainDiff is how many rows of a diff a question shows.
const plainDiff = 200

// permission draws a permission question.
func (p plainLook) permission(c ui.Card, cards int) []row {
	head := row{sp(warn, "? ")}
	if c.Agent != "" {
		head = append(head, sp(accent, clean(c.Agent)+": "))
	}
	head = append(head, sp(strong, name(c.Tool+" "+c.Head)))
	var notes []string
	plus, minus := difftext.Count(c.Diff)
	if plus > 0 {
		notes = append(notes, text.Count(plus, "new line"))
	}
	if minus > 0 {
		notes = append(notes, text.Count(minus, "removed line"))
	}
	if c.Note != "" {
		notes = append(notes, c.Note)
	}
	if cards > 1 {
		notes = append(notes, fmt.Sprintf("question 1 of %d", cards))
	}
	out := append([]row{{}}, p.wrap(noted(head, notes), 2)...)
	for _, l := range c.Body {
		out = append(out, p.bodyRow(l)...)
	}
	if c.Diff != "" {
		rows := difftext.Rows(c.Diff, difftext.Options{Exact: true})
		if more := len(rows) - plainDiff; more > 1 {
			cut := row{sp(warn, fmt.Sprintf("(%d lines in the middle are left out)", more))}
			rows = append(append(rows[:plainDiff/2:plainDiff/2], cut), rows[len(rows)-plainDiff/2:]...)
		}
		out = append(out, indented(rows, blanks(plainIndent), blanks(plainIndent))...)
	}
	out = append(out, row{sp(plain, "  1  yes, once")})
	if len(c.Widths) == 0 {
		out = append(out, row{sp(dim, "  2  yes, always: no rule can allow this call")})
	} else {
		out = append(out, p.rules(c)...)
	}
	return append(out, row{sp(plain, "  3  no; words behind the 3 tell the agent why")}, row{sp(plain, "  4  later: stop here and ask again with /resume")})
}

// rules draws the rules that would allow a call, and where they can be kept.
func (p plainLook) rules(c ui.Card) []row {
	usual := c.Widths[c.Width]
	out := p.wrap(row{sp(plain, "  2  yes, always in this session: "), sp(accent, clean(strings.Join(usual.Rules, "  ")))}, 5)
	for i, w := range c.Widths {
		if i == c.Width {
			continue
		}
		r := row{sp(plain, "     2 "+w.Name+": "), sp(accent, clean(strings.Join(w.Rules, "  ")))}
		if w.Wide != "" {
			r = append(r, sp(warn, ", far more than this call"))
		}
		out = append(out, p.wrap(r, 5)...)
	}
	var kept []string
	for _, s := range usual.Scopes {
		if s != "session" {
			kept = append(kept, "2 "+s+": kept for "+scopeText(s))
		}
	}
	if len(kept) > 0 {
		out = append(out, p.wrap(say(plain, "     "+strings.Join(kept, ", ")), 5)...)
	}
	return out
}

// bodyRow draws a line of a question, with look-alike letters marked. The terminal breaks it.
func (p plainLook) bodyRow(l ui.Line) []row {
	kinds := map[ui.LineKind]kind{ui.DimLine: dim, ui.WarnLine: bad, ui.AddedLine: added, ui.RemovedLine: removed}
	r := say(kinds[l.Kind], l.Text)
	if l.Kind == ui.PlainLine {
		r = styled.Letters(styled.Plain, l.Text)
	}
	return []row{append(blanks(plainIndent), r...)}
}

// ask draws a question of a tool, or a choice.
func (p plainLook) ask(c ui.Card) []row {
	q := c.Current()
	lines := strings.Split(strings.TrimSpace(q.Text), "\n")
	if q.Header != "" {
		lines[0] = strings.TrimSuffix(q.Header+": "+lines[0], ": ")
	}
	head := row{sp(warn, "? ")}
	if c.Agent != "" {
		head = append(head, sp(accent, clean(c.Agent)+": "))
	}
	head = append(head, sp(strong, clean(lines[0])))
	var notes []string
	if n := len(c.Ask); n > 1 {
		notes = append(notes, fmt.Sprintf("question %d of %d", c.Nth+1, n))
	}
	out := append([]row{{}}, p.wrap(noted(head, notes), 2)...)
	for _, l := range lines[1:] {
		out = append(out, p.wrap(say(plain, plainIndent+l), len(plainIndent))...)
	}
	for _, l := range c.Body {
		out = append(out, lineRow(l))
	}
	for i, o := range q.Options {
		r := row{sp(plain, fmt.Sprintf("  %d  %s", i+1, name(o.Label)))}
		if o.Description != "" {
			r = append(r, sp(dim, ": "+clean(o.Description)))
		}
		out = append(out, p.wrap(r, 5)...)
	}
	return out
}

// PlainMark is what stands before the text that a person writes; "": nothing is expected.
func PlainMark(m ui.Model) string {
	switch {
	case m.Plain.Closed || !m.Mark.Head || m.Stopping && m.Editor.Empty():
		return ""
	case m.Search != nil:
		return "search: "
	case !m.Answers() && (m.Idle() || !m.Editor.Empty()):
		return "> "
	case !m.Answers():
		return ""
	}
	c := m.Cards[0]
	switch {
	case len(c.Ask) > 0 && c.Choice():
		return "a number (empty: none): "
	case len(c.Ask) > 0 && len(c.Current().Options) == 0:
		return "your answer (empty: none): "
	case len(c.Ask) > 0 && c.Current().Multiple:
		return "numbers with commas, or other words (empty: none): "
	case len(c.Ask) > 0:
		return "a number, or other words (empty: none): "
	case c.Write != nil && c.Writing == ui.WriteYes:
		return "type yes to allow it: "
	case c.Write != nil:
		return "run instead: "
	}
	return "allow " + name(c.Tool) + "? 1 to 4, ? explains: "
}

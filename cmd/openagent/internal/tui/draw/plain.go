package draw

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/mdview"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// Plain draws what is final and was not drawn before, as lines that are written once: for
// screen readers, pipes and terminals that can do nothing else. What styles say elsewhere is in
// the letters. Lines are as long as their texts if width is 0. Give the mark back to the model
// with a ui.Painted, and the items that were drawn before their turn: a call that waits for a later
// run does not hold up the end of this one.
func Plain(m ui.Model, width int, t Theme) (lines []string, mark ui.Mark, ahead []string) {
	p := plainLook{m, width}
	lines, mark = next(m, t, look{head: p.head, past: p.past, note: p.note, item: p.item, blocks: p.blocks})
	if m.State == nil || m.State.Running {
		return lines, mark, nil
	}
	for _, it := range unfinished(m, mark) {
		if it.Final && !m.Ahead(it) {
			for _, r := range p.item(it, 0) {
				lines = append(lines, render(t, r))
			}
			ahead = append(ahead, it.ID)
		}
	}
	return lines, mark, ahead
}

// A plainLook draws the parts of a session in plain mode.
type plainLook struct {
	m     ui.Model
	width int
}

// wrap breaks a row at its words. Further rows begin with as many blanks.
func (p plainLook) wrap(r row, indent int) []row {
	if p.width <= 0 {
		return []row{r}
	}
	return r.Wrap(min(p.width, maxProse), nil, blanks(strings.Repeat(" ", min(indent, p.width/3))))
}

// prose is the width of texts.
func (p plainLook) prose() int {
	if p.width <= 0 {
		return 0
	}
	return min(p.width, maxProse)
}

func (p plainLook) head() []row {
	f := p.m.Facts
	dir := f.Dir
	if f.Branch != "" {
		dir += " (" + f.Branch + ")"
	}
	parts := []string{"openagent " + f.Version, name(f.Model), name(dir), modeText(f.Mode)}
	return p.wrap(say(dim, strings.Join(parts, ", ")+". /help lists commands, ? lists keys."), 0)
}

// plainPast is how many items of the past are shown.
const plainPast = 10

func (p plainLook) past() (first int, said row) {
	first = max(len(p.m.State.Items)-plainPast, 0)
	switch {
	case p.m.Recalled.Messages > 0:
		said = row{sp(dim, "(the end of a session of "+text.Count(p.m.Recalled.Messages, "message")+")")}
	case first > 0:
		said = row{sp(dim, "("+text.Count(first, "earlier item")+")")}
	}
	return first, said
}

func (p plainLook) note(n ui.Note) []row {
	var out []row
	for _, l := range n.Lines {
		r := lineRow(l)
		if l.Kind == ui.AddedLine || l.Kind == ui.RemovedLine {
			out = append(out, r)
			continue
		}
		out = append(out, p.wrap(r, len(l.Text)-len(strings.TrimLeft(l.Text, " ")))...)
	}
	return out
}

func (p plainLook) item(it *view.Item, from int) []row {
	if p.m.Ahead(it) {
		return nil
	}
	switch d := it.Data.(type) {
	case *view.Prompt:
		return p.prompt(it, d)
	case *view.Answer:
		return p.answer(it, d, from)
	case *view.Call:
		return p.call(d)
	case *view.Agent:
		return p.agent(d, "", "")
	case *view.Notice:
		if _, ok := d.Event.(event.ModeChanged); ok || d.Text == "" || d.Text == "checkpoint of the files" {
			return nil
		}
		return p.wrap(say(dim, "("+text.OneLine(d.Text)+")"), 0)
	case *view.End:
		k, said := endText(d)
		return p.wrap(say(k, strings.Join(said, ", ")), 0)
	}
	return nil
}

// prompt draws a message, unless the person sees it already: they have typed it.
func (p plainLook) prompt(it *view.Item, d *view.Prompt) []row {
	said := promptText(d)
	switch {
	case said == "" || d.Dropped:
		return nil
	case !d.FromUser():
		return p.wrap(say(dim, "("+text.Runes(text.OneLine(said), 200)+")"), 0)
	case p.m.Skipped(it) && d.Message.Delivery == "steer":
		return p.wrap(say(dim, "(the agent has read your message: "+text.Runes(text.OneLine(said), 60)+")"), 0)
	case p.m.Skipped(it):
		return nil
	}
	return append([]row{{}}, p.message(said)...)
}

// PlainMessage draws a message that the person has typed.
func PlainMessage(said string, width int, t Theme) []string {
	var lines []string
	for _, r := range (plainLook{width: width}).message(said) {
		lines = append(lines, render(t, r))
	}
	return lines
}

func (p plainLook) message(said string) []row {
	lines := strings.Split(strings.TrimRight(said, "\n"), "\n")
	more := len(lines) - promptRows
	if more > 1 {
		lines = lines[:promptRows]
	}
	var out []row
	for i, l := range lines {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		out = append(out, p.wrap(row{sp(accent, mark), sp(plain, clean(text.Runes(l, maxPrompt*maxProse)))}, 2)...)
	}
	if more > 1 {
		out = append(out, row{sp(dim, fmt.Sprintf("  (%d more lines)", more))})
	}
	return out
}

// answer draws the text of the model from a block on, and before it how its reasoning begins.
func (p plainLook) answer(it *view.Item, a *view.Answer, from int) []row {
	var out []row
	if from == 0 {
		out = p.thought(a)
	}
	out = append(out, p.text(p.m.Prose(it).Parts, from)...)
	if f := a.Failed; f != nil && !strings.HasSuffix(f.Message, "context canceled") {
		if a.Text() != "" {
			out = append(out, row{sp(warn, "! the connection broke: the answer above does not count")})
		}
		said := "! " + text.OneLine(f.Message)
		if f.Retry {
			said += "; trying again in " + amount.Clock(max(f.RetryAt.Sub(it.Time), 0))
		}
		out = append(out, p.wrap(say(warn, said), 2)...)
	}
	return out
}

func (p plainLook) blocks(it *view.Item, blocks []markdown.Part, from int) []row {
	var out []row
	if a, ok := it.Data.(*view.Answer); ok && from == 0 {
		out = p.thought(a)
	}
	return append(out, p.text(blocks, from)...)
}

func (p plainLook) text(blocks []markdown.Part, from int) []row {
	v := mdview.NewPlain(p.prose())
	if from > 0 {
		v.Continue()
	}
	var out []row
	for _, b := range blocks[min(from, len(blocks)):] {
		out = append(out, v.Part(b)...)
	}
	if from == 0 && len(out) > 0 {
		out = append([]row{{}}, out...)
	}
	return out
}

// thought is the reasoning of the model in a line.
func (p plainLook) thought(a *view.Answer) []row {
	said := text.OneLine(a.Thinking())
	if said == "" {
		return nil
	}
	return p.wrap(say(dim, "(thought: "+text.Runes(said, maxProse)+")"), 0)
}

const plainIndent = "    "

// PlainLine draws a line of the program.
func PlainLine(l ui.Line, t Theme) string { return render(t, lineRow(l)) }

// PlainText returns the text of an editor as it is shown in one row, before and behind the caret.
func PlainText(e ui.Editor) (before, after string) {
	var b strings.Builder
	for g := graphemes.FromString(e.Text); g.Next(); {
		if g.Start() == e.Caret {
			before = b.String()
			b.Reset()
		}
		if v := g.Value(); v == "\n" || v == "\r\n" {
			b.WriteString("⏎")
		} else {
			b.WriteString(letter(Theme{}, e, v))
		}
	}
	if e.Caret >= len(e.Text) {
		return b.String(), ""
	}
	return before, b.String()
}

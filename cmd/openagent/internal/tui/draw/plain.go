package draw

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/mdview"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
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

// call draws a call of a tool: a line, and below it what it has brought.
func (p plainLook) call(c *view.Call) []row {
	if agents := agentsOf(c); len(agents) > 0 {
		said := ""
		if len(agents) == 1 && c.Result != nil && !agents[0].Start.Background {
			said, _, _ = strings.Cut(c.Result.Result.Text(), "\n\n(agent id: ") // for the model
		}
		var out []row
		for _, a := range agents {
			out = append(out, p.agent(a, taskOf(c), said)...)
		}
		return out
	}
	if quiet(c) {
		return p.todos(c)
	}
	var notes []string
	k, r := plain, c.Result
	if r != nil {
		notes = callNote(c)
		switch {
		case c.Denied():
			k, notes = bad, []string{"denied: " + strings.TrimPrefix(deniedText(c), "denied: ")}
		case r.Result.IsError:
			k = bad
			notes = append([]string{"failed"}, notes...)
		}
		if r.Duration > 0 && !c.Denied() {
			notes = append(notes, amount.Took(r.Duration))
		}
	}
	head := row{sp(k, "* "), sp(strong, name(c.Use.Name)), sp(k, clean(strings.TrimRight(" "+about(c.Input(), p.m.Facts.Dir), " ")))}
	out := p.wrap(noted(head, notes), 2)
	if r == nil || c.Denied() || c.Use.Name == "AskUser" && !r.Result.IsError {
		return out
	}
	if p.width > 0 {
		p.width = max(p.width-len(plainIndent), 10)
	}
	return append(out, indented(p.body(c), blanks(plainIndent), blanks(plainIndent))...)
}

// body is what a call has brought: output, a diff or an error.
func (p plainLook) body(c *view.Call) []row {
	r := c.Result.Result
	switch {
	case c.Diff() != "" && !r.IsError:
		for _, d := range c.Decisions {
			if d.Answered { // the question has shown it
				return nil
			}
		}
		rows := difftext.Rows(c.Diff(), difftext.Options{})
		if more := len(rows) - diffRows; more > 1 {
			rows = append(rows[:diffRows:diffRows], say(dim, fmt.Sprintf("(%d more lines)", more)))
		}
		return rows
	case shell[c.Use.Name] && r.IsError:
		return outputEnd(bad, r.Text(), failedRows)
	case shell[c.Use.Name]:
		return outputEnd(dim, r.Text(), outputRows)
	case r.IsError:
		return p.wrap(say(bad, text.Runes(text.FirstLine(strings.TrimSpace(r.Text())), 300)), 0)
	}
	return nil
}

// outputEnd draws the last lines of an output.
func outputEnd(k kind, output string, limit int) []row {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if len(lines) == 1 && (lines[0] == "" || lines[0] == "(no output)") {
		return nil
	}
	var out []row
	if more := len(lines) - limit; more > 1 {
		out = append(out, say(dim, fmt.Sprintf("(%d lines before)", more)))
		lines = lines[more:]
	}
	for _, l := range lines {
		out = append(out, styled.Verbatim(k.kind, text.Runes(l, 1000)))
	}
	return out
}

// noted puts notes in brackets behind a row.
func noted(r row, notes []string) row {
	if len(notes) == 0 {
		return r
	}
	return append(r, sp(dim, clean(" ("+strings.Join(notes, ", ")+")")))
}

// todos draws a list of steps: all of it at first, then what has changed.
func (p plainLook) todos(c *view.Call) []row {
	now := todosOf(c)
	if len(now) == 0 {
		return nil
	}
	was := map[string]string{}
	for _, it := range p.m.State.Items {
		d, ok := it.Data.(*view.Call)
		if d == c {
			break
		}
		if ok && quiet(d) {
			clear(was)
			for _, t := range todosOf(d) {
				was[t.Text] = t.Status
			}
		}
	}
	done := 0
	var changed []row
	for _, t := range now {
		said := map[string]string{"completed": "done: ", "in_progress": "now: "}[t.Status]
		if t.Status == "completed" {
			done++
		}
		if was[t.Text] == t.Status {
			continue
		}
		if said == "" {
			said = "to do: "
		}
		changed = append(changed, p.wrap(say(dim, plainIndent+said+text.Runes(text.OneLine(t.Text), 200)), len(plainIndent))...)
	}
	head := row{sp(plain, "* "), sp(strong, "Steps"), sp(plain, fmt.Sprintf(" %d of %d done", done, len(now)))}
	return append([]row{head}, changed...)
}

func todosOf(c *view.Call) []view.Todo {
	var d struct{ Todos []view.Todo }
	if c.Result == nil || json.Unmarshal(c.Result.Result.Details, &d) != nil {
		return nil
	}
	return d.Todos
}

// agent draws the work of a sub-agent.
func (p plainLook) agent(a *view.Agent, task, result string) []row {
	said, notes := agentText(p.m, a, text.Runes(text.OneLine(result), 200))
	k := plain
	if a.End != nil && a.End.Reason != event.Completed {
		k = bad
	}
	head := row{sp(k, "* "), sp(strong, "Agent"), sp(accent, " "+agentName(a, task)+" "), sp(k, clean(said))}
	return p.wrap(noted(head, notes), 2)
}

// PlainAgent draws the calls of a sub-agent that have ended, from an item of its session on, and
// returns the item to go on with. names are those of the agents above it.
func PlainAgent(m ui.Model, a *view.Agent, names string, from, width int, t Theme) (lines []string, upTo int) {
	if a.View == nil {
		return nil, from
	}
	p := plainLook{m, width}
	names = strings.TrimPrefix(names+"/"+name(a.Start.Agent), "/")
	for upTo = from; upTo < len(a.View.Items) && a.View.Items[upTo].Final; upTo++ {
		c, ok := a.View.Items[upTo].Data.(*view.Call)
		if !ok || len(agentsOf(c)) > 0 || quiet(c) || c.Result == nil {
			continue
		}
		k, notes := dim, callNote(c)
		if c.Result.Result.IsError {
			k = bad
			if !c.Denied() {
				notes = append([]string{"failed"}, notes...)
			}
			notes = append(notes, clean(text.Runes(text.FirstLine(strings.TrimSpace(c.Result.Result.Text())), 200)))
		}
		r := row{sp(k, plainIndent+names+": "), sp(k, name(c.Use.Name)+clean(" "+about(c.Input(), m.Facts.Dir)))}
		for _, x := range p.wrap(noted(r, notes), len(plainIndent)+2) {
			lines = append(lines, render(t, x))
		}
	}
	return lines, upTo
}

// PlainDoing says what a run does now, in a few words; "": nothing that has a name.
func PlainDoing(m ui.Model) string {
	for _, it := range unfinished(m, m.Mark) {
		if c, ok := it.Data.(*view.Call); ok && c.Result == nil && !c.Started.IsZero() {
			return PlainCall(m, c)
		}
	}
	return ""
}

// PlainCall is a call that runs, in a few words.
func PlainCall(m ui.Model, c *view.Call) string {
	said := c.Use.Name + " " + text.Runes(about(c.Input(), m.Facts.Dir), 60)
	if agents := agentsOf(c); len(agents) > 0 && agents[0].End == nil {
		said = "Agent " + agents[0].Start.Agent + " " + lastAction(m, agents[0])
	}
	now := c.Status.Text
	if n := len(c.Status.Tail); n > 0 {
		now = c.Status.Tail[n-1]
	}
	if now = strings.TrimSpace(text.OneLine(now)); now != "" {
		said += ": " + text.Runes(now, 120)
	}
	return text.Runes(strings.TrimSpace(text.OneLine(said)), 200)
}

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

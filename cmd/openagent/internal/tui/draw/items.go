package draw

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/mdview"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session/view"
)

const (
	maxProse     = 100 // cells of a row of text
	promptRows   = 12  // of a prompt are shown
	maxPrompt    = 24  // rows of a prompt are shown
	outputRows   = 5   // of a command's output
	failedRows   = 10  // of the output of one that failed
	diffRows     = 12  // of a diff
	thinkingRows = 6   // of the model's reasoning
	liveRows     = 3   // of the output of a command that runs
)

// item draws an item of the session; of an answer only the parts from a number on.
func item(m ui.Model, it *view.Item, from, width int) []row {
	switch d := it.Data.(type) {
	case *view.Prompt:
		return promptItem(d, width)
	case *view.Answer:
		return answerItem(m, it, d, from, width)
	case *view.Call:
		return callItem(m, d, width)
	case *view.Agent:
		return agentItem(m, d, "", "", width)
	case *view.Notice:
		return noticeItem(d, width)
	case *view.End:
		return endItem(d, width)
	}
	return nil
}

// promptItem draws a message of the person, or what the program wrote instead.
func promptItem(p *view.Prompt, width int) []row {
	said := promptText(p)
	if said == "" {
		return nil
	}
	if !p.FromUser() {
		return say(dim, "  "+text.Runes(text.OneLine(said), 200)).Wrap(width, nil, blanks("  "))
	}
	if p.Dropped { // it is back in the input
		return nil
	}
	out := []row{{}}
	lines := strings.Split(strings.TrimRight(said, "\n"), "\n")
	more := len(lines) - promptRows
	if more > 1 {
		lines = lines[:promptRows]
	}
	shown := strings.Join(lines, "\n")
	limited := text.Runes(shown, maxPrompt*maxProse)
	var rows []row
	for line := range strings.SplitSeq(limited, "\n") {
		rows = append(rows, say(strong, line).Wrap(min(width-2, maxProse), nil, nil)...)
	}
	long := limited != shown || len(rows) > maxPrompt+1
	if long {
		rows = rows[:min(len(rows), maxPrompt)]
	}
	out = append(out, indented(rows, row{sp(accent, "❯ ")}, row{sp(plain, "  ")})...)
	switch {
	case long:
		out = append(out, row{sp(dim, "  … the rest of "+text.Count(utf8.RuneCountInString(said), "character")+" (ctrl+o)")}.Cut(width))
	case more > 1:
		out = append(out, row{sp(dim, fmt.Sprintf("  … %d more lines (ctrl+o)", more))})
	}
	return out
}

// promptText is a message as the person wrote it.
func promptText(p *view.Prompt) string {
	if x := p.Message.Expansion; x != nil {
		return strings.TrimSpace("/" + x.Name + " " + x.Args)
	}
	if p.Message.Delivery == "context" {
		return ""
	}
	for _, b := range p.Message.Message.Content {
		if t, ok := b.(llm.Text); ok {
			return t.Text
		}
	}
	return ""
}

// answerItem draws the text of the model.
func answerItem(m ui.Model, it *view.Item, a *view.Answer, from, width int) []row {
	out := prose(m.Prose(it), from, width)
	if m.Thinking && !it.Final {
		out = append(thinking(a.Thinking(), width), out...)
	}
	if len(out) > 0 && from == 0 {
		out = append([]row{{}}, out...)
	}
	if f := a.Failed; f != nil {
		k, said := warn, "! "+text.OneLine(f.Message)
		if cancelled(f) {
			return out
		}
		if a.Text() != "" {
			out = append(out, row{sp(warn, "↺ the connection broke: the answer above does not count")})
		}
		if f.Retry {
			said += "; trying again"
		}
		out = append(out, say(k, said).Wrap(width, nil, blanks("  "))...)
	}
	return out
}

// prose draws the blocks of an answer from a number on, with those that may still change.
func prose(p ui.Prose, from, width int) []row {
	out := settled(p, from, width)
	if len(p.Open) > 0 {
		out = append(out, viewAt(mdview.New(width), p.Parts, len(p.Parts)).Open(p.Open)...)
	}
	return out
}

// settled draws the blocks of an answer from a number on that do not change any more.
func settled(p ui.Prose, from, width int) []row {
	var out []row
	v := viewAt(mdview.New(width), p.Parts, min(from, len(p.Parts)))
	for _, part := range p.Parts[min(from, len(p.Parts)):] {
		out = append(out, v.Part(part)...)
	}
	return out
}

// viewAt brings a new view to where it has drawn the blocks before a number.
func viewAt(v *mdview.View, parts []markdown.Part, n int) *mdview.View {
	from := n - 1
	for from > 0 && parts[from].Continues {
		from--
	}
	for i := max(from, 0); i < n; i++ {
		v.Part(parts[i])
	}
	return v
}

// thinking draws the end of the model's reasoning.
func thinking(said string, width int) []row {
	var out []row
	for line := range strings.SplitSeq(strings.TrimSpace(said), "\n") {
		if line != "" {
			out = append(out, say(dim, line).Wrap(min(width-2, maxProse), blanks("  "), blanks("  "))...)
		}
	}
	return out[max(0, len(out)-thinkingRows):]
}

// noticeItem draws a line about the session. The program itself tells of changes of the mode.
func noticeItem(n *view.Notice, width int) []row {
	switch n.Event.(type) {
	case event.ModeChanged, event.Resumed: // the status line says that a run works
		return nil
	}
	if n.Text == "" || n.Text == "checkpoint of the files" {
		return nil
	}
	return say(dim, "  · "+text.OneLine(n.Text)).Wrap(width, nil, blanks("    "))
}

// endItem draws the end of a run.
func endItem(e *view.End, width int) []row {
	k, said := endText(e)
	if e.Fact.Reason == event.Interrupted {
		said[0] = "■ " + said[0]
	}
	return append([]row{{}}, say(k, strings.Join(said, " · ")).Wrap(width, nil, blanks("  "))...)
}

// endText says how a run has ended, and what it took.
func endText(e *view.End) (k kind, parts []string) {
	f := e.Fact
	k, said := dim, "done"
	switch {
	case f.Reason == event.Interrupted && f.Message == fact.Superseded:
		return warn, []string{"your message ended the run before: what waited for an answer was not done"}
	case f.Reason == event.Interrupted:
		k, said = warn, "stopped"
	case f.Reason == event.Suspended:
		k, said = warn, "paused: /resume asks again, a new message gives the call up"
	case f.Reason != event.Completed && f.Reason != event.ToolEnded:
		k, said = bad, "! the run ended: "+string(f.Reason)
		if f.Message != "" && f.Message != string(f.Reason) {
			said += ": " + text.OneLine(f.Message)
		}
	}
	parts = []string{said, text.Count(f.Turns, "turn")}
	if e.Calls > 0 {
		calls := text.Count(e.Calls, "call")
		if e.Denied > 0 {
			calls += fmt.Sprintf(", %d denied", e.Denied)
		}
		parts = append(parts, calls)
	}
	return k, append(parts, amount.Took(f.Duration)+split(e.Time), cost(f.CostUSD))
}

func cost(usd *float64) string {
	if usd == nil {
		return "cost unknown"
	}
	return amount.Dollars(*usd)
}

// split says where the time of a run went.
func split(s view.Split) string {
	var parts []string
	for _, p := range []struct {
		name string
		ms   int64
	}{{"model", s.Model.Milliseconds()}, {"tools", s.Tools.Milliseconds()}, {"you", s.Waiting.Milliseconds()}, {"retry", s.Retry.Milliseconds()}} {
		if p.ms >= 100 {
			parts = append(parts, fmt.Sprintf("%s %.1f", p.name, float64(p.ms)/1000))
		}
	}
	if len(parts) < 2 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// callItem draws a call of a tool.
func callItem(m ui.Model, c *view.Call, width int) []row {
	if agents := agentsOf(c); len(agents) > 0 {
		var out []row
		said := ""
		if len(agents) == 1 && c.Result != nil && !agents[0].Start.Background { // a resumed session has no events of the agent
			said, _, _ = strings.Cut(c.Result.Result.Text(), "\n\n(agent id: ") // for the model
			said = text.Runes(text.OneLine(said), 200)
		}
		task := taskOf(c)
		for _, a := range agents {
			out = append(out, agentItem(m, a, task, said, width)...)
		}
		return out
	}
	if quiet(c) {
		return nil
	}
	mark, k := sp(warn, spinner(m)), plain
	var right []string
	switch {
	case c.Result == nil && c.Phase == "asking":
		mark = sp(warn, "?")
	case c.Result == nil && c.ID == "":
		right = append(right, "writing "+size(len(c.Written())))
	case c.Result == nil && c.Started.IsZero():
		mark = sp(dim, "○")
	case c.Result == nil:
		if d := m.Now.Sub(c.Started); d >= timeShown {
			right = append(right, amount.Clock(d))
		}
	case c.Result.Result.IsError:
		mark = sp(bad, "✗")
	default:
		mark = sp(good, "✓")
	}
	if c.Result != nil {
		right = append(right, callNote(c)...)
		if d := c.Result.Duration; d > 0 {
			right = append(right, amount.Took(d))
		}
	}
	left := row{sp(plain, "  "), mark, sp(strong, " "+pad(name(c.Use.Name), 6)), sp(k, " "+clean(about(c.Input(), m.Facts.Dir)))}
	out := []row{callRow(left, strings.Join(right, "  "), width)}
	return append(append(out, callBody(c, width)...), pictures(m, c, width)...)
}

// pictures draws the images in the result of a call, or names them.
func pictures(m ui.Model, c *view.Call, width int) []row {
	if c.Result == nil {
		return nil
	}
	var out []row
	known, n := m.Pictures[c.ID], 0
	for _, b := range c.Result.Result.Content {
		img, ok := b.(llm.Image)
		if !ok {
			continue
		}
		p := ui.Picture{Size: img.MediaType + ", " + size(len(img.Data))}
		if n < len(known) {
			p = known[n]
		}
		if n++; p.ID != 0 && p.Columns+len(indent) <= width {
			out = append(out, indented(styled.PictureRows(p.ID, p.Columns, p.Rows), blanks(indent), blanks(indent))...)
			continue
		}
		label := fmt.Sprintf("[image %d", n)
		if p.Size != "" {
			label += " · " + p.Size
		}
		out = append(out, row{sp(plain, indent), sp(dim, clean(label+"]"))}.Cut(width))
	}
	return out
}

// indent is before what is below a call.
const indent = "         "

// quiet reports whether a call needs no line: the list of steps is above the input.
func quiet(c *view.Call) bool {
	return c.Use.Name == "TodoWrite" && (c.Result == nil || !c.Result.Result.IsError)
}

// timeShown is how long a call runs before its time is shown.
const timeShown = 1e9

// callRow puts a note at the right of a call, and shortens the call in its middle.
func callRow(left row, note string, width int) row {
	right := row{sp(dim, note)}
	if note == "" || width < 60 {
		right = nil
	}
	room := width
	if len(right) > 0 {
		room -= right.Width() + 2
	}
	last := len(left) - 1
	if over := left.Width() - room; over > 0 {
		s := left[last]
		left[last].Text = middle(s.Text, max(row{s}.Width()-over, 8))
	}
	return beside(left, right, width)
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-len(s))) }

func size(n int) string {
	if n < 1024 {
		return text.Count(n, "byte")
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1024)
}

// callNote is what the result of a call says in a few words.
func callNote(c *view.Call) []string {
	r := c.Result
	title := r.Result.Title
	switch i := strings.LastIndexByte(title, '('); {
	case c.Denied():
		return []string{"denied"}
	case r.Cause == "cancelled":
		return []string{"stopped"}
	case r.Fault == "timeout":
		return []string{"timed out"}
	case i > 0 && strings.HasSuffix(title, ")"):
		return []string{clean(title[i+1 : len(title)-1])}
	}
	if code, ok := exitCode(c); ok && code != 0 {
		return []string{fmt.Sprintf("exit %d", code)}
	}
	return nil
}

// callBody draws what a call has brought: output, a diff or an error.
func callBody(c *view.Call, width int) []row {
	if c.Result == nil {
		list := c.Status.Tail
		if len(list) == 0 && c.Status.Text != "" {
			list = []string{c.Status.Text}
		}
		return below(dim, list[max(0, len(list)-liveRows):])
	}
	r := c.Result.Result
	switch {
	case c.Denied():
		return say(bad, deniedText(c)).Wrap(width, blanks(indent), blanks(indent))
	case c.Diff() != "" && !r.IsError:
		return diffItem(c.Diff())
	case shell[c.Use.Name] && r.IsError:
		return tail(bad, r.Text(), failedRows)
	case shell[c.Use.Name]:
		return tail(dim, r.Text(), outputRows)
	case c.Use.Name == "AskUser" && !r.IsError:
		return tail(dim, r.Text(), outputRows)
	case r.IsError:
		return below(bad, []string{text.Runes(text.FirstLine(strings.TrimSpace(r.Text())), 300)})
	}
	return nil
}

var shell = map[string]bool{"Bash": true, "BashOutput": true}

// below draws lines below a call. They are not wrapped: a copy of them is as they were.
func below(k kind, lines []string) []row {
	var out []row
	for _, l := range lines {
		out = append(out, append(blanks(indent), styled.Verbatim(k.kind, l)...))
	}
	return out
}

// tail draws the last lines of an output.
func tail(k kind, output string, limit int) []row {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if len(lines) == 1 && (lines[0] == "" || lines[0] == "(no output)") {
		return nil
	}
	var out []row
	if more := len(lines) - limit; more > 1 {
		out = below(dim, []string{fmt.Sprintf("… %d lines before (ctrl+o)", more)})
		lines = lines[more:]
	}
	for i := range lines {
		lines[i] = text.Runes(lines[i], 1000)
	}
	return append(out, below(k, lines)...)
}

// deniedText says who denied a call, and why.
func deniedText(c *view.Call) string {
	for i := len(c.Decisions) - 1; i >= 0; i-- {
		if d := c.Decisions[i].Decision; d.Reason != "" {
			said := "denied: " + text.OneLine(d.Reason)
			if d.Rule != "" {
				said += " (" + string(d.Rule) + ")"
			}
			return text.Runes(said, 400)
		}
	}
	return cmp.Or(text.Runes(text.OneLine(c.Result.Result.Text()), 300), "denied")
}

// diffItem draws a diff of a result.
func diffItem(diff string) []row {
	rows := difftext.Rows(diff, difftext.Options{})
	more := len(rows) - diffRows
	if more > 1 {
		rows = append(rows[:diffRows:diffRows], say(dim, fmt.Sprintf("… %d more lines (ctrl+o)", more)))
	}
	return indented(rows, blanks("       "), blanks("       "))
}

// CodeBlocks returns the texts of the blocks of code in an answer.
func CodeBlocks(answer string) []string {
	var out []string
	for _, b := range markdown.Parse(answer) {
		if c, ok := b.(markdown.Code); ok {
			out = append(out, c.Text)
		}
	}
	return out
}

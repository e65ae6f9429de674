package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/turns"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// Markdown writes a session as CommonMark with a heading for each turn. Prompts are quotes,
// inputs and results of tools are code blocks. Answers stay Markdown, except that HTML and
// images become text and headings become one size smaller. It fails like reading the
// session does.
func Markdown(ctx context.Context, w io.Writer, s session.Store, id string, o Options) error {
	info, v, r, err := open(ctx, s, id, o)
	if err != nil {
		return exporting(id, err)
	}
	m := &page{bufio.NewWriter(w)}
	m.head(info, turns.Totals(v))
	if list := r.Todos(v); len(list) > 0 {
		m.WriteString("\n## Steps\n\n")
		for _, t := range list {
			mark := " "
			if t.Status == "completed" {
				mark = "x"
			}
			fmt.Fprintf(m, "- [%s] %s\n", mark, inert(t.Text))
		}
	}
	for t := range r.Turns(id, v.Items) {
		if err := ctx.Err(); err != nil {
			return exporting(id, err)
		}
		m.turn(t)
	}
	return exporting(id, m.Flush())
}

// A page is written as Markdown.
type page struct{ *bufio.Writer }

func (m *page) turn(t turns.Turn) {
	switch t := t.(type) {
	case turns.Said:
		fmt.Fprintf(m, "\n## %s · %s\n", t.Speaker, turns.Clock(t.Time))
		m.quote(t.Content)
	case *turns.Answer:
		m.answer(t)
	case turns.Note:
		fmt.Fprintf(m, "\n*%s · %s*\n", inert(t.Text), turns.Clock(t.Time))
	case turns.Agent:
		m.agent(t)
	case turns.End:
		fmt.Fprintf(m, "\n---\n\n*%s*", inert(string(t.Reason)))
		if t.Message != "" {
			fmt.Fprintf(m, ": %s", inert(t.Message))
		}
		fmt.Fprintf(m, " · %s\n", t.Summary())
	}
}

func (m *page) head(info session.Info, totals []string) {
	fmt.Fprintf(m, "# %s\n\n", inert(heading(info)))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(m, "- %s: %s\n", name, inert(value))
		}
	}
	row("Session", info.Session)
	row("Begun", turns.Clock(info.Created))
	row("Folder", info.Dir)
	row("Branch", info.Branch)
	row("Model", info.Model)
	row("Tag", info.Tag)
	row("Totals", strings.Join(totals, " · "))
}

func (m *page) quote(content llm.Blocks) {
	for _, b := range content {
		text := ""
		switch b := b.(type) {
		case llm.Text:
			text = b.Text
		case llm.Image:
			text = fmt.Sprintf("(image, %s, %d bytes)", b.MediaType, len(b.Data))
		case llm.Document:
			text = fmt.Sprintf("(document %s, %s, %d bytes)", b.Title, b.MediaType, len(b.Data))
		}
		m.WriteByte('\n')
		for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
			m.WriteString("> " + inert(line))
		}
	}
}

func (m *page) answer(a *turns.Answer) {
	fmt.Fprintf(m, "\n## %s · %s\n", inert(a.Model), turns.Clock(a.Time))
	for _, b := range a.Content {
		switch b := b.(type) {
		case llm.Text:
			fmt.Fprintf(m, "\n%s\n", tame(b.Text))
		case llm.Thinking:
			m.quote(llm.Blocks{llm.Text{Text: "(thinking) " + b.Text}})
		}
	}
	for _, c := range a.Calls {
		m.call(c, "Tool")
	}
}

func (m *page) call(c turns.Call, kind string) {
	title := ""
	for _, t := range []string{c.What, c.Why} {
		if t != "" {
			title += " · " + inert(t)
		}
	}
	if c.Exit != 0 {
		title += fmt.Sprintf(" · exit %d", c.Exit)
	}
	fmt.Fprintf(m, "\n### %s %s%s\n", kind, inert(c.Tool), title)
	switch {
	case c.Shown == "":
	case turns.IsDiff(c.Shown):
		m.code("diff", c.Shown)
	case strings.HasPrefix(c.Shown, "$ "):
		m.code("sh", c.Shown)
	default:
		m.code("json", c.Shown)
	}
	for _, d := range c.Decisions {
		fmt.Fprintf(m, "\n*%s*\n", inert(d.String()))
	}
	switch {
	case c.Result == nil:
		fmt.Fprintf(m, "\n%s\n", inert(c.Open))
	default:
		m.result(c)
	}
	for _, part := range c.Calls {
		m.call(part, "Tool of the batch:")
	}
	for _, a := range c.Agents {
		m.agent(a)
	}
}

func (m *page) result(c turns.Call) {
	switch c.State() {
	case "denied":
		m.WriteString("\nDenied:\n")
	case "error":
		m.WriteString("\nError:\n")
	}
	if diff := c.Result.Diff(); diff != "" {
		m.code("diff", diff)
	}
	for _, b := range c.Result.Content {
		if t, ok := b.(llm.Text); ok {
			m.code("", t.Text)
		} else {
			m.quote(llm.Blocks{b})
		}
	}
}

// agent writes what an agent did.
func (m *page) agent(a turns.Agent) {
	fmt.Fprintf(m, "\n### Agent %s · %s\n", inert(a.Name), inert(cmp.Or(a.Summary(), "it has not ended")))
	if a.Message != "" {
		fmt.Fprintf(m, "\n%s\n", inert(a.Message))
	}
	for _, t := range a.Turns {
		m.turn(t)
	}
	if len(a.Turns) > 0 {
		fmt.Fprintf(m, "\n*End of what agent %s did.*\n", inert(a.Name))
	}
}

// code writes a code block, fenced by more backticks than are in it.
func (m *page) code(lang, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(m, "\n%s%s\n%s\n%s\n", fence, lang, strings.TrimRight(text, "\n"), fence)
}

// inert returns a line of text that Markdown shows as it is.
func inert(s string) string {
	return strings.NewReplacer("\\", "\\\\", "<", "&lt;", "&", "&amp;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#", "|", "\\|", "~", "\\~").Replace(s)
}

// tame returns Markdown in which nothing is HTML, an image or a heading above
// the fourth size. Code blocks and code in a line stay as they are.
func tame(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		mark := fenceOf(line)
		switch {
		case fence != "":
			b.WriteString(line)
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark {
				fence = ""
			}
			continue
		case mark != "" && !strings.Contains(line[len(mark):], "`"):
			fence = mark
			b.WriteString(line)
			continue
		}
		if body := strings.TrimLeft(line, " "); strings.HasPrefix(body, "#") && !strings.HasPrefix(body, "####") {
			line = "###" + body
		} else if rule := strings.TrimSpace(line); rule != "" && (strings.Trim(rule, "=") == "" || strings.Trim(rule, "-") == "") {
			line = "\\" + body // it would make a heading of the line above
		}
		b.WriteString(tameLine(line))
	}
	if fence != "" {
		b.WriteString("\n" + fence)
	}
	return b.String()
}

// fenceOf returns the backticks or tildes with which a line begins, if they are
// three at least. Indented fences are not looked for: they may belong to a list,
// which ends with the next line that is not indented.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, c); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}

// tameLine escapes the beginnings of HTML and images, outside of code. In a line with a bar
// nothing counts as code: the line may be of a table, whose cells end code.
func tameLine(line string) string {
	var b strings.Builder
	code := !strings.Contains(line, "|")
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] < utf8.RuneSelf && line[i+1] != '<':
			b.WriteString(line[i : i+2])
			i += 2
		case c == '\\':
			b.WriteString("\\\\")
			i++
		case c == '`':
			run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			end := closing(line[i+run:], run)
			if !code || end < 0 {
				end = 0
			}
			b.WriteString(line[i : i+run+end])
			i += run + end
		case c == '<':
			b.WriteString("&lt;")
			i++
		case c == '!' && strings.HasPrefix(line[i:], "!["):
			b.WriteString("\\!")
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// closing returns the index in s of the end of code that began with n backticks, -1 if it
// does not end.
func closing(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		i += run
		if run == n {
			return i
		}
	}
	return -1
}

package draw

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// head is the first line of the program's output.
func head(m ui.Model, width int) row {
	f := m.Facts
	dir := f.Dir
	if f.Home != "" && (dir == f.Home || strings.HasPrefix(dir, f.Home+"/")) {
		dir = "~" + dir[len(f.Home):]
	}
	if f.Branch != "" {
		dir += " (" + f.Branch + ")"
	}
	parts := []string{"openagent " + f.Version, name(f.Model), "", modeText(f.Mode)}
	parts[2] = middle(name(dir), max(12, width-say(dim, strings.Join(parts, " · ")).Width()))
	return beside(say(dim, strings.Join(parts, " · ")), row{sp(dim, "/ commands  @ files")}, width)
}

// modeText says in words when a permission mode asks.
func modeText(mode string) string {
	switch mode {
	case "", "default":
		return "asks before changes"
	case "acceptEdits":
		return "accepts edits"
	case "plan":
		return "plans only"
	case "bypassPermissions":
		return "asks nothing"
	case "dontAsk":
		return "denies what no rule allows"
	}
	return "mode " + name(mode)
}

// rule is the line above the input: the list of steps, and the messages that wait.
func rule(m ui.Model, width int) row {
	r := row{sp(dim, "──")}
	if m.State != nil {
		r = append(r, todos(m.State.Todos)...)
	}
	if n := len(m.Queue); n > 0 {
		msg := m.Queue[n-1]
		said := "sent: "
		if !msg.Steer {
			said = "queued: "
		}
		if n > 1 {
			said = fmt.Sprintf("%d %s", n, said)
		}
		r = append(r, sp(dim, " "+said+"“"+clean(text.Runes(text.OneLine(msg.Text), 40))+"” (alt+↑ edits)"))
	}
	if len(r) > 1 {
		r = append(r, sp(plain, " "))
	}
	r = r.Cut(width)
	if gap := min(width, ruleWidth) - r.Width(); gap > 0 {
		r = append(r, sp(dim, strings.Repeat("─", gap)))
	}
	return r
}

// ruleWidth is how wide the line is without texts. It is written again with each new line of an
// answer, and each cell takes three bytes.
const ruleWidth = 24

func todos(list []view.Todo) row {
	open := false
	for _, t := range list {
		open = open || t.Status != "completed"
	}
	if !open {
		return nil
	}
	var r row
	for _, t := range list {
		mark, k, said := " ○ ", dim, t.Text
		switch t.Status {
		case "completed":
			mark = " ✓ "
		case "in_progress":
			mark, k = " ▸ ", strong
			if t.Active != "" {
				said = t.Active
			}
		}
		r = append(r, sp(k, mark+clean(text.Runes(text.OneLine(said), 30))+" "))
	}
	return r
}

// status is the last line.
func status(m ui.Model, width int) row {
	var parts []span
	add := func(k kind, said string) {
		if len(parts) > 0 {
			parts = append(parts, sp(dim, " · "))
		}
		parts = append(parts, sp(k, said))
	}
	hint := "enter send · alt+enter new line · ? keys"
	if m.Trouble != "" {
		add(warn, clean(m.Trouble))
	}
	switch {
	case m.Hint != "":
		add(warn, clean(m.Hint))
	case m.Trouble != "":
		hint = ""
	case m.Stopping:
		add(warn, "stopping …")
	case m.Running:
		add(plain, spinner(m)+" "+doing(m)+" "+since(m, m.Since))
		add(dim, "esc stops")
		hint = ""
	}
	if mode := m.Mode(); mode != "" && mode != "default" {
		add(accent, modeText(mode))
	}
	if w := m.Watched; w.Word != "" {
		add(accent, name(w.Word)+" · "+text.Count(w.Viewers, "viewer"))
	}
	for _, said := range numbers(m) { // as many as there is room for
		if row(parts).Width()+len(" · ")+frame.Width(said) < width {
			add(dim, said)
		}
	}
	left := append(row{sp(plain, " ")}, parts...)
	if m.Menu.Open() || m.Search != nil || m.Picker != nil {
		hint = ""
	}
	return beside(left, row{sp(dim, hint)}, width)
}

// doing says what the run does.
func doing(m ui.Model) string {
	if m.State == nil {
		return "working"
	}
	items := m.State.Items
	if len(m.Cards) > 0 {
		return "waiting for you"
	}
	if len(items) > 0 {
		switch d := items[len(items)-1].Data.(type) {
		case *view.Answer:
			switch {
			case d.Failed != nil && d.Failed.Retry && m.Now.Before(d.Failed.RetryAt):
				return "trying again in " + amount.Clock(d.Failed.RetryAt.Sub(m.Now)) + ","
			case d.Fact == nil && d.Failed == nil && d.Text() == "" && d.Thinking() != "":
				return "thinking"
			}
		}
	}
	return "working"
}

// numbers are the context, the money, the tokens and the cache, the most useful ones first.
func numbers(m ui.Model) []string {
	s, spent := m.State, m.Spent()
	window := m.Facts.Window
	if s != nil && s.Window > 0 {
		window = s.Window
	}
	if s == nil || s.Context == 0 {
		var out []string
		if window > 0 {
			out = append(out, "ctx 0 % of "+amount.Tokens(window))
		}
		if spent.USD > 0 {
			out = append(out, amount.Dollars(spent.USD))
		}
		return out
	}
	var out []string
	if window > 0 {
		percent := 100 * s.Context / window
		bars := min((percent+9)/10, 10)
		out = append(out, fmt.Sprintf("ctx %s%s %d %%", strings.Repeat("▓", bars), strings.Repeat("░", 10-bars), percent))
	} else {
		out = append(out, "ctx "+amount.Tokens(s.Context))
	}
	money := amount.Dollars(spent.USD)
	if spent.Unpriced {
		money += " + unknown"
	}
	if m.Facts.Limit > 0 {
		money += fmt.Sprintf(" of $%g", m.Facts.Limit)
	}
	out = append(out, money, "↑"+amount.Tokens(spent.Context)+" ↓"+amount.Tokens(spent.Output))
	if spent.CacheRead > 0 {
		out = append(out, fmt.Sprintf("cache %d %%", 100*spent.CacheRead/max(spent.Context, 1)))
	}
	return out
}

// Title is the title of the window: what the program waits for, and where.
func Title(m ui.Model) string {
	mark := "openagent"
	switch {
	case len(m.Cards) > 0:
		mark = "?"
	case m.Running:
		mark = "●"
	}
	dir := m.Facts.Dir
	return mark + " " + name(dir[strings.LastIndexByte(dir, '/')+1:])
}

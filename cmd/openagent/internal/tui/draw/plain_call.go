package draw

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

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

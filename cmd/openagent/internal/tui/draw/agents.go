package draw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// agentsOf returns the sub-agents that a call has started.
func agentsOf(c *view.Call) []*view.Agent {
	var out []*view.Agent
	for _, it := range c.Items {
		if a, ok := it.Data.(*view.Agent); ok {
			out = append(out, a)
		}
	}
	return out
}

// agentItem draws the work of a sub-agent.
func agentItem(m ui.Model, a *view.Agent, task, result string, width int) []row {
	did, notes := agentText(m, a, result)
	mark := sp(warn, spinner(m))
	switch {
	case a.End == nil:
	case a.End.Reason == event.Completed:
		mark = sp(good, "✓")
	default:
		mark = sp(bad, "✗")
	}
	left := row{sp(plain, "  "), mark, sp(strong, " Agent  "), sp(accent, agentName(a, task)+" "), sp(dim, clean(did))}
	return []row{callRow(left, strings.Join(notes, "  "), width)}
}

// taskOf is the description of the task that a call gives to a sub-agent.
func taskOf(c *view.Call) string {
	var in struct{ Description string }
	if json.Unmarshal(c.Input(), &in) != nil {
		return ""
	}
	return text.Runes(text.OneLine(in.Description), 40)
}

// Task is the description of the task of the sub-agent that a call of a session has started; "" if
// there is none.
func Task(s *view.State, call string) string {
	if s == nil {
		return ""
	}
	return findTask(s.Items, call)
}

func findTask(items []*view.Item, call string) string {
	for _, it := range items {
		c, ok := it.Data.(*view.Call)
		switch {
		case !ok:
		case c.ID == call:
			return taskOf(c)
		default:
			if task := findTask(c.Items, call); task != "" { // of a batch
				return task
			}
		}
	}
	return ""
}

// agentName names a sub-agent by its name and its task, so that two of one kind can be told apart.
func agentName(a *view.Agent, task string) string {
	if task == "" {
		return name(a.Start.Agent)
	}
	return name(a.Start.Agent) + ": " + clean(task)
}

// agentText says what a sub-agent does now, or what it said last, and what that took. Without
// events of its session that is its result.
func agentText(m ui.Model, a *view.Agent, result string) (did string, notes []string) {
	switch {
	case a.End == nil:
		did = lastAction(m, a)
		if a.Start.Background {
			notes = append(notes, "in the background")
		}
	case a.End.Reason == event.Completed:
		did = quoted(cmp.Or(lastText(a), result))
	case a.End.Reason == event.Interrupted && (strings.HasSuffix(a.End.Message, "context canceled") || strings.HasSuffix(a.End.Message, "it was stopped")):
		did = "stopped"
	default:
		did = string(a.End.Reason)
		if a.End.Message != "" {
			did += ": " + text.OneLine(a.End.Message)
		}
	}
	tokens, usd, turns := 0, 0.0, 0
	if e := a.End; e != nil {
		tokens, turns = e.Usage.Context()+e.Usage.Output, e.Turns
		if e.CostUSD != nil {
			usd = *e.CostUSD
		}
	} else if v := a.View; v != nil {
		tokens, usd = v.Usage.Context()+v.Usage.Output, v.CostUSD
		for _, it := range v.Items {
			if x, ok := it.Data.(*view.Answer); ok && x.Fact != nil {
				turns++
			}
		}
	}
	if a.End == nil && a.Start.Turns > 0 {
		notes = append(notes, fmt.Sprintf("turn %d of %d", turns+1, a.Start.Turns))
	}
	if tokens > 0 {
		notes = append(notes, amount.Tokens(tokens)+" tok")
	}
	if usd > 0 {
		notes = append(notes, amount.Dollars(usd))
	}
	if e := a.End; e != nil && e.Duration > 0 {
		notes = append(notes, amount.Took(e.Duration))
	}
	return did, notes
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "“" + s + "”"
}

// lastAction is what a sub-agent does now.
func lastAction(m ui.Model, a *view.Agent) string {
	if a.View == nil {
		return ""
	}
	for i := len(a.View.Items) - 1; i >= 0; i-- {
		switch d := a.View.Items[i].Data.(type) {
		case *view.Call:
			said := d.Use.Name + " " + about(d.Input(), m.Facts.Dir)
			if len(agentsOf(d)) > 0 && agentsOf(d)[0].End == nil {
				return agentsOf(d)[0].Start.Agent + ": " + lastAction(m, agentsOf(d)[0])
			}
			if d.Phase == "asking" {
				said += " (asks)"
			}
			return text.Runes(said, 300)
		case *view.Answer:
			if t := text.OneLine(d.Text()); t != "" {
				if t = clean(t); frame.Width(t) > 60 {
					t = "…" + suffix(t, 59)
				}
				return t
			}
		}
	}
	return ""
}

// lastText is what a sub-agent said last.
func lastText(a *view.Agent) string {
	if a.View == nil {
		return ""
	}
	for i := len(a.View.Items) - 1; i >= 0; i-- {
		if d, ok := a.View.Items[i].Data.(*view.Answer); ok && d.Text() != "" {
			return text.Runes(text.OneLine(d.Text()), 200)
		}
	}
	return ""
}

// exitCode is the exit code that a command left.
func exitCode(c *view.Call) (int, bool) {
	var d struct {
		ExitCode *int `json:"exitCode"`
	}
	if json.Unmarshal(c.Result.Result.Details, &d) != nil || d.ExitCode == nil {
		return 0, false
	}
	return *d.ExitCode, true
}

// spinners are the forms of the mark. They are equally wide in all terminals, so the painter
// writes nothing else when the mark turns.
var spinners = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// spinner is the animated mark of work in progress.
func spinner(m ui.Model) string { return spinners[m.Spinner()%len(spinners)] }

// since is how long ago something was, in whole seconds.
func since(m ui.Model, t time.Time) string { return amount.Clock(max(m.Now.Sub(t), 0)) }

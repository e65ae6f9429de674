package chat

import (
	"context"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/sessionlist"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// doPlain carries out an action of plain mode that differs from the terminal UI's: the model is told
// when a line is done, and commands say in lines what they have to say. It reports false for other
// actions. It runs in the goroutine of the front.
func (c *Chat) doPlain(ctx context.Context, a ui.Action) bool {
	switch a := a.(type) {
	case ui.Command:
		c.plainCommand(ctx, a.Line)
	case ui.Shell:
		c.aside(func() { c.shell(ctx, a.Line) })
	case ui.AddNote:
		c.offerNote(a.Text)
		c.post(ui.Ran{})
	case ui.Picked:
		note := c.note
		c.aside(func() {
			switch a.Kind {
			case sessionlist.Kind:
				c.openSession(ctx, a.Value)
			case notePicker:
				c.keepNote(a.Value, note)
			}
		})
	case ui.HangUp:
		c.hangUp()
	default:
		return false
	}
	return true
}

// plainCommand runs a command of plain mode.
func (c *Chat) plainCommand(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch name {
	case "/keys":
		c.post(ui.ListKeys{})
		c.post(ui.Ran{})
	case "/status":
		c.status()
		c.post(ui.Ran{})
	case "/clear":
		c.goTo(sessionlist.Chosen{})
		c.post(ui.Ran{})
	case "/sessions":
		c.aside(func() { c.offerSessions(ctx) })
	case "/export":
		c.aside(func() { c.export(ctx, arg) })
	default:
		c.aside(func() { c.command(ctx, line) })
	}
}

// aside runs what takes time, and says when it is over.
func (c *Chat) aside(run func()) {
	c.runs.Go(func() {
		run()
		c.post(ui.Ran{})
	})
}

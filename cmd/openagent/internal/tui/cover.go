package tui

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/session"
)

// A cover is a screen that is shown instead of the conversation, on the alternate screen.
type cover interface {
	// update takes in a key, a paste or a size, or what a goroutine of the cover tells.
	update(l *Loop, in any)
	// grown says that the session has changed.
	grown(l *Loop)
	// draw returns the rows of the screen, with an alert about the conversation.
	draw(l *Loop, alert string) []styled.Row
	// close ends the work for the cover.
	close()
}

// forCover is an input for a cover, from a goroutine that works for it.
type forCover struct {
	to cover
	in any
}

// workFor works for a cover in a goroutine, which Run waits for, and gives it the result.
func (l *Loop) workFor(ctx context.Context, c cover, work func(context.Context) any) {
	l.work.Go(func() {
		defer l.Terminal.Rescue()
		if in := work(ctx); ctx.Err() == nil {
			l.Tell(forCover{c, in})
		}
	})
}

// recorded returns where the session is recorded. If it is not, it says so and returns nil.
func (l *Loop) recorded() (session.Store, string) {
	if l.Recorded == nil {
		return nil, ""
	}
	store, id := l.Recorded()
	if store == nil {
		l.Tell(ui.Output{Lines: []ui.Line{{Kind: ui.DimLine, Text: "  this session is not recorded: there is nothing to look back at"}}})
	}
	return store, id
}

// uncover returns from the cover that is shown, to the one before or to the conversation.
func (l *Loop) uncover() {
	n := len(l.covers) - 1
	l.covers[n].close()
	l.covers = l.covers[:n]
	if n > 0 {
		l.covers[n-1].update(l, input.Resize{W: l.Model.Width, H: l.Model.Height})
		return
	}
	l.complain("leaving the alternate screen", l.Terminal.ClosePage())
	l.Terminal.Repaint()
	l.update(ui.Uncovered{})
}

// show puts a cover above the others.
func (l *Loop) show(c cover) {
	l.covers = append(l.covers, c)
	c.update(l, input.Resize{W: l.Model.Width, H: l.Model.Height})
}

// top returns the cover that is shown, or nil.
func (l *Loop) top() cover {
	if n := len(l.covers); n > 0 {
		return l.covers[n-1]
	}
	return nil
}

// toCover passes an input to the cover that is shown, if there is one, and reports whether the
// model must not have it.
func (l *Loop) toCover(data any) bool {
	if in, ok := data.(forCover); ok {
		for _, c := range l.covers {
			if c == in.to {
				c.update(l, in.in)
				break
			}
		}
		return true
	}
	c := l.top()
	if c == nil {
		return false
	}
	switch data.(type) {
	case input.Key, input.Paste:
		c.update(l, data)
		return true
	case input.Resize:
		c.update(l, data)
	case ui.Uncovered, ui.Painted, ui.Tick:
	default:
		c.grown(l)
	}
	return false
}

// paintCover paints the cover that is shown.
func (l *Loop) paintCover() error {
	alert := ""
	if len(l.Model.Cards) > 0 {
		alert = "a question waits for you: press q"
	}
	var rows []string
	for _, r := range l.top().draw(l, alert) {
		rows = append(rows, l.Row(r))
	}
	return l.Terminal.Page(rows)
}

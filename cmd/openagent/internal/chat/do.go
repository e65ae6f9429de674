package chat

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/permission"
)

// do carries out an action that the loop does not carry out itself. What takes time runs in a
// goroutine, which stop waits for.
func (c *Chat) do(ctx context.Context, a ui.Action) {
	if c.plain && c.doPlain(ctx, a) {
		return
	}
	switch a := a.(type) {
	case ui.Send:
		sent := func() {}
		if a.Message.Steer {
			sent = c.sending(a.Message.N)
		}
		c.runs.Go(func() {
			defer sent()
			c.send(ctx, a.Message)
		})
	case ui.TakeBack:
		c.runs.Go(func() { c.takeBack(ctx, a.N) })
	case ui.Interrupt:
		c.runs.Go(func() { c.interrupt(ctx) })
	case ui.Command:
		if !c.own(ctx, a.Line) {
			c.runs.Go(func() { c.command(ctx, a.Line) })
		}
	case ui.Shell:
		c.runs.Go(func() { c.shell(ctx, a.Line) })
	case ui.AddNote:
		c.offerNote(a.Text)
	case ui.Decide:
		c.answer(a.ID, a.Decision)
	case ui.Reply:
		c.answer(a.ID, a.Answers)
	case ui.ListFiles:
		number := c.files.asked.Add(1)
		c.runs.Go(func() { c.listFiles(ctx, a.Query, number) })
	case ui.LoadImage:
		c.runs.Go(func() { c.loadImage(a.Path, a.Pasted) })
	case ui.Picked:
		c.picked(ctx, a.Kind, a.Value)
	case ui.Unpicked:
		c.unpicked(ctx, a)
	case ui.Examine, ui.Rename, ui.Erase, ui.Widen:
		c.runs.Go(func() { c.list.Do(ctx, a) })
	case ui.Suggest:
		c.suggest(ctx)
	case ui.Unsuggest:
		c.unsuggest()
	case ui.CycleMode:
		c.runs.Go(func() { c.cycleMode(ctx) })
	}
}

// facts are what the first line says.
func (c *Chat) facts(mode permission.Mode) ui.Facts {
	s := c.s.EffectiveSettings()
	f := ui.Facts{Version: cli.Version(), Model: s.Model, Dir: c.s.Project, Branch: branch(c.s.Project), Mode: string(mode), Window: s.Window}
	f.Home = c.h.Getenv("HOME")
	if n := s.Budget.USD; n != nil {
		f.Limit = *n
	}
	return f
}

package chat

import (
	"cmp"
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// open opens the session. It has to be open before anything is sent.
func (c *Chat) open(ctx context.Context) error {
	past, err := streamjson.NewSessionReport(ctx, c.s, nil, false, func(format string, args ...any) { c.h.Warn(format, args...) })
	if err == nil {
		err = c.s.Session.SetCanUseTool(ctx, c.decide)
	}
	if err != nil {
		return cli.StartError(ctx, err)
	}
	mode := cmp.Or(past.Mode, permission.Mode(c.s.Options.Mode), permission.Default)
	c.slash.Mode.Store(mode)
	c.post(c.facts(mode))
	report := func(line string) { c.say(ui.DimLine, text.Runes(c.h.OneLine(line), 400)) }
	endJobs, endReviews := automation.StartBackground(ctx, c.h, c.s, report), c.s.StartReviews(ctx, c.h, report)
	c.endBackground = func() {
		endReviews()
		endJobs()
	}
	return nil
}

// openPast opens an existing session while the person can write already.
func (c *Chat) openPast(ctx context.Context) {
	defer close(c.opened)
	defer c.front.terminal().Rescue()
	open, err := false, c.open(ctx)
	if err == nil {
		open, err = c.s.Session.CanResume(ctx)
	}
	if err == nil {
		err = c.total(ctx)
	}
	if ctx.Err() != nil { // the person has left
		return
	}
	if err != nil {
		c.failed = cli.StartError(ctx, err)
		c.post(ui.Quit{})
		return
	}
	if open {
		c.say(ui.WarnLine, "The last run was interrupted; /resume continues it.")
	}
}

// wait waits until the session is open. It reports false if it never will be.
func (c *Chat) wait(ctx context.Context) bool {
	select {
	case <-c.opened:
		return c.failed == nil
	case <-ctx.Done():
	case <-c.over:
	}
	return false
}

// recalled is how many facts of an existing session are shown at once.
const recalled = 200

// recall shows the end of an existing session.
func (c *Chat) recall(ctx context.Context) error {
	if !c.s.Existing || c.s.Store == nil {
		return nil
	}
	events, err := session.Last(ctx, c.s.Store, c.s.Session.ID, recalled, nil)
	if err != nil || len(events) == 0 {
		return err
	}
	info, err := session.Stat(ctx, c.s.Store, c.s.Session.ID)
	if err != nil {
		return err
	}
	earlier := 0
	if events[0].Seq > 1 {
		earlier = int(info.Messages)
	}
	c.last, c.shown = events[len(events)-1].Seq, events[0].Seq
	c.post(ui.Recall{Events: events, Messages: earlier})
	return nil
}

// total tells what the session has cost before the facts that are shown.
func (c *Chat) total(ctx context.Context) error {
	if c.shown <= 1 {
		return nil
	}
	all, err := ui.SpentBefore(c.s.Store.Read(ctx, c.s.Session.ID, 0), c.shown)
	if err != nil {
		return err
	}
	c.post(all)
	return nil
}

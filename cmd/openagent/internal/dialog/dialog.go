// Package dialog asks a person in the terminal UI before there is a conversation.
//
//	d, err := dialog.Open(h)
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	picked, ok, err := d.Ask(ctx, ui.Choice{Kind: "fruit", Title: "which one?", Items: items}, nil)
package dialog

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// A Dialog has taken the terminal. Close gives it back.
type Dialog struct {
	h    *cli.IO
	t    *term.Terminal
	loop *tui.Loop // of the question that is asked
}

// Possible reports whether stdin and stdout are files that may be the terminal.
func Possible(h *cli.IO) bool {
	_, _, ok := files(h)
	return ok
}

func files(h *cli.IO) (in, out *os.File, ok bool) {
	in, ok = h.In.(*os.File)
	out, ok2 := h.ColourOut().(*os.File)
	return in, out, ok && ok2
}

// Open takes the terminal.
func Open(h *cli.IO) (*Dialog, error) {
	in, out, ok := files(h)
	if !ok {
		return nil, term.ErrNotTerminal
	}
	h.DiscardInput() // what was typed before is no answer
	t, err := term.Open(in, out)
	if err != nil {
		return nil, err
	}
	return &Dialog{h: h, t: t}, nil
}

// Close gives the terminal back. Nothing of the dialog stays on the screen.
func (d *Dialog) Close() error { return d.t.Close() }

// Outside gives the terminal to run, and takes it back.
func (d *Dialog) Outside(run func() error) error {
	return d.t.Outside(func(*os.File, *os.File) error { return run() })
}

// A Work carries out what the person does in a picker besides choosing, in a goroutine. Tell tells
// the UI about the result. The first action, nil, says that the picker is open. A Work that is given
// a Picked may keep the picker open: it tells a Renewed with a Warn and returns false.
type Work func(ctx context.Context, a ui.Action) (done bool)

// Tell gives an input to the UI while Ask runs.
func (d *Dialog) Tell(data any) { d.loop.Tell(data) }

// Ask shows a picker until the person has chosen. It reports false if they have closed it, or if a
// signal came. work may be nil.
func (d *Dialog) Ask(ctx context.Context, c ui.Choice, work Work) (picked string, ok bool, err error) {
	defer d.t.Rescue()
	width, height, err := d.t.Size()
	if err != nil {
		return "", false, err
	}
	c.Alone = true
	theme := draw.Theme{Colours: settings.Colours(d.h)}
	m, _ := ui.Update(ui.New(width, height), ui.Input{Time: time.Now(), Data: c})
	l := &tui.Loop{Terminal: d.t, Model: m, Settle: tui.SettleTime(d.h.Getenv)}
	l.Draw = func(m ui.Model, width, height int) (frame.Frame, ui.Painted) {
		if a := d.t.About(); a.Known && theme.Colours {
			theme.Light, theme.Shaded = !a.Background.Dark(), true
		}
		return draw.Frame(m, width, height, theme)
	}
	d.loop = l
	var answers answers
	working, stop := context.WithCancel(ctx)
	defer stop()
	l.Act = func(a ui.Action) { answers.act(working, a, work, l.Tell) }
	if work != nil {
		answers.act(working, nil, work, l.Tell)
	}
	err = l.Run(ctx)
	stop()
	answers.work.Wait()
	if clear := d.t.Paint(draw.Close(l.Model, width, theme)); err == nil {
		err = clear
	}
	switch {
	case ctx.Err() != nil:
		return "", false, cli.ExitCode(cli.SignalCode(ctx))
	case errors.Is(err, tui.ErrEnded):
		return "", false, nil
	}
	return answers.picked, answers.ok, err
}

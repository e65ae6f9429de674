// Package tui runs the terminal UI: it joins a terminal, the model of package ui and the
// program that carries out its actions.
//
//	l := &tui.Loop{Terminal: t, Draw: draw, Act: act, Memory: memory}
//	go func() {
//		for e := range events {
//			l.Tell(e)
//		}
//	}()
//	err := l.Run(ctx)
package tui

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/session"
)

// A Loop is the terminal UI of one program. Fill in the fields and call Run.
type Loop struct {
	Terminal *term.Terminal

	// Draw turns the model into a frame. See draw.Frame.
	Draw func(m ui.Model, width, height int) (frame.Frame, ui.Painted)

	// Act carries out an action that concerns the session. The loop waits for it, so slow
	// work belongs into a goroutine, which tells the loop about the result.
	Act func(a ui.Action)

	// Recorded returns where the session is recorded, for the pager. A nil store: it is not.
	Recorded func() (store session.Store, id string)

	// Row turns a row of the pager into a line of the terminal. See draw.Row.
	Row func(r styled.Row) string

	// Title returns the title of the window; nil: it is not changed.
	Title func(m ui.Model) string

	// Settle is how long to wait for another size before a frame is painted for one; 0: 100 ms.
	// See SettleTime.
	Settle time.Duration

	Memory *Memory // of texts that were typed; nil: nothing is kept
	Editor string  // the command line of an editor, see EditorCommand

	// Model is the model to begin with. The loop changes it while it runs.
	Model ui.Model

	told    queue
	away    atomic.Bool // an editor has the terminal
	signals *term.Signals
	ctx     context.Context // of Run
	over    bool
	dirty   bool      // the model has changed since the last frame
	urgent  bool      // a person waits for the next frame
	next    time.Time // when the next frame may be painted
	hold    time.Time // the size changes: no frame before
	title   string
	unsent  []ui.Picture // that the terminal does not have yet
	covers  []cover      // screens above the conversation, the one that is shown last
	work    sync.WaitGroup
}

// ErrEnded says that the terminal has gone.
var ErrEnded = errors.New("the terminal has ended")

const frameTime = time.Second / 30

// SettleTime returns how long a terminal takes to tell about its size. Meanwhile it may have
// wrapped the lines for another one already, and a frame for the old size could hit lines of
// the history. Multiplexers wait for a quarter of a second between two sizes.
func SettleTime(getenv func(string) string) time.Duration {
	for _, name := range []string{"TMUX", "STY", "ZELLIJ"} {
		if getenv(name) != "" {
			return 300 * time.Millisecond
		}
	}
	return 100 * time.Millisecond
}

// Tell gives an input to the model: an event, or the result of an action. [Items] are shown on a
// screen of their own. Any goroutine may call it, at any time; it does not wait.
//
// A question rings the bell while an editor has the terminal, which shows nothing else.
func (l *Loop) Tell(data any) {
	l.told.put(data)
	if _, ok := data.(ui.Pose); ok && l.away.Load() {
		_ = l.Terminal.Bell() // the question waits in any case
	}
}

// Run shows the UI until the person leaves or ctx ends. It returns nil if the person has
// left. The terminal still belongs to the caller, who closes it.
func (l *Loop) Run(ctx context.Context) (err error) {
	l.told.init()
	work, stop := context.WithCancel(ctx)
	defer l.work.Wait()
	defer stop()
	l.ctx, l.signals = work, term.WatchSignals()
	defer l.signals.Stop()
	if l.Memory != nil {
		memory := l.Memory
		past, draft := memory.Load()
		l.update(ui.Past{Entries: past})
		if draft != "" {
			l.update(ui.Draft{Text: draft})
		}
		defer func() {
			l.keep() // also if the terminal has gone
			err = errors.Join(err, memory.Close())
		}()
	}
	if err := l.resized(); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !l.over {
		now := time.Now()
		if l.due(now) {
			if err := l.paint(now); err != nil {
				return err
			}
		}
		timer.Stop()
		if at := l.wake(); !at.IsZero() {
			timer.Reset(time.Until(at))
		}
		select {
		case batch, ok := <-l.Terminal.Inputs():
			if !ok {
				return ErrEnded
			}
			for _, in := range batch {
				l.update(in)
			}
			l.dirty, l.urgent = true, true
		case <-l.told.ready:
			for _, data := range l.told.take() {
				l.update(data)
			}
		case <-timer.C:
			if at := l.Model.Wake(); !at.IsZero() && !time.Now().Before(at) {
				l.update(ui.Tick{})
			}
		case <-l.signals.Resized:
			l.hold = time.Now().Add(cmp.Or(l.Settle, 100*time.Millisecond))
			if err := l.resized(); err != nil {
				return err
			}
		case <-l.signals.Stopped:
			l.act(ui.Suspend{})
		case <-l.signals.Continued:
			if err := l.Terminal.Retake(); err != nil {
				return err
			}
			l.dirty, l.urgent = true, true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// update changes the model and carries out the actions that follow.
func (l *Loop) update(data any) {
	if items, ok := data.(Items); ok {
		l.showItems(items)
		return
	}
	if d, ok := data.(ui.Pictures); ok {
		data = l.takePictures(d)
	}
	if l.toCover(data) {
		l.dirty = true
		return
	}
	var actions []ui.Action
	l.Model, actions = ui.Update(l.Model, ui.Input{Time: time.Now(), Data: data})
	l.dirty = true
	for _, a := range actions {
		l.act(a)
	}
}

// resized tells the model the size of the terminal.
func (l *Loop) resized() error {
	w, h, err := l.Terminal.Size()
	if err == nil {
		l.Terminal.Repaint()
		l.update(input.Resize{W: w, H: h})
	}
	return err
}

// due reports whether a frame is painted now: at once for a person who types, else not more
// often than the frame rate.
func (l *Loop) due(now time.Time) bool {
	return l.dirty && !now.Before(l.hold) && (l.urgent || !now.Before(l.next))
}

// wake returns when there is something to do though nothing happens; zero: never.
func (l *Loop) wake() time.Time {
	at := l.Model.Wake()
	if l.dirty {
		frame := l.next
		if l.hold.After(frame) {
			frame = l.hold
		}
		if at.IsZero() || frame.Before(at) {
			at = frame
		}
	}
	return at
}

// paint shows the model.
func (l *Loop) paint(now time.Time) error {
	w, h, err := l.Terminal.Size()
	if err != nil {
		return err
	}
	if w != l.Model.Width || h != l.Model.Height { // the signal is on its way
		l.update(input.Resize{W: w, H: h})
	}
	if len(l.covers) > 0 {
		l.dirty, l.urgent, l.next = false, false, now.Add(frameTime)
		return l.paintCover()
	}
	if err := l.sendPictures(); err != nil {
		return err
	}
	f, painted := l.Draw(l.Model, w, h)
	if err := l.Terminal.Paint(f); err != nil {
		return err
	}
	l.update(painted)
	l.dirty, l.urgent, l.next = false, false, now.Add(frameTime)
	if l.Title != nil {
		if title := l.Title(l.Model); title != l.title {
			l.title = title
			return l.Terminal.Title(title)
		}
	}
	return nil
}

// keep saves the text that was not sent.
func (l *Loop) keep() {
	if l.Memory != nil {
		l.remember(l.Memory.SaveDraft(l.Model.Unsent()))
	}
}

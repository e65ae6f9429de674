package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/plain"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// Lines is the conversation in plain mode: see package plain. Fill in the fields and call Run.
type Lines struct {
	Console *plain.Console
	Out     io.Writer

	// Terminal sends keys. If it is nil, lines come from Reader.
	Terminal *term.Terminal
	Reader   *LineReader
	Prompts  bool // a line is only read when a prompt is expected

	// Act carries out an action that concerns the session, as in Loop.
	Act func(a ui.Action)

	// Columns returns the width of the terminal, 0 if it is not known.
	Columns func() int

	Memory *Memory
	Editor string

	told    queue
	signals *term.Signals
	ctx     context.Context
	over    bool
}

// Tell gives an input to the model. Any goroutine may call it, at any time; it does not wait.
func (l *Lines) Tell(data any) { l.told.put(data) }

// Run shows the conversation until the person leaves, the input and the run have ended, or ctx
// ends.
func (l *Lines) Run(ctx context.Context) (err error) {
	l.told.init()
	work, stop := context.WithCancel(ctx)
	defer stop()
	l.ctx, l.signals = work, term.WatchSignals()
	defer l.signals.Stop()
	defer func() {
		l.Console.Close(time.Now())
		err = errors.Join(err, l.write())
	}()
	if l.Memory != nil {
		past, draft := l.Memory.Load()
		l.update(ui.Past{Entries: past})
		if draft != "" {
			l.update(ui.Draft{Text: draft})
		}
		defer func() {
			l.remember(l.Memory.SaveDraft(l.Console.Model.Unsent()))
			if l.Memory != nil {
				err = errors.Join(err, l.Memory.Close())
			}
		}()
	}
	l.Console.Resize(l.Columns())
	for _, data := range l.told.take() {
		l.update(data)
	}
	var keys <-chan []input.Input
	var lines <-chan ui.Typed
	if l.Terminal != nil {
		keys = l.Terminal.Inputs()
	} else {
		lines = l.Reader.lines
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !l.over {
		if err := l.write(); err != nil {
			return err
		}
		timer.Stop()
		if at := l.Console.Wake(); !at.IsZero() {
			timer.Reset(time.Until(at))
		}
		if lines != nil && (!l.Prompts || l.Console.Model.Idle()) && len(l.told.ready) == 0 {
			l.Reader.want()
		}
		select {
		case batch, ok := <-keys:
			if !ok {
				return ErrEnded
			}
			for _, in := range batch {
				l.update(in)
			}
		case line, ok := <-lines:
			if !ok {
				lines = nil
				l.update(ui.Ended{})
				continue
			}
			l.Reader.wanting = false
			line.Echoed = l.Console.Echo
			l.update(line)
		case <-l.told.ready:
			for _, data := range l.told.take() {
				l.update(data)
			}
		case <-timer.C:
			if at := l.Console.Wake(); !at.IsZero() && !time.Now().Before(at) {
				l.update(ui.Tick{})
			}
		case <-l.signals.Resized:
			l.Console.Resize(l.Columns())
		case <-l.signals.Stopped:
			if l.Terminal != nil {
				l.act(ui.Suspend{})
			} else if err := l.signals.Pause(); err != nil {
				return err
			}
		case <-l.signals.Continued:
			if l.Terminal != nil {
				if err := l.Terminal.Retake(); err != nil {
					return err
				}
				l.Console.Repaint()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// A LineReader reads lines for one conversation after the other: a line that was wanted by one may
// come when the next one has begun.
type LineReader struct {
	wanting bool // a line is wanted that has not come yet; of the goroutine of the conversation
	wanted  chan struct{}
	lines   chan ui.Typed // closed at the end of the input
}

// NewLineReader begins to read lines, each when it is wanted, until read returns an error. What
// read returns with the error is a line too, unless it is empty.
func NewLineReader(read func() (string, error)) *LineReader {
	r := &LineReader{wanted: make(chan struct{}, 1), lines: make(chan ui.Typed)}
	go func() {
		defer close(r.lines)
		for range r.wanted {
			line, err := read()
			if line != "" || err == nil {
				r.lines <- ui.Typed{Text: strings.TrimRight(strings.ToValidUTF8(line, "\ufffd"), "\r\n"), At: time.Now()}
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

// want asks for the next line.
func (r *LineReader) want() {
	if !r.wanting {
		r.wanting = true
		r.wanted <- struct{}{}
	}
}

// write writes what the console has.
func (l *Lines) write() error {
	for b := l.Console.Take(); len(b) > 0; b = l.Console.Take() {
		if _, err := l.Out.Write(b); err != nil {
			return fmt.Errorf("writing to stdout: %w", err)
		}
		l.Console.Written(time.Now())
	}
	return nil
}

// update changes the console and carries out the actions that follow.
func (l *Lines) update(data any) {
	for _, a := range l.Console.Update(time.Now(), data) {
		l.act(a)
	}
}

// act carries out an action, or passes it on.
func (l *Lines) act(a ui.Action) {
	switch a := a.(type) {
	case ui.Leave:
		l.over = true
	case ui.Suspend:
		if l.Terminal != nil {
			l.outside(func() error { return l.Terminal.Suspend(l.signals) }, "suspending the program")
		}
	case ui.Repaint:
		l.Console.Repaint()
	case ui.SaveDraft:
		if l.Memory != nil {
			l.remember(l.Memory.SaveDraft(a.Text))
		}
	case ui.Remember:
		if l.Memory != nil {
			l.remember(l.Memory.Remember(a.Text))
		}
	case ui.EditOutside:
		if l.Terminal == nil {
			return
		}
		text := a.Text
		l.outside(func() (err error) {
			text, err = edit(l.ctx, l.Terminal, l.signals, l.Editor, a.Text)
			return err
		}, "editing the text")
		if text != a.Text {
			l.update(ui.Edited{Text: text})
		}
	case ui.Notify, ui.ShowWhole:
	default:
		l.Act(a)
	}
}

// outside gives the terminal to another program, on a line of its own.
func (l *Lines) outside(run func() error, what string) {
	_, err := l.Out.Write(l.Console.Pause())
	if err = errors.Join(err, run()); err != nil {
		l.complain(what, err)
	}
	l.Console.Resize(l.Columns())
}

func (l *Lines) complain(what string, err error) {
	l.Tell(ui.Output{Lines: []ui.Line{{Kind: ui.WarnLine, Text: fmt.Sprintf("! %s: %v", what, err)}}})
}

// remember tells the person that texts are not kept, once.
func (l *Lines) remember(err error) {
	if err != nil {
		l.Memory = nil
		l.complain("keeping what you type, for the next start", err)
	}
}

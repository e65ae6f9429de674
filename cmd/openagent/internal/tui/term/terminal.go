// Package term is the edge of the terminal UI: a terminal in raw mode, whose keys it reads and
// whose live region it paints.
//
//	t, err := term.Open(os.Stdin, os.Stdout)
//	if err != nil {
//		return err
//	}
//	defer t.Close()
//	for batch := range t.Inputs() {
//		…
//		t.Paint(f)
//	}
package term

import (
	"errors"
	"fmt"
	"os"
	"sync"

	xterm "golang.org/x/term"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// What the terminal is told when the UI takes it, and when the UI gives it back.
const (
	// Bracketed paste, reports of focus, the kitty keyboard protocol (telling keys apart, and
	// what a key is on an English keyboard), modifyOtherKeys of xterm.
	take = pasteOn + "\x1b[?1004h" + keysOn
	give = keysOff + "\x1b[?1004l" + pasteOff

	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"

	// Terminals keep the state of the keyboard for each screen.
	keysOn  = "\x1b[>5u\x1b[>4;1m"
	keysOff = "\x1b[>4m\x1b[<u"

	clustersOn  = "\x1b[?2027h"
	clustersOff = "\x1b[?2027l"
)

// A Terminal is a terminal that the UI has taken. Close gives it back.
//
// One goroutine paints and calls the other methods. A goroutine of the terminal reads.
type Terminal struct {
	in, out *os.File
	take    string // what the terminal is told when it is taken
	give    string // and when it is given back
	painter Painter
	page    page
	buf     []byte
	titled  bool
	closed  bool

	reader *reader
	inputs chan []input.Input

	// state is locked for the raw mode, which is also restored after a panic of any goroutine,
	// and for what the reader learns about the terminal.
	state struct {
		sync.Mutex
		before    *xterm.State // nil: not in raw mode
		clusters  bool         // mode 2027 was switched on
		alternate bool         // the alternate screen is shown
		about     About
	}
}

// ErrNotTerminal says that a file is not a terminal.
var ErrNotTerminal = errors.New("not a terminal: the terminal UI needs one as stdin and as stdout")

// Open takes a terminal: it switches to raw mode, asks what the terminal can do without
// waiting for answers, and begins to read keys.
func Open(in, out *os.File) (*Terminal, error) {
	return open(&Terminal{in: in, out: out, take: take, give: give}, questions)
}

// OpenLines takes a terminal for lines: it switches to raw mode and begins to read keys. A line
// feed at the end of what comes at once is Enter: programs end lines with it. The terminal is told
// nothing but, with paste, to mark what is pasted. Nothing may be painted.
func OpenLines(in, out *os.File, paste bool) (*Terminal, error) {
	t := &Terminal{in: in, out: out}
	if paste {
		t.take, t.give = pasteOn, pasteOff
	}
	return open(t, "")
}

func open(t *Terminal, ask string) (*Terminal, error) {
	in, out := t.in, t.out
	if !xterm.IsTerminal(int(in.Fd())) || !xterm.IsTerminal(int(out.Fd())) {
		return nil, ErrNotTerminal
	}
	t.inputs = make(chan []input.Input)
	var err error
	if t.reader, err = newReader(in); err != nil {
		return nil, err
	}
	t.reader.decoder.LineFeed = ask == ""
	if err := t.raw(t.take + ask); err != nil {
		return nil, errors.Join(err, t.reader.close())
	}
	t.reader.start(t)
	return t, nil
}

// raw switches to raw mode and tells the terminal what the UI needs.
func (t *Terminal) raw(tell string) error {
	t.state.Lock()
	defer t.state.Unlock()
	before, err := xterm.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("switching the terminal to raw mode: %w", err)
	}
	if t.state.before == nil {
		t.state.before = before
	}
	if t.state.clusters {
		tell += clustersOn
	}
	if err := enableSequences(t.out); err != nil {
		return err
	}
	_, err = t.out.WriteString(tell)
	return err
}

// restore undoes what raw did. It may be called at any time, by any goroutine.
func (t *Terminal) restore() error {
	t.state.Lock()
	defer t.state.Unlock()
	if t.state.before == nil {
		return nil
	}
	end := t.give
	if t.state.alternate {
		end = keysOff + alternateOff + end
	}
	if t.state.clusters {
		end = clustersOff + end
	}
	_, err := t.out.WriteString(end)
	err = errors.Join(err, xterm.Restore(int(t.in.Fd()), t.state.before))
	t.state.before = nil
	return err
}

// Close gives the terminal back and waits until nothing reads from it. The live region is
// removed.
func (t *Terminal) Close() error {
	if t.closed {
		return nil
	}
	t.closed = true
	err := t.reader.stop()
	t.ClosePage()
	if w, _, size := t.Size(); size == nil {
		t.out.Write(t.painter.Erase(nil, w))
	}
	if t.titled {
		t.out.WriteString(titleBack)
	}
	return errors.Join(err, t.restore(), t.reader.close())
}

// Rescue gives the terminal back if its goroutine panics, so that the panic is readable:
//
//	defer t.Rescue()
//
// t may be nil.
func (t *Terminal) Rescue() {
	if r := recover(); r != nil {
		if t != nil {
			t.restore()
		}
		panic(r)
	}
}

// Inputs yields what came from the terminal: the inputs of one read each time. A batch is
// empty if About has changed. The channel is closed when the terminal has ended.
func (t *Terminal) Inputs() <-chan []input.Input { return t.inputs }

// Size returns the size of the terminal in cells.
func (t *Terminal) Size() (w, h int, err error) {
	w, h, err = xterm.GetSize(int(t.out.Fd()))
	if err == nil && (w <= 0 || h <= 0) { // a terminal that does not know
		w, h = 80, 24
	}
	return w, h, err
}

// Paint shows a frame. It writes at most once, and nothing if nothing changes. The size is
// that of now, which may differ from the one that the frame was drawn for.
func (t *Terminal) Paint(f frame.Frame) error {
	w, h, err := t.Size()
	if err != nil {
		return err
	}
	a := t.About()
	t.painter.Plain, t.painter.Cuts = a.NoSync, a.Cuts
	t.buf = t.painter.Paint(t.buf[:0], f, w, h)
	return t.flush()
}

// Repaint makes the next frame write the whole live region.
func (t *Terminal) Repaint() {
	t.painter.Repaint()
	t.page.stale = true
}

// flush writes the bytes of a frame.
func (t *Terminal) flush() error {
	if len(t.buf) == 0 {
		return nil
	}
	_, err := t.out.Write(t.buf)
	if cap(t.buf) > 1<<20 {
		t.buf = nil
	}
	return err
}

// Outside removes the live region, gives the terminal to run, such as an editor, and takes it
// back.
func (t *Terminal) Outside(run func(in, out *os.File) error) error {
	if err := t.reader.stop(); err != nil {
		return err
	}
	page := t.page.open
	if err := t.ClosePage(); err != nil {
		return err
	}
	if w, _, err := t.Size(); err == nil {
		t.buf = t.painter.Erase(t.buf[:0], w)
		t.flush()
	}
	err := errors.Join(t.restore(), run(t.in, t.out), t.raw(t.take))
	t.painter.Forget()
	if page {
		err = errors.Join(err, t.openPage())
	}
	t.reader.start(t)
	return err
}

package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A seat is a loop on a terminal, and the person before it.
type seat struct {
	*Loop
	t       *testing.T
	control *os.File
	actions chan ui.Action
	done    chan error
	stop    context.CancelFunc

	mu    sync.Mutex
	shown strings.Builder
}

// plainDraw shows the text of the input.
func plainDraw(m ui.Model, width, height int) (frame.Frame, ui.Painted) {
	text, _ := m.Editor.Content()
	f := frame.Frame{Live: []string{"> " + strings.ReplaceAll(text, "\n", "|"), "status"}}
	f.Caret.Byte = len(f.Live[0])
	p := ui.Painted{Mark: m.Mark}
	for ; p.Mark.Notes < len(m.Notes); p.Mark.Notes++ {
		for _, l := range m.Notes[p.Mark.Notes].Lines {
			f.Above = append(f.Above, l.Text)
		}
	}
	return f, p
}

func sit(t *testing.T, dir string, change ...func(*Loop)) *seat {
	t.Helper()
	control, tty := termtest.Open(t, 80, 24)
	terminal, err := term.Open(tty, tty)
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, control: control, actions: make(chan ui.Action, 100), done: make(chan error, 1)}
	s.Loop = &Loop{Terminal: terminal, Draw: plainDraw, Act: func(a ui.Action) { s.actions <- a }, Memory: NewMemory(dir), Model: ui.New(80, 24)}
	for _, c := range change {
		c(s.Loop)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := control.Read(b)
			s.mu.Lock()
			s.shown.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() {
		err := s.Run(ctx)
		err = errors.Join(err, terminal.Close())
		tty.Close()
		<-read
		s.done <- err
	}()
	t.Cleanup(stop)
	return s
}

func (s *seat) types(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.control, text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) shows(text string) {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if strings.Contains(s.all(), text) {
			return
		}
	}
	s.t.Fatalf("%q is not shown: %q", text, s.all())
}

func (s *seat) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *seat) ends() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(time.Minute):
		s.t.Fatalf("the loop does not end: %q", s.all())
		return nil
	}
}

func (s *seat) acts() ui.Action {
	s.t.Helper()
	select {
	case a := <-s.actions:
		return a
	case <-time.After(time.Minute):
		s.t.Fatalf("nothing is done: %q", s.all())
		return nil
	}
}

func TestLoop(t *testing.T) {
	s := sit(t, t.TempDir())
	s.shows("status")
	s.types("hello")
	s.shows("hello")
	s.types("\r")
	if a, ok := s.acts().(ui.Send); !ok || a.Message.Text != "hello" {
		t.Errorf("%+v", a)
	}
	s.Tell(ui.Output{Lines: []ui.Line{{Text: "said by the program"}}})
	s.shows("said by the program")
	s.Tell(ui.Done{})
	s.types("\x04")
	if err := s.ends(); err != nil {
		t.Error(err)
	}
}

// Nothing is written while nothing changes.
func TestIdle(t *testing.T) {
	s := sit(t, t.TempDir())
	s.shows("status")
	time.Sleep(200 * time.Millisecond)
	before := s.all()
	time.Sleep(300 * time.Millisecond)
	if after := s.all(); after != before {
		t.Errorf("%q is written", after[len(before):])
	}
	s.stop()
	if err := s.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A text that was not sent is offered at the next start, and messages are in the history.
func TestNextStart(t *testing.T) {
	dir := t.TempDir()
	s := sit(t, dir)
	s.types("sent\r")
	s.acts()
	s.Tell(ui.Done{})
	s.types("half a thought")
	s.shows("half a thought")
	s.stop()
	s.ends()

	s = sit(t, dir)
	s.shows("half a thought")
	s.types("\x03") // clears it
	s.types("\x1b[A\x1b[A")
	s.shows("> sent")
	s.stop()
	s.ends()
}

// A text on a card is offered at the next start.
func TestCardAtNextStart(t *testing.T) {
	dir := t.TempDir()
	reason := ui.Editor{}.Set("it is too early")
	s := sit(t, dir, func(l *Loop) {
		l.Model.Cards = []ui.Card{{Question: ui.Question{ID: 1, Tool: "Bash"}, Focus: true, Write: &reason, Writing: ui.WriteReason}}
	})
	s.shows("status")
	s.stop()
	s.ends()
	s = sit(t, dir)
	s.shows("> it is too early")
	s.stop()
	s.ends()
}

// A window that is closed loses nothing, whether or not the text was typed a moment before.
func TestClosedWindow(t *testing.T) {
	dir := t.TempDir()
	s := sit(t, dir)
	s.types("half a thought")
	s.shows("half a thought")
	s.closes()
	s = sit(t, dir)
	s.shows("half a thought")
	s.types("\x03another") // clears it
	s.shows("> another")
	s.closes()
	if _, draft := NewMemory(dir).Load(); draft != "another" {
		t.Errorf("%q is offered next", draft)
	}
}

// closes closes the window of the terminal.
func (s *seat) closes() {
	s.t.Helper()
	s.control.Close()
	s.Tell(ui.Output{Lines: []ui.Line{{Text: "ends the read, and so the window"}}})
	if err := s.ends(); err == nil {
		s.t.Error("the end of the terminal is no error")
	}
}

func TestEditor(t *testing.T) {
	s := sit(t, t.TempDir())
	script := filepath.Join(t.TempDir(), "my editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf ', edited\\n' >>\"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Editor = "'" + script + "' -x"
	s.types("a text\x07") // ctrl+g
	s.shows("a text, edited")
	s.types("!")
	s.shows("!")
	s.stop()
	s.ends()
	for getenv, want := range map[string]string{"VISUAL": "emacs", "EDITOR": "ed", "": "vi"} {
		if got := EditorCommand(func(name string) string {
			if name == getenv {
				return want
			}
			return ""
		}); got != want {
			t.Errorf("%s: %q, want %q", getenv, got, want)
		}
	}
}

// A question that comes while an editor has the terminal rings the bell at once.
func TestQuestionDuringEditor(t *testing.T) {
	dir := t.TempDir()
	s := sit(t, t.TempDir())
	script := filepath.Join(dir, "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncd '"+dir+"'\necho in the editor\nwhile [ ! -e go ]; do sleep 0.01; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Editor = script
	s.types("a text\x07") // ctrl+g
	s.shows("in the editor")
	if strings.Contains(s.all(), "\a") {
		t.Error("the bell rings before the question")
	}
	s.Tell(ui.Pose{Question: ui.Question{ID: 1, Tool: "Bash"}})
	s.shows("\a")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.shows("> a text\r\n")
	s.stop()
	s.ends()
}

func TestResize(t *testing.T) {
	s := sit(t, t.TempDir())
	s.shows("status")
	termtest.SetSize(t, s.control, 40, 10)
	s.types("x")
	s.shows("> x")
	s.stop()
	s.ends()
	if s.Model.Width != 40 || s.Model.Height != 10 {
		t.Errorf("the size is %d, %d", s.Model.Width, s.Model.Height)
	}
}

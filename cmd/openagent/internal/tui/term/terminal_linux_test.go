package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
)

// A window is the other end of a terminal that the UI has taken.
type window struct {
	t       *testing.T
	control *os.File
	tty     *os.File
	term    *Terminal

	mu    sync.Mutex
	shown strings.Builder
}

func takenTerminal(t *testing.T) *window { return takenBy(t, Open) }

func takenBy(t *testing.T, open func(in, out *os.File) (*Terminal, error)) *window {
	t.Helper()
	control, tty := termtest.Open(t, 80, 24)
	w := &window{t: t, control: control, tty: tty}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := control.Read(b)
			w.mu.Lock()
			w.shown.Write(b[:n])
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	var err error
	if w.term, err = open(tty, tty); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.term.Close()
		tty.Close()
		<-done
	})
	return w
}

func (w *window) types(s string) {
	w.t.Helper()
	go func() { // a pseudo-terminal takes 4,096 bytes at a time
		io.WriteString(w.control, s)
	}()
}

// gets returns the inputs until the last one has the given name.
func (w *window) gets(last string) []input.Input {
	w.t.Helper()
	var in []input.Input
	timeout := time.After(time.Minute)
	for {
		select {
		case batch, ok := <-w.term.Inputs():
			if !ok {
				w.t.Fatalf("the terminal has ended after %.300s", names(in))
			}
			if in = append(in, batch...); len(in) > 0 && names(in[len(in)-1:]) == last {
				return in
			}
		case <-timeout:
			w.t.Fatalf("%s does not come, only %.300s", last, names(in))
		}
	}
}

// shows waits until the terminal was sent a text.
func (w *window) shows(text string) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if strings.Contains(w.all(), text) {
			return
		}
	}
	w.t.Fatalf("%q is not shown: %q", text, w.all())
}

func (w *window) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown.String()
}

func (w *window) settings() unix.Termios {
	w.t.Helper()
	s, err := unix.IoctlGetTermios(int(w.tty.Fd()), unix.TCGETS)
	if err != nil {
		w.t.Fatal(err)
	}
	return *s
}

func TestTyping(t *testing.T) {
	w := takenTerminal(t)
	w.types("héllo\x1b[A\x1b")
	if got := names(w.gets("esc")); got != "h é l l o up esc" {
		t.Error(got)
	}
	w.types("\x03\x04\x1a\x1c\x11\x13") // what a terminal that is not raw keeps for itself
	if got := names(w.gets("ctrl+s")); got != `ctrl+c ctrl+d ctrl+z ctrl+\ ctrl+q ctrl+s` {
		t.Error(got)
	}
}

// A line longer than the 4,095 bytes that a terminal keeps when it is not raw arrives whole.
// A terminal for lines is told nothing, unless it marks pastes.
func TestOpenLines(t *testing.T) {
	for _, paste := range []bool{false, true} {
		w := takenBy(t, func(in, out *os.File) (*Terminal, error) { return OpenLines(in, out, paste) })
		w.types("hi\n")
		w.gets("enter")
		w.types(strings.Repeat("0123456789", 1000) + "\n") // longer than a line that the terminal edits
		n := 0
		for _, in := range w.gets("enter") { // it comes in parts
			switch in := in.(type) {
			case input.Paste:
				n += len(in.Text)
			case input.Key:
				n += len(in.Text)
			}
		}
		if n != 10_000 {
			t.Errorf("%d bytes came", n)
		}
		if err := w.term.Close(); err != nil {
			t.Error(err)
		}
		want := ""
		if paste {
			want = pasteOn + pasteOff
			w.shows(want)
		}
		if got := w.all(); got != want {
			t.Errorf("with paste %v it was told %q", paste, got)
		}
		if s := w.settings(); s.Lflag&unix.ICANON == 0 {
			t.Error("the terminal is still in raw mode")
		}
	}
}

func TestLongLine(t *testing.T) {
	w := takenTerminal(t)
	line := strings.Repeat("0123456789", 1000)
	w.types(line + "\r")
	var text strings.Builder
	for _, in := range w.gets("enter") {
		switch in := in.(type) {
		case input.Key:
			text.WriteString(in.Text)
		case input.Paste:
			text.WriteString(in.Text)
		}
	}
	if text.String() != line {
		t.Errorf("%d of %d bytes arrived", text.Len(), len(line))
	}
}

func TestBigPaste(t *testing.T) {
	w := takenTerminal(t)
	var b strings.Builder
	for i := 0; b.Len() < 300_000; i++ {
		fmt.Fprintf(&b, "line %d of a paste, 日本語\r", i)
	}
	w.types("\x1b[200~" + b.String() + "\x1b[201~!")
	in := w.gets("!")
	p, ok := in[0].(input.Paste)
	if want := strings.ReplaceAll(b.String(), "\r", "\n"); !ok || len(in) != 2 || p.Text != want {
		t.Errorf("%d inputs, the first of %d bytes, want %d", len(in), len(p.Text), len(want))
	}
}

// Without bracketed paste, no line of a paste but the last one can be sent.
func TestPasteWithoutMarks(t *testing.T) {
	w := takenTerminal(t)
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "line %d of 60 without marks, %s\r", i, strings.Repeat("x", 100))
	}
	w.types(b.String())
	in := w.gets("enter")
	for _, i := range in[:len(in)-1] {
		if k, ok := i.(input.Key); ok && k.Code == input.Enter {
			t.Fatalf("Enter comes within the paste: %.300s", names(in))
		}
	}
}

func TestAbout(t *testing.T) {
	w := takenTerminal(t)
	if a := w.term.About(); a != (About{}) {
		t.Errorf("a terminal that has said nothing: %+v", a)
	}
	w.shows("\x1b[c")
	w.types("\x1b[?2026;2$y\x1b[?2027;2$y\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1bP>|WezTerm 1\x1b\\\x1b[?62c.")
	w.gets(".")
	want := About{Name: "WezTerm 1", Background: Colour{0x1e, 0x1e, 0x2e}, Known: true, Clusters: true, sync: true}
	if a := w.term.About(); a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
	w.shows("\x1b[?2027h")
	w.term.Close()
	w.shows("\x1b[?2027l")
	for text, want := range map[string]About{
		"\x1bP>|XTerm(379)\x1b\\\x1b[?64c":                 {Name: "XTerm(379)", Cuts: true, NoSync: true},
		"\x1b[?2026;0$y\x1b[?1;2c":                         {NoSync: true},
		"\x1b]11;rgb:ff/ff/fg\a":                           {},
		"\x1bP>|kitty(0.36)\x1b\\\x1b_Gi=31;OK\x1b\\":      {Name: "kitty(0.36)", Pictures: true},
		"\x1bP>|kitty(0.36)\x1b\\\x1b_Gi=31;ENODATA\x1b\\": {Name: "kitty(0.36)"},
		"\x1bP>|WezTerm 1\x1b\\\x1b_Gi=31;OK\x1b\\":        {Name: "WezTerm 1"}, // it knows no placeholders
		"\x1b]11;rgba:ff/ff/ff/ff\a":                       {Background: Colour{255, 255, 255}, Known: true},
	} {
		var a About
		_, replies := (&Decoder{}).decode([]byte(text))
		for _, r := range replies {
			a.learn(r)
		}
		if a != want {
			t.Errorf("%q: %+v, want %+v", text, a, want)
		}
	}
	if !(Colour{0x1e, 0x1e, 0x2e}).Dark() || (Colour{255, 255, 255}).Dark() {
		t.Error("dark is light")
	}
}

// The terminal is as before after Close, and after a panic.
func TestRestore(t *testing.T) {
	for name, end := range map[string]func(*window){
		"close": func(w *window) { w.term.Close() },
		"panic": func(w *window) {
			defer func() {
				if recover() != "broken" {
					t.Error("the panic is lost")
				}
			}()
			defer w.term.Rescue()
			panic("broken")
		},
		"page": func(w *window) {
			if err := w.term.Page([]string{"one", "two"}); err != nil {
				t.Error(err)
			}
			w.shows("two")
			w.term.Close()
			w.shows("\x1b[?1049l")
		},
	} {
		t.Run(name, func(t *testing.T) {
			control, tty := termtest.Open(t, 80, 24)
			before := (&window{t: t, tty: tty}).settings()
			control.Close()
			w := takenTerminal(t)
			if w.settings() == before {
				t.Error("the terminal is not raw")
			}
			w.term.Paint(frame.Frame{Live: []string{"> half a line", "status"}})
			w.shows("status")
			end(w)
			w.shows("\x1b[<u\x1b[?1004l\x1b[?2004l")
			if after := w.settings(); after != before {
				t.Errorf("%+v, before %+v", after, before)
			}
		})
	}
}

// While another program has the terminal, the UI takes none of its keys.
func TestOutside(t *testing.T) {
	w := takenTerminal(t)
	raw := w.settings()
	w.term.Paint(frame.Frame{Live: []string{"> draft", "status"}})
	err := w.term.Outside(func(in, _ *os.File) error {
		if w.settings() == raw {
			t.Error("the other program gets a raw terminal")
		}
		w.types("for the editor\n")
		b := make([]byte, 100)
		n, err := in.Read(b)
		if string(b[:n]) != "for the editor\n" {
			t.Errorf("the other program reads %q", b[:n])
		}
		return err
	})
	if err != nil || w.settings() != raw {
		t.Errorf("%v; raw: %v", err, w.settings() == raw)
	}
	w.types("x")
	w.gets("x")
}

// At the end of a terminal the inputs end.
func TestEndOfTerminal(t *testing.T) {
	control, tty := termtest.Open(t, 80, 24)
	terminal, err := Open(tty, tty)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	control.Close()
	select {
	case _, ok := <-terminal.Inputs():
		if ok {
			t.Error("something was typed")
		}
	case <-time.After(time.Minute):
		t.Error("the inputs do not end")
	}
}

func TestPaintsOnce(t *testing.T) {
	w := takenTerminal(t)
	f := frame.Frame{Above: []string{"history"}, Live: []string{"> "}, Caret: frame.Caret{Byte: 2}}
	w.term.Paint(f)
	w.shows("history\r\n")
	f.Above = nil
	before := w.all()
	w.term.Paint(f)
	termtest.SetSize(t, w.control, 40, 10)
	w.term.Paint(frame.Frame{Live: []string{"> x"}})
	w.shows("> x")
	if added := strings.TrimPrefix(w.all(), before); strings.Count(added, syncOn) != 1 {
		t.Errorf("two frames, of which one changes something, are %q", added)
	}
}

func TestTell(t *testing.T) {
	w := takenTerminal(t)
	w.term.Title("? my\x1b]0;evil\aproject")
	w.shows("\x1b[22;2t\x1b]2;? my␛]0;evil␇project\x1b\\")
	w.term.Notify("openagent", "a question")
	w.shows("\a")
	w.term.Copy("copied")
	w.shows("\x1b]52;c;Y29waWVk\x1b\\")
	w.term.Close()
	w.shows("\x1b[23;2t")
	for name, want := range map[string]string{
		"":              "\a",
		"tmux 3.4":      "\a",
		"WezTerm 1":     "\x1b]9;a: b;c\x1b\\",
		"ghostty 1.2":   "\x1b]9;a: b;c\x1b\\",
		"foot(1.16.2)":  "\x1b]777;notify;a;b;c\x1b\\",
		"VTE(7600)":     "\x1b]777;notify;a;b;c\x1b\\",
		"kitty(0.36.4)": "\x1b]9;a: b;c\x1b\\",
	} {
		if got := notification(name, "a", "b;c"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

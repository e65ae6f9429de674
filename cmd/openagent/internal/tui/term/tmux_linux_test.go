package term

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
)

// The test program is the program in the terminal, too, if a variable says which.
const programVariable = "TERM_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(programVariable) {
	case "stream":
		stream()
	case "frames":
		frames()
	default:
		goleak.VerifyTestMain(m)
	}
}

func startProgram(t *testing.T, w, h int, name string) *termtest.Tmux {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return termtest.StartTmux(t, w, h, t.TempDir(), "'"+self+"'", programVariable+"="+name)
}

const streamed = 200

// stream shows an answer that comes line by line, above an input and a status line.
func stream() {
	t, err := Open(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	signals := WatchSignals()
	text, half, pastes := "", "", 0
	n := 0
	var resized time.Time
	tick := time.NewTicker(5 * time.Millisecond)
	show := func(above ...string) {
		w, _, _ := t.Size()
		cut := func(s string) string { return string([]rune(s)[:min(len([]rune(s)), w)]) }
		f := frame.Frame{Above: above, Live: []string{cut(half), cut(strings.Repeat("─", w)), cut("❯ " + text), cut(fmt.Sprintf("  line %d of %d · esc stops · %d pasted", n, streamed, pastes))}}
		f.Caret = frame.Caret{Line: 2, Byte: len(f.Live[2])}
		t.Paint(f)
	}
	for {
		select {
		case batch, ok := <-t.Inputs():
			if !ok {
				return
			}
			for _, in := range batch {
				switch in := in.(type) {
				case input.Key:
					switch in.String() {
					case "ctrl+c":
						t.Close()
						fmt.Println("left")
						return
					case "ctrl+z":
						t.Suspend(signals)
					case "enter":
						show("sent: " + text)
						text = ""
					default:
						text += in.Text
					}
				case input.Paste:
					pastes += len(in.Text)
				}
			}
			if resized.IsZero() {
				show()
			}
		case <-signals.Resized:
			t.Repaint()
			resized = time.Now()
		case <-tick.C:
			if time.Since(resized) < 300*time.Millisecond { // tmux may have another size already
				break
			}
			if !resized.IsZero() {
				resized = time.Time{}
				show()
			}
			if n < streamed {
				half = fmt.Sprintf("para: line number %d of a long answer is still being written", n+1)
				if rand.IntN(2) == 0 {
					n++
					half = ""
					show(fmt.Sprintf("para: line number %d of a long answer", n), "")
					break
				}
				show()
			}
		}
	}
}

var lineNumber = regexp.MustCompile(`para: line number (\d+) of a long answer$`)

// checkStreamed checks that every streamed line is there once, in order.
func checkStreamed(t *testing.T, m *termtest.Tmux) {
	t.Helper()
	var found []string
	for _, l := range m.Lines() {
		if hit := lineNumber.FindStringSubmatch(l); hit != nil {
			found = append(found, hit[1])
		}
	}
	var want []string
	for i := range streamed {
		want = append(want, fmt.Sprint(i+1))
	}
	if !slices.Equal(found, want) {
		t.Errorf("%d of %d lines are there, or not in order: %v\n%s", len(found), streamed, found, strings.Join(m.Lines(), "\n"))
	}
}

var sizes = [][2]int{{118, 40}, {90, 40}, {60, 40}, {140, 40}, {100, 30}, {100, 20}, {100, 50}, {100, 40}}

// All lines survive eight sizes, and nothing but they and the live region is there.
func TestTmuxSizes(t *testing.T) {
	t.Parallel()
	m := startProgram(t, 100, 40, "stream")
	m.Sees("line 200 of 200")
	for _, s := range sizes {
		m.Resize(s[0], s[1])
		m.Until(fmt.Sprintf("the live region is there once, %d wide", s[0]), func() bool {
			all := m.Lines()
			return slices.Contains(all, strings.Repeat("─", s[0])) && strings.Count(strings.Join(all, "\n"), "─\n") == 1 && strings.HasPrefix(all[len(all)-1], "  line 200 of 200")
		})
		checkStreamed(t, m)
	}
	m.Keys("C-c")
	m.Sees("left")
}

// The same while the answer comes, from the top of an empty window on.
func TestTmuxSizesWhileStreaming(t *testing.T) {
	t.Parallel()
	m := startProgram(t, 100, 40, "stream")
	m.Sees("esc stops") // before, the program does not wait for tmux, see above
	for i := 0; ; i++ {
		s := sizes[i%len(sizes)]
		m.Resize(s[0], s[1])
		time.Sleep(time.Duration(i%5*i%5) * 40 * time.Millisecond)
		if i%5 == 4 {
			m.Settles()
		}
		if strings.Contains(m.Screen(), "line 200 of 200") {
			break
		}
	}
	checkStreamed(t, m)
}

func TestTmuxInput(t *testing.T) {
	t.Parallel()
	m := startProgram(t, 80, 24, "stream")
	m.Sees("esc stops")
	m.Type("hello 日本語 \U0001f468\u200d\U0001f469\u200d\U0001f467!")
	m.Sees("❯ hello 日本語")
	m.Keys("Enter")
	m.Sees("sent: hello 日本語")
	big := strings.Repeat("0123456789 of a big paste\n", 4000)
	m.Paste(big)
	m.Sees(fmt.Sprintf("%d pasted", len(big)))
	m.Keys("C-c")
	m.Sees("left")
}

// Ctrl-Z gives the terminal to the shell, and the UI goes on below what the shell has shown.
func TestTmuxSuspend(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := termtest.StartTmux(t, 80, 24, t.TempDir(), "env PS1='$ ' HISTFILE= bash --norc -i")
	m.Sees("$")
	m.Type(programVariable + "=stream '" + self + "'")
	m.Keys("Enter")
	m.Sees("line 200 of 200")
	m.Type("a draft")
	m.Sees("❯ a draft")
	m.Keys("C-z")
	m.Sees("Stopped")
	m.Until("the live region has gone", func() bool { return !strings.Contains(m.Screen(), "esc stops") })
	m.Type("echo in the $((20+1))st shell")
	m.Keys("Enter")
	m.Sees("in the 21st shell")
	m.Type("fg")
	m.Keys("Enter")
	m.Sees("❯ a draft")
	m.Type("!")
	m.Sees("❯ a draft!")
	checkStreamed(t, m)
	m.Keys("C-c")
	m.Sees("left")
	m.Type("echo the line is $(stty | grep -c icanon)edited")
	m.Keys("Enter")
	m.Sees("edited")
}

// old are texts whose width tmux has known for long.
var old = []string{"a", "bc", " ", "  ", "word ", "─", "日本", "語", "\x1b[1mbold\x1b[m", "\x1b[31mred \x1b[4mline", "\x1b[m", "\x1b[48;2;1;2;3mback\x1b[m", "한국"}

// frames paints random frames, one for each size that is typed: 80x24 and a blank.
func frames() {
	t, err := Open(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	g := &generator{Rand: rand.New(rand.NewPCG(7, 7)), from: old}
	typed := ""
	for batch := range t.Inputs() {
		for _, in := range batch {
			k, _ := in.(input.Key)
			if typed += k.Text; k.Text != " " {
				continue
			}
			w, h := 0, 0
			for fmt.Sprintf("%dx%d ", w, h) != typed { // tmux takes its time to tell
				w, h, _ = t.Size()
				time.Sleep(time.Millisecond)
			}
			typed = ""
			t.Repaint()
			t.Paint(g.frame(w, 4))
		}
	}
}

// The terminal for tests shows what tmux shows, whatever is painted and however the size
// changes.
func TestTmuxIsTheTestTerminal(t *testing.T) {
	t.Parallel()
	m := startProgram(t, 50, 24, "frames")
	g := &generator{Rand: rand.New(rand.NewPCG(7, 7)), from: old}
	s := newScreen(t, 50, 24)
	same := func(when string) {
		t.Helper()
		x, y := s.Cursor()
		m.Until(fmt.Sprintf("%s: the cursor is at %d, %d, and the lines are\n%s", when, x, y, strings.Join(s.Lines(), "\n")), func() bool {
			mx, my := m.Cursor()
			return mx == x && my == y && slices.Equal(m.Lines(), s.Lines())
		})
	}
	size := rand.New(rand.NewPCG(8, 8))
	for i := range 60 {
		w, h := s.Size()
		m.Type(fmt.Sprintf("%dx%d ", w, h))
		s.p.Repaint()
		s.paint(g.frame(w, 4))
		same(fmt.Sprintf("frame %d", i))
		if i%4 == 3 {
			w, h = 20+size.IntN(60), 20+size.IntN(12)
			m.Resize(w, h)
			s.Resize(w, h)
			same(fmt.Sprintf("%dx%d after frame %d", w, h, i))
		}
	}
}

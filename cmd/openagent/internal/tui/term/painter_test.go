package term

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
)

// A screen is a painter and the terminal that it paints.
type screen struct {
	*termtest.Terminal
	p Painter
}

func newScreen(t *testing.T, w, h int) *screen { return &screen{Terminal: termtest.New(t, w, h)} }

// paint shows a frame and returns the bytes that it took.
func (s *screen) paint(f frame.Frame) string {
	w, h := s.Size()
	b := s.p.Paint(nil, f, w, h)
	s.Write(b)
	return string(b)
}

func live(lines ...string) frame.Frame {
	return frame.Frame{Live: lines, Caret: frame.Caret{Byte: len(lines[0])}}
}

func wantLines(t *testing.T, s *screen, want ...string) {
	t.Helper()
	if got := s.Lines(); !slices.Equal(got, want) {
		t.Errorf("the terminal shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPaint(t *testing.T) {
	s := newScreen(t, 20, 6)
	s.paint(frame.Frame{Above: []string{"one", "two"}, Live: []string{"> ab", "status"}, Caret: frame.Caret{Byte: 3}})
	wantLines(t, s, "one", "two", "> ab", "status")
	if x, y := s.Cursor(); x != 3 || y != 2 {
		t.Errorf("the cursor is at %d, %d", x, y)
	}
	s.paint(frame.Frame{Above: []string{strings.Repeat("long ", 9)}, Live: []string{"text", "> abc", "status", "more"}, Caret: frame.Caret{Line: 1, Byte: 5}})
	wantLines(t, s, "one", "two", strings.TrimSpace(strings.Repeat("long ", 9)), "text", "> abc", "status", "more")
	if x, y := s.Cursor(); x != 5 || y != 3 {
		t.Errorf("the cursor is at %d, %d", x, y)
	}
	s.paint(live("> "))
	wantLines(t, s, "one", "two", strings.TrimSpace(strings.Repeat("long ", 9)), ">")
	s.Write(s.p.Erase(nil, 20))
	wantLines(t, s, "one", "two", strings.TrimSpace(strings.Repeat("long ", 9)))
	s.Write([]byte("of another program\r\n"))
	s.paint(live("> again"))
	wantLines(t, s, "one", "two", strings.TrimSpace(strings.Repeat("long ", 9)), "of another program", "> again")
}

// Nothing is written if nothing changes.
func TestNothingToPaint(t *testing.T) {
	s := newScreen(t, 20, 6)
	f := live("> ", "status")
	s.paint(f)
	if b := s.paint(f); b != "" {
		t.Errorf("the same frame again takes %q", b)
	}
	s.p.Repaint()
	if b := s.paint(f); b == "" {
		t.Error("Repaint writes nothing")
	}
	s.Resize(20, 7)
	if b := s.paint(f); b == "" {
		t.Error("another size writes nothing")
	}
}

func TestChanges(t *testing.T) {
	const sync = len(syncOn + syncOff)
	for _, c := range []struct {
		name, old, line string
		max             int // bytes
	}{
		{"text grows", "I read the project and run", "I read the project and run its tests", 20},
		{"a spinner turns", "⠋ working on it, esc stops it", "⠙ working on it, esc stops it", 12},
		{"a spinner turns behind blanks", "    ⠋ Bash  go test ./...", "    ⠙ Bash  go test ./...", 14},
		{"a counter in the middle", "working 1:12 · esc stops · ctx 14 % of 200k", "working 1:13 · esc stops · ctx 14 % of 200k", 14},
		{"a style in the middle", "a \x1b[31mred\x1b[m word and a long rest of the line", "a \x1b[32mred\x1b[m word and a long rest of the line", 24},
		{"text gets shorter", "the same text, but longer", "the same text", 14},
		{"blanks at the end", "\x1b[1mwork\x1b[m" + strings.Repeat(" ", 40), "\x1b[1mworking\x1b[m" + strings.Repeat(" ", 37), 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScreen(t, 60, 6)
			s.paint(frame.Frame{Live: []string{c.old, "> "}, Caret: frame.Caret{Line: 1, Byte: 2}})
			b := s.paint(frame.Frame{Live: []string{c.line, "> "}, Caret: frame.Caret{Line: 1, Byte: 2}})
			wantStyled(t, s, []string{c.line, "> "})
			if got := len(b) - sync - len(save+restore+"\x1b[A"); got > c.max {
				t.Errorf("%d bytes, want at most %d: %q", got, c.max, b)
			}
		})
	}
}

// wantStyled checks the lines of a terminal and their styles.
func wantStyled(t *testing.T, s *screen, want []string) {
	t.Helper()
	expected := termtest.New(t, 1000, len(want)+1)
	for _, l := range want {
		expected.Write([]byte(l + reset + "\r\n"))
	}
	if got, want := s.Styled(), expected.Styled(); !slices.Equal(got, want) {
		t.Fatalf("the terminal shows\n%q\nwant\n%q", got, want)
	}
}

// A frame never reaches the terminal with sequences other than styles.
func TestSanitized(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"\x1b[1;31mred\x1b[m":   "\x1b[1;31mred\x1b[m",
		"a\x1b[2Jb":             "a\ufffd[2Jb",
		"a\x1b]52;c;aGk=\x07b":  "a\ufffd]52;c;aGk=\ufffdb",
		"tab\there, \r\nline":   "tab\ufffdhere, \ufffd\ufffdline",
		"\u009b31m, \x7f, \xff": "\ufffd31m, \ufffd, \ufffd",
	} {
		if got := sanitized([]string{"first", in}); got[1] != want || got[0] != "first" {
			t.Errorf("%q: %q, want %q", in, got[1], want)
		}
	}
}

// A generator of frames.
type generator struct {
	*rand.Rand
	next  int // the number of the next history line
	live  []string
	caret frame.Caret
	from  []string // what texts are made of
}

var pieces = []string{"a", "bc", " ", "  ", "word ", "─", "◐", "日本", "語", "e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "❤\ufe0f",
	"\x1b[1mbold\x1b[m", "\x1b[31mred \x1b[4mline", "\x1b[m", "\x1b[48;2;1;2;3mback\x1b[m", "\U0001f1e9\U0001f1ea", "한국", "x\u0308y"}

// text returns a line of at most width cells.
func (g *generator) text(width int) string {
	var b strings.Builder
	for range g.IntN(12) {
		p := g.from[g.IntN(len(g.from))]
		if frame.Width(b.String()+p) > width {
			break
		}
		b.WriteString(p)
	}
	return b.String()
}

// edited returns a line that resembles another one.
func (g *generator) edited(line string, width int) string {
	cut := g.cut(line)
	switch g.IntN(4) {
	case 0:
		return g.text(width)
	case 1:
		line = line[:cut] + g.from[g.IntN(len(g.from))] + line[cut:]
	case 2:
		line = line[:cut]
	default:
		line += g.from[g.IntN(len(g.from))]
	}
	for frame.Width(line) > width {
		line = line[:g.cut(line)]
	}
	return line
}

// cut returns where a line can be cut: between clusters.
func (g *generator) cut(line string) int {
	var at []int
	for i := 0; i < len(line); {
		at = append(at, i)
		if n := sequence(line[i:]); line[i] == 0x1b && n > 1 {
			i += n
			continue
		}
		i += cluster(line[i:])
	}
	return append(at, len(line))[g.IntN(len(at)+1)]
}

// frame returns the next frame for a terminal.
func (g *generator) frame(width, rows int) frame.Frame {
	var f frame.Frame
	for range max(g.IntN(5)-2, 0) {
		f.Above = append(f.Above, fmt.Sprintf("<%d> ", g.next)+g.text(3*width))
		g.next++
	}
	for i := range g.live {
		for frame.Width(g.live[i]) > width {
			g.live[i] = g.live[i][:g.cut(g.live[i])]
		}
	}
	switch g.IntN(3) {
	case 0:
		g.live = slices.Insert(g.live, g.IntN(len(g.live)+1), g.text(width))
	case 1:
		if len(g.live) > 1 {
			i := g.IntN(len(g.live))
			g.live = slices.Delete(g.live, i, i+1)
		}
	}
	if len(g.live) == 0 {
		g.live = []string{g.text(width)}
	}
	g.live = g.live[:min(len(g.live), rows)]
	for range g.IntN(3) {
		i := g.IntN(len(g.live))
		g.live[i] = g.edited(g.live[i], width)
	}
	g.caret.Line = min(g.caret.Line, len(g.live)-1)
	if g.IntN(2) == 0 {
		g.caret.Line = g.IntN(len(g.live))
		g.caret.Byte = g.cut(g.live[g.caret.Line])
	}
	if line := g.live[g.caret.Line]; !slices.Contains(boundaries(line), g.caret.Byte) {
		g.caret.Byte = len(line)
	}
	f.Live, f.Caret = slices.Clone(g.live), g.caret
	return f
}

func boundaries(line string) []int {
	at := []int{}
	for i := 0; i < len(line); {
		at = append(at, i)
		if n := sequence(line[i:]); line[i] == 0x1b && n > 1 {
			i += n
			continue
		}
		i += cluster(line[i:])
	}
	return append(at, len(line))
}

// runs paints random frames on a terminal whose size changes, and calls check after each.
func runs(t *testing.T, filled bool, check func(t *testing.T, s *screen, f frame.Frame, history []string)) {
	seeds := 100
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := &generator{Rand: rand.New(rand.NewPCG(uint64(seed), 1)), from: pieces}
			w, h := 20+g.IntN(60), 20+g.IntN(12)
			s := newScreen(t, w, h)
			var history []string
			for range 40 {
				if filled {
					history = append(history, fmt.Sprintf("before %d", len(history)))
					s.Write([]byte(history[len(history)-1] + "\r\n"))
				}
			}
			for range 60 {
				if g.IntN(4) == 0 {
					for range 1 + g.IntN(2) {
						w, h = 20+g.IntN(60), 20+g.IntN(12)
						s.Resize(w, h)
						s.p.Repaint()
					}
				}
				f := g.frame(w, 4)
				s.paint(f)
				history = append(history, f.Above...)
				check(t, s, f, history)
				x, _ := s.Cursor()
				if want := frame.Width(f.Live[f.Caret.Line][:f.Caret.Byte]); x != want && (x != w-1 || want != w) {
					t.Fatalf("the cursor is at %d, want %d in %q", x, want, f.Live[f.Caret.Line])
				}
			}
		})
	}
}

// Whatever is painted and however the terminal is resized, it holds every line of history
// once, in order, and then the live region alone.
func TestPainterHolds(t *testing.T) {
	runs(t, true, func(t *testing.T, s *screen, f frame.Frame, history []string) {
		wantStyled(t, s, slices.Concat(history, f.Live))
	})
}

// tmux moves rows to its history if lines get more rows and the cursor is near the top of
// the screen. Then some of a live region may stay there, and still no line of history is
// lost or written twice.
func TestPainterHoldsAtTheTop(t *testing.T) {
	runs(t, false, func(t *testing.T, s *screen, f frame.Frame, history []string) {
		all := strings.Join(s.Lines(), "\n")
		last := -1
		for i := range history {
			mark := fmt.Sprintf("<%d>", i)
			at := strings.Index(all, mark)
			if strings.Count(all, mark) != 1 || at < last {
				t.Fatalf("line %d of the history is there %d times, or not in its place", i, strings.Count(all, mark))
			}
			last = at
		}
		expected := newScreen(t, 1000, len(f.Live)+1)
		for _, l := range f.Live {
			expected.Write([]byte(l + reset + "\r\n"))
		}
		if want := strings.Join(expected.Lines(), "\n"); !strings.HasSuffix(all, want) {
			t.Fatalf("the terminal shows\n%s\nwant at the end\n%s", all, want)
		}
	})
}

func TestPage(t *testing.T) {
	p := page{open: true, stale: true}
	for _, c := range []struct {
		rows []string
		want string
	}{
		{[]string{"one and another", "two", "three"}, "\x1b[1H\r\x1b[Kone and another\x1b[2H\r\x1b[Ktwo"},
		{[]string{"one and another", "two"}, ""},
		{[]string{"one and another one", "two"}, "\x1b[1H\r\x1b[15C one"},
		{[]string{"one and another one"}, "\x1b[2H\r\x1b[K"},
	} {
		if got := string(p.paint(nil, c.rows, 20, 2, true)); got != c.want {
			t.Errorf("%q: %q, want %q", c.rows, got, c.want)
		}
	}
	if got := string(p.paint(nil, []string{"x"}, 10, 2, false)); got != syncOn+"\x1b[1H\r\x1b[Kx\x1b[2H\r\x1b[K"+syncOff {
		t.Errorf("after a resize: %q", got)
	}
}

// Whatever a frame holds, no sequence but those of styles reaches the terminal.
func FuzzSanitized(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[1mbold\x1b[m", "\x1b[2J", "\x1b]52;c;aGk=\a", "\u009b31m", "\x1b[1", "\xff\x1b", "\x1b[38:2::1:2:3m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := sanitized([]string{s})[0]
		if !utf8.ValidString(out) || !clean(out) {
			t.Fatalf("%q becomes %q", s, out)
		}
		b := (&Painter{Plain: true}).Paint(nil, frame.Frame{Above: []string{s}, Live: []string{s}, Caret: frame.Caret{Byte: len(s) / 2}}, 20, 5)
		if rest := strings.NewReplacer("\r", "", "\n", "", save, "", restore, "").Replace(string(b)); strings.ContainsFunc(rest, func(r rune) bool {
			return r != 0x1b && (r < 0x20 || 0x7f <= r && r < 0xa0)
		}) || !utf8.Valid(b) {
			t.Fatalf("%q is painted as %q", s, b)
		}
	})
}

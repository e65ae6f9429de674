package draw

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// BenchmarkDelta is a piece of an answer: its share of a frame included, if a thousand pieces
// come in a second.
func BenchmarkDelta(b *testing.B) {
	s := &stage{m: ui.New(100, 40), w: 100, h: 40, now: time.Unix(1_900_000_000, 0), frames: map[string]string{}}
	s.do("prompt", "go")
	i := 0
	for b.Loop() {
		piece := "word "
		if i%200 == 199 {
			piece = "\n\n"
		}
		s.do("text", piece)
		if i++; i%33 == 0 {
			f, p := Frame(s.m, s.w, s.h, Theme{})
			_ = f
			s.put(p)
		}
	}
}

// BenchmarkKey is a key and the frame that shows it, in a long session.
func BenchmarkKey(b *testing.B) {
	s := &stage{m: ui.New(100, 40), w: 100, h: 40, now: time.Unix(1_900_000_000, 0), frames: map[string]string{}}
	for range 2500 {
		s.do("prompt", "go")
		s.do("answer", strings.Repeat("words of an answer ", 20)+` | Bash {"command":"ls"}`)
		s.do("result", "0 t: output")
		f, p := Frame(s.m, s.w, s.h, Theme{})
		_ = f
		s.put(p)
	}
	for b.Loop() {
		s.put(input.Key{Code: 'x', Text: "x"})
		s.put(input.Key{Code: input.Backspace})
		Frame(s.m, s.w, s.h, Theme{})
	}
}

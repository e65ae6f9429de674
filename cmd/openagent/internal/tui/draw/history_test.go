package draw

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
)

// Every word of a session is in the history of the terminal once, whatever the pieces in which
// it comes, and whatever the person does with the window and the keys meanwhile.
func TestHistoryHoldsEachLineOnce(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := &stage{t: t, m: ui.New(80, 24), w: 80, h: 24, frames: map[string]string{}}
		s.put(ui.Facts{Version: "0.3"})
		var words []string
		word := func() string {
			w := fmt.Sprintf("w%dq", len(words))
			words = append(words, w)
			return w
		}
		for range 6 {
			s.do("prompt", word())
			for range 1 + r.IntN(3) {
				var text strings.Builder
				for range r.IntN(30) {
					piece := word() + []string{" ", "\\n\\n", "\\n", "\\n- ", ". "}[r.IntN(5)]
					text.WriteString(piece)
					s.do("text", piece)
					if r.IntN(6) == 0 {
						s.w, s.h = 20+r.IntN(100), 8+r.IntN(40)
						s.put(input.Resize{W: s.w, H: s.h})
					}
					switch r.IntN(8) {
					case 0:
						s.do("output", word())
					case 1:
						s.do("type", "x")
					case 2:
						s.do("key", "backspace")
					}
					if r.IntN(2) == 0 {
						s.paint()
					}
				}
				s.do("answer", text.String()+` | Bash {"command":"`+word()+`"} | Bash {"command":"`+word()+`"}`)
				for _, n := range []string{"1", "0"} {
					s.do("start", n)
					s.paint()
					s.do("result", n+" t: "+word())
				}
				s.paint()
			}
			s.event(event.RunEnd{Reason: event.Completed})
			s.paint()
		}
		s.w, s.h = 100, 40
		s.paint()
		all := plainText(strings.Join(s.shown, "\n") + "\n")
		for _, w := range words {
			if n := strings.Count(all, w); n != 1 {
				t.Fatalf("seed %d: %s is in the history %d times\n%s", seed, w, n, all)
			}
		}
	}
}

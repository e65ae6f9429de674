package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
)

// markdown is a text with all that answers have.
const markdown = "# Findings\n\nThe build fails in **two** places. First `parse()` in *parser.go* never returns an error, so `main` prints nothing:\n\n" +
	"```go\nfunc parse(s string) (*Node, error) {\n\tif s == \"\" {\n\t\treturn nil, nil // should be an error\n\t}\n\treturn &Node{Text: strings.TrimSpace(s)}, nil\n}\n```\n\n" +
	"1. Return `ErrEmpty` there.\n2. Check it in `main`:\n   - print it\n   - exit with 2\n\n| file | lines | problem |\n|------|------:|------|\n| parser.go | 12 | missing error |\n| 日本語.go | 3 | wide names |\n\n" +
	"> A quote, with a [link](https://example.com/a/path?with=query) and ~~strike~~.\n\n- [x] read the files\n- [ ] fix them\n\nThen run `go test ./...`. Done.\n\n"

// An answer that is streamed takes few bytes of the terminal, and the terminal holds each of
// its paragraphs once.
func TestBytesPerPiece(t *testing.T) {
	const pieces, size = 10_000, 4
	text := []rune(strings.Repeat(markdown, pieces*size/len([]rune(markdown))+1))[:pieces*size]
	for _, c := range []struct{ perSecond, most int }{{1000, 20}, {100, 45}} {
		t.Run(fmt.Sprint(c.perSecond, " a second"), func(t *testing.T) {
			w, h := 100, 40
			screen := termtest.New(t, w, h)
			var p term.Painter
			m, now, next := ui.New(w, h), time.Unix(1_800_000_000, 0), time.Time{}
			apply := func(data any) { m, _ = ui.Update(m, ui.Input{Time: now, Data: data}) }
			paint := func() {
				f, painted := draw.Frame(m, w, h, draw.Theme{Colours: true})
				screen.Write(p.Paint(nil, f, w, h))
				apply(painted)
			}
			apply(ui.Started{})
			paint()
			before := screen.Bytes
			for i := range pieces {
				now = now.Add(time.Second / time.Duration(c.perSecond))
				apply(event.Event{Time: now, Data: event.TextDelta{Text: string(text[size*i : size*i+size])}})
				if !now.Before(next) {
					paint()
					next = now.Add(frameTime)
				}
			}
			if got := float64(screen.Bytes-before) / pieces; got > float64(c.most) {
				t.Errorf("%.1f bytes for each piece, want at most %d", got, c.most)
			} else {
				t.Logf("%.1f bytes for each piece", got)
			}
			want := strings.Count(string(text), "The build fails in **two** places.")
			if got := strings.Count(strings.Join(screen.Lines(), "\n"), "The build fails in two places."); got != want {
				t.Errorf("a paragraph is there %d times, want %d", got, want)
			}
			paint()
			before = screen.Bytes
			paint()
			if screen.Bytes != before {
				t.Errorf("%d bytes are written though nothing changes", screen.Bytes-before)
			}
		})
	}
}

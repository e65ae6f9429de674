package draw

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Images of a result are shown where the terminal can, and named otherwise. A text cannot take the
// place of a picture.
func TestPictures(t *testing.T) {
	s := &stage{t: t, m: ui.New(60, 24), w: 60, h: 24, now: time.Date(2030, 1, 1, 14, 0, 0, 0, time.UTC), frames: map[string]string{}}
	s.do("prompt", "look")
	s.do("answer", `I look. \U0010eeee`+"\U0010eeee | Read {\"file_path\":\"a.png\"}")
	s.do("start", "0")
	s.put(ui.Pictures{Call: s.call("0"), List: []ui.Picture{{ID: 0x010203, Columns: 6, Rows: 2, Size: "60×40"}, {Size: "1200×800"}}})
	image := llm.Image{MediaType: "image/png", Data: make([]byte, 2048)}
	s.event(event.ToolResult{Call: s.call("0"), Result: tool.Result{Content: llm.Blocks{image, image, image}}})
	s.do("end", "completed")
	s.paint()
	all := strings.Join(s.shown, "\n")
	for _, want := range []string{
		"         \x1b[38;2;1;2;3m\U0010eeee\u0305\u0305" + strings.Repeat("\U0010eeee", 5) + "\x1b[m\n         \x1b[38;2;1;2;3m\U0010eeee\u030d\u0305",
		"[image 2 · 1200×800]", "[image 3 · image/png, 2.0 KB]",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%q", want, all)
		}
	}
	if n := strings.Count(all, "\U0010eeee"); n != 12 {
		t.Errorf("%d places of pictures", n)
	}
	if n := frame.Width("\U0010eeee\u030d\u0305\U0010eeee"); n != 2 {
		t.Errorf("two places take %d cells", n)
	}
}

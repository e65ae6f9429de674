package serve

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/session"
)

// The times that a person feels: until a long session is painted, and until a piece of an answer is in the
// page. It logs them, and fails on none: docs/performance.md has the limits.
func TestFiguresInBrowser(t *testing.T) {
	if os.Getenv("SERVE_FIGURES") == "" {
		t.Skip("set SERVE_FIGURES=1 to measure")
	}
	b := newBrowser(t)
	g := gated{make(chan string)}
	store := session.Dir(t.TempDir())
	longSession(t, store, 5000)
	s := newSite(t, agent.Agent{Model: g, Sessions: store}, func(s *Server) {
		s.User = func(*http.Request) (string, error) { return "ada", nil }
	})
	var painted []float64
	for range 20 {
		b.open("about:blank")
		b.open(s.http.URL + "/s/chat")
		b.until(`performance.getEntriesByName("first-contentful-paint").length > 0`)
		ms, err := strconv.ParseFloat(b.eval(`performance.getEntriesByName("first-contentful-paint")[0].startTime`), 64)
		if err != nil {
			t.Fatal(err)
		}
		painted = append(painted, ms)
	}
	t.Logf("a session of 10,000 messages is painted after %s", spread(painted))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b.until(`document.getElementById("net").textContent.startsWith("connected")`)
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"write"}`, 202, nil)
	var took []float64
	for i := range 30 {
		piece := fmt.Sprintf("word%d ", i)
		seen := `new Promise((done) => { const look = () => { if (document.getElementById("live").textContent.includes("` + piece + `")) done(performance.timeOrigin + performance.now()); else requestAnimationFrame(look) }; look() })`
		at := make(chan time.Time, 1)
		go func() {
			time.Sleep(100 * time.Millisecond) // the page looks by then
			at <- time.Now()
			select {
			case g.pieces <- piece:
			case <-ctx.Done():
			}
		}()
		ms, err := strconv.ParseFloat(b.eval(seen), 64)
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, ms-float64((<-at).UnixMicro())/1000)
	}
	g.pieces <- ""
	t.Logf("a piece of an answer is in the page after %s", spread(took))
}

// spread describes times in milliseconds.
func spread(ms []float64) string {
	slices.Sort(ms)
	return fmt.Sprintf("%.0f to %.0f ms, the median of %d is %.0f ms", ms[0], ms[len(ms)-1], len(ms), ms[len(ms)/2])
}

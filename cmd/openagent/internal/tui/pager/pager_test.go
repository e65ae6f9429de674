package pager

import (
	"flag"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// items folds facts.
func items(facts ...event.Data) []*view.Item {
	var s view.State
	for i, d := range facts {
		s.Apply(event.Event{Seq: int64(i + 1), Prev: int64(i), Data: d})
	}
	return s.Items
}

func prompt(text string) event.Data {
	return event.UserMessage{ID: text, Delivery: "prompt", Message: llm.UserText(text)}
}

func answer(key, text string, uses ...llm.ToolUse) event.Data {
	content := llm.Blocks{llm.Text{Text: text}}
	for _, u := range uses {
		content = append(content, u)
	}
	return event.AssistantMessage{Key: key, Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: content}}}
}

func result(call, text string) event.Data {
	return event.ToolResult{Call: call, Result: tool.Result{Content: llm.Blocks{llm.Text{Text: text}}}}
}

func bash(command string) llm.ToolUse {
	return llm.ToolUse{ID: "u", Name: "Bash", Input: []byte(fmt.Sprintf(`{"command":%q}`, command))}
}

// A program plays the program around a pager.
type program struct {
	t      *testing.T
	p      Pager
	pages  [][]*view.Item
	copied string
	closed bool
	loads  []int
	slow   bool // pages do not come by themselves
}

func (g *program) do(in ...Input) {
	for len(in) > 0 {
		var next []Input
		for _, i := range in {
			for _, a := range g.p.Update(i) {
				switch a := a.(type) {
				case Load:
					if g.loads = append(g.loads, a.Page); !g.slow {
						next = append(next, Loaded{a.Page, g.pages[a.Page]})
					}
				case Find:
					found := Found{Text: a.Text}
					for n, page := range g.pages {
						for i, it := range page {
							if Has(it, a.Text) {
								found.Hits = append(found.Hits, Hit{n, i})
							}
						}
					}
					next = append(next, found)
				case Refresh:
					next = append(next, Opened{Pages: len(g.pages)})
				case Copy:
					g.copied = a.Text
				case Close:
					g.closed = true
				}
			}
		}
		in = next
	}
}

func (g *program) keys(names ...string) {
	for _, name := range names {
		k, ok := input.Parse(name)
		if !ok {
			g.t.Fatalf("there is no key %q", name)
		}
		g.do(k)
	}
}

func (g *program) typed(text string) {
	for _, r := range text {
		g.do(input.Key{Code: r, Text: string(r)})
	}
}

func (g *program) screen() string {
	var b strings.Builder
	for _, r := range g.p.Draw() {
		b.WriteString(strings.TrimRight(r.Text(), " ") + "\n")
	}
	return b.String()
}

func (g *program) want(screen string) {
	g.t.Helper()
	if got := g.screen(); got != screen {
		g.t.Errorf("got:\n%s\nwant:\n%s", got, screen)
	}
}

func start(t *testing.T, w, h int, pages ...[]*view.Item) *program {
	g := &program{t: t, pages: pages}
	g.do(input.Resize{W: w, H: h}, Opened{Pages: len(pages)})
	return g
}

func small(t *testing.T) *program {
	return start(t, 50, 14, items(
		prompt("fix the tests"),
		answer("m1", "I run **them**.", bash("go test ./...")),
		result("c2.0", "ok\tpkg\nFAIL\x1b[31m other"),
		answer("m2", "Done:\n\n```go\nx := 1\n```\n\nand\n\n```sh\nls\n```"),
		event.RunEnd{Reason: event.Completed, Turns: 2},
	))
}

func TestScreen(t *testing.T) {
	g := small(t)
	g.want(`    $ go test ./...
    ok  pkg
    FAIL␛[31m other

  Done:

  x := 1

  and

  ls

▌ completed · 2 turns · 1 call · 0s
end
`)
	g.keys("g")
	g.want(`
▌ ❯ fix the tests

  I run them.

  ✓ Bash
    $ go test ./...
    ok  pkg
    FAIL␛[31m other

  Done:

  x := 1
80 %
`)
	g.do(input.Resize{W: 120, H: 4})
	g.want(`
▌ ❯ fix the tests

40 %                                              q back · / search · n N · tab item · enter fold · y copy · c copy code
`)
}

func TestCopy(t *testing.T) {
	g := small(t)
	g.keys("g", "tab", "y")
	if g.copied != "I run **them**." {
		t.Errorf("an answer: %q", g.copied)
	}
	g.keys("tab", "y")
	if want := "Bash\n$ go test ./...\n\nok\tpkg\nFAIL\x1b[31m other"; strings.ReplaceAll(g.copied, "\n\n", "\n") != strings.ReplaceAll(want, "\n\n", "\n") {
		t.Errorf("a call: %q", g.copied)
	}
	g.keys("c")
	if g.copied != "go test ./..." {
		t.Errorf("a command: %q", g.copied)
	}
	g.keys("tab")
	for _, want := range []string{"x := 1\n", "ls\n", "x := 1\n"} {
		if g.keys("c"); g.copied != want {
			t.Errorf("code: %q, want %q", g.copied, want)
		}
	}
	if g.do(input.Key{Text: "jkq"}); !g.closed {
		t.Error("keys that come at once do not leave")
	}
}

// A call shows its title if that says more than the input, and who denied it.
func TestCallHead(t *testing.T) {
	denied := result("c2.0", "no")
	r := denied.(event.ToolResult)
	r.Cause, r.Result.IsError, r.Result.Title = "denied", true, "Bash (exit 3)"
	g := start(t, 60, 12, items(prompt("x"), answer("m", "y", bash("rm z")),
		fact.Authorized{Call: "c2.0", Decision: permission.Decision{Behavior: permission.Denied, Reason: "a rule forbids it"}}, r))
	if s := g.screen(); !strings.Contains(s, "✗ Bash  (exit 3)") || !strings.Contains(s, "deny: a rule forbids it") {
		t.Errorf("%s", s)
	}
}

// long returns pages of a long session.
func long(pages, each int) [][]*view.Item {
	var out [][]*view.Item
	for p := range pages {
		var facts []event.Data
		for i := range each {
			n := p*each + i
			facts = append(facts, prompt(fmt.Sprintf("prompt %d", n)), answer(fmt.Sprint(n), fmt.Sprintf("Answer %d of it", n)))
		}
		out = append(out, items(facts...))
	}
	return out
}

func TestPages(t *testing.T) {
	g := start(t, 80, 20, long(50, 10)...)
	if !strings.Contains(g.screen(), "Answer 499 of it") || !strings.Contains(g.screen(), "end") {
		t.Errorf("it does not begin at the end:\n%s", g.screen())
	}
	if len(g.loads) > 3 {
		t.Errorf("it loads %v", g.loads)
	}
	for range 2000 {
		g.keys("up")
	}
	if s := g.screen(); !strings.Contains(s, "prompt 0\n") {
		t.Errorf("the beginning:\n%s", s)
	}
	if len(g.p.loaded) > 2*keptPages+1 || len(g.p.lines) > (2*keptPages+1)*20 {
		t.Errorf("it keeps %d pages and the lines of %d items", len(g.p.loaded), len(g.p.lines))
	}
	seen := map[string]bool{}
	for range 300 {
		for _, l := range strings.Split(g.screen(), "\n") {
			if _, n, ok := strings.Cut(l, "❯ "); ok {
				seen[n] = true
			}
		}
		g.keys("pagedown")
	}
	if len(seen) != 500 {
		t.Errorf("%d of 500 prompts were seen", len(seen))
	}
}

func TestSearch(t *testing.T) {
	g := start(t, 60, 12, long(20, 10)...)
	g.keys("/")
	g.typed("answer 77 ")
	g.keys("enter")
	if s := g.screen(); !strings.Contains(s, "Answer 77 of it") || !strings.Contains(s, "item 1 of 1") {
		t.Errorf("found:\n%s", s)
	}
	g.keys("/")
	g.typed("prompt 19")
	g.keys("enter", "n", "n")
	first := g.screen()
	if !strings.Contains(first, "prompt 19") {
		t.Errorf("n:\n%s", first)
	}
	g.keys("n")
	second := g.screen()
	g.keys("N")
	if g.screen() != first || first == second {
		t.Errorf("N after n:\n%s\nwant:\n%s", g.screen(), first)
	}
	g.keys("/")
	g.typed("not there")
	g.keys("enter")
	if s := g.screen(); !strings.Contains(s, "not found: not there") {
		t.Errorf("not found:\n%s", s)
	}
}

func TestFold(t *testing.T) {
	var out strings.Builder
	for i := range 200 {
		fmt.Fprintf(&out, "output line %d\n", i)
	}
	g := start(t, 60, 30, items(prompt("x"), answer("m", "y", bash("seq")), result("c2.0", out.String())))
	g.keys("end", "tab")
	if s := g.screen(); !strings.Contains(s, "… 180 more lines (enter)") || !strings.Contains(s, "line 199") {
		t.Errorf("folded:\n%s", s)
	}
	g.keys("enter")
	if s := g.screen(); strings.Contains(s, "more lines") || !strings.Contains(s, "line 10\n") {
		t.Errorf("unfolded:\n%s", s)
	}
	g.keys("enter", "/")
	g.typed("line 123")
	g.keys("enter")
	if s := g.screen(); !strings.Contains(s, "output line 123\n") {
		t.Errorf("a hit in hidden lines:\n%s", s)
	}
}

func TestWideLines(t *testing.T) {
	g := start(t, 40, 8, items(prompt("x"), answer("m", "y", bash("z")), result("c2.0", strings.Repeat("0123456789", 10)+"日本語")))
	if s := g.screen(); !strings.Contains(s, "▌   01234567890123456789012345678901234…\n") {
		t.Errorf("cut:\n%s", s)
	}
	g.keys("right", "right", "right", "right", "right")
	if s := g.screen(); !strings.Contains(s, "日本語") {
		t.Errorf("scrolled:\n%s", s)
	}
}

// An item is shown as soon as its page is there, unfolded: by its ID, by its call, or by a fact.
func TestGo(t *testing.T) {
	out := strings.Repeat("line\n", 40)
	for name, target := range map[string]Go{
		"id":   {Page: 1, ID: "m/u", Seq: 1},
		"call": {Page: 1, Call: "c2.0.3"},
		"fact": {Page: 1, Seq: 2},
	} {
		pages := long(3, 10)
		pages[1] = items(prompt("here"), answer("m", "I look.", bash("seq")), result("c2.0", out))
		g := start(t, 60, 12, pages...)
		g.slow = true
		g.do(target)
		g.do(Loaded{1, pages[1]})
		if s := g.screen(); !strings.Contains(s, "▌ ✓ Bash") || strings.Contains(s, "more lines") {
			t.Errorf("%s:\n%s", name, s)
		}
	}
}

// While pages are read, keys do no harm.
func TestSlowPages(t *testing.T) {
	g := start(t, 60, 12, long(20, 10)...)
	g.slow = true
	g.keys("g")
	if s := g.screen(); !strings.Contains(s, "loading") {
		t.Errorf("%s", s)
	}
	g.keys("down", "enter", "y", "c", "tab", "pagedown")
	g.do(Loaded{0, g.pages[0]})
	if s := g.screen(); !strings.Contains(s, "prompt 0\n") {
		t.Errorf("%s", s)
	}
	g.do(Failed{"reading session: gone"})
	if s := g.screen(); !strings.Contains(s, "gone") {
		t.Errorf("%s", s)
	}
}

// New facts are shown after a refresh, and the screen stays at the end.
func TestGrows(t *testing.T) {
	pages := long(2, 10)
	g := start(t, 60, 12, pages...)
	g.pages[1] = items(prompt("a"), answer("b", "the newest answer"))
	g.keys("end")
	if s := g.screen(); !strings.Contains(s, "the newest answer") {
		t.Errorf("%s", s)
	}
	g.pages = append(g.pages, items(prompt("c"), answer("d", "on a new page")))
	g.keys("end")
	if s := g.screen(); !strings.Contains(s, "on a new page") {
		t.Errorf("%s", s)
	}
}

// Whatever is pressed, the screen has its size and nothing in it drives the terminal.
func TestAnyKeys(t *testing.T) {
	names := strings.Fields("up down pageup pagedown home end left right tab shift+tab enter o y c / n N a 1 backspace esc g G enter enter")
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		g := start(t, 60, 15, append(long(6, 5), items(prompt("p\x1b[2J\u202e"), answer("m", "# h\n- a\n\x07", bash("a\nb")), result("c2.0", strings.Repeat("x\t\x9b\n", 100))))...)
		for range 200 {
			switch r.Intn(20) {
			case 0:
				g.do(input.Resize{W: 1 + r.Intn(100), H: 1 + r.Intn(40)})
			case 1:
				g.slow = !g.slow
				g.do(Opened{Pages: len(g.pages)})
			default:
				g.keys(names[r.Intn(len(names))])
			}
			rows := g.p.Draw()
			if len(rows) != g.p.height {
				t.Fatalf("%d rows on %d", len(rows), g.p.height)
			}
			for _, row := range rows {
				if w := frame.Width(row.Text()); w > max(g.p.width, margin+1) || strings.ContainsFunc(row.Text(), unicode.IsControl) {
					t.Fatalf("a row of %d cells on %d: %q", w, g.p.width, row.Text())
				}
			}
		}
	}
}

func TestMarks(t *testing.T) {
	g := start(t, 60, 10, items(prompt("one two one")))
	g.keys("/")
	g.typed("one")
	g.keys("enter")
	n := 0
	for _, r := range g.p.Draw() {
		for _, s := range r {
			if s.Attr&styled.Reverse != 0 && s.Text == "one" {
				n++
			}
		}
	}
	if n != 2 {
		t.Errorf("%d marks", n)
	}
}

func BenchmarkKey(b *testing.B) {
	g := start(nil, 100, 40, long(50, 100)...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		name := "up"
		if i/100%2 == 1 {
			name = "down"
		}
		g.keys(name)
		g.p.Draw()
	}
}

var update = flag.Bool("update", false, "rewrite the screen in docs/terminal.md")

// TestDocs writes the screen of docs/terminal.md.
func TestDocs(t *testing.T) {
	edited := result("c4.0", "edited").(event.ToolResult)
	edited.Duration, edited.Result.Title = 2*time.Millisecond, "Edit invoice.sh (+1 −1)"
	edited.Result.Details = []byte(`{"diff":"--- invoice.sh\n+++ invoice.sh\n@@ -2,2 +2,2 @@\n { sum += $2 * $3 }\n-END { print sum }\n+END { if (sum > 100) sum *= 0.9; print sum }\n"}`)
	g := start(t, 100, 24, items(
		prompt("make the tests pass"),
		answer("m1", "I run the tests first.", bash("sh test.sh")),
		result("c2.0", strings.Repeat("ok   t1.csv\n", 29)+"FAIL t2.csv: got 120.00, want 108.00\n1 failed"),
		answer("m2", "The discount is taken **per line** instead of once on the sum.",
			llm.ToolUse{ID: "e", Name: "Edit", Input: []byte(`{"file_path":"invoice.sh","old_string":"a","new_string":"b"}`)}),
		edited,
		answer("m3", "Now it is taken once."),
		event.RunEnd{Reason: event.Completed, Turns: 3, Duration: 3100 * time.Millisecond},
	))
	g.keys("shift+tab", "shift+tab")
	golden.Tables(t, filepath.Join("..", "..", "..", "..", "..", "docs", "terminal.md"), map[string]string{"whole": "```text\n" + g.screen() + "```\n"}, *update)
}

package timeview

import (
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

var start = time.Date(2030, 1, 1, 14, 0, 0, 0, time.UTC)

// A log applies facts at times from the start.
type log struct {
	*timeline.State
	seq int64
}

func (l *log) add(at float64, d event.Data) int64 {
	l.seq++
	l.Apply(event.Event{Seq: l.seq, Prev: l.seq - 1, Time: start.Add(time.Duration(at * float64(time.Second))), Data: d})
	return l.seq
}

func (l *log) answer(from, to float64, uses ...llm.ToolUse) (call func(int) string) {
	key, cost := fmt.Sprint("k", l.seq), 0.0205
	l.add(from, fact.ModelStart{Key: key, Model: "claude-sonnet-4-6"})
	m := event.AssistantMessage{Key: key, CostUSD: &cost, Response: llm.Response{Usage: llm.Usage{Input: 6100, CacheRead: 22_000, Output: 400}}}
	for _, u := range uses {
		m.Response.Message.Content = append(m.Response.Message.Content, u)
	}
	seq := l.add(to, m)
	return func(i int) string { return fmt.Sprintf("c%d.%d", seq, i) }
}

func (l *log) tool(call string, from, to float64, failed bool) {
	l.add(from, event.ToolStart{Call: call})
	l.add(to, event.ToolResult{Call: call, Result: tool.Result{IsError: failed}})
}

func use(name, input string) llm.ToolUse {
	return llm.ToolUse{ID: name, Name: name, Input: []byte(input)}
}

// session is the one of the picture: tests fail, two agents look for the cause, a person is
// asked. The second run is a day later, and works until 110 s.
func session() *timeline.State {
	main := &log{State: new(timeline.State)}
	main.add(0, event.UserMessage{Delivery: "prompt"})
	call := main.answer(0, 8, use("Bash", `{"command":"sh test.sh"}`))
	main.tool(call(0), 8, 11, true)
	main.add(11, fact.ModelStart{Key: "f", Model: "claude-sonnet-4-6"})
	main.add(14, event.ModelFailed{Key: "f", Model: "claude-sonnet-4-6", Message: "connection reset", Retry: true})
	call = main.answer(18, 26, use("Agent", `{"prompt":"read the code"}`), use("Task", `{"prompt":"read the specification"}`))
	main.add(26, event.ToolStart{Call: call(0)})
	main.add(26, event.ToolStart{Call: call(1)})
	main.add(26, event.AgentStart{Key: "a", Session: "a", Agent: "code-reader", Call: call(0)})
	main.add(26, event.AgentStart{Key: "b", Session: "b", Agent: "spec-reader", Call: call(1)})
	for i, a := range main.Agents() {
		child := &log{State: &a.State}
		child.add(26, event.UserMessage{Delivery: "prompt"})
		found := child.answer(26, 30+float64(i), use("Grep", `{"pattern":"round"}`))
		child.tool(found(0), 30+float64(i), 33+float64(i), false)
		child.answer(33+float64(i), 38+4*float64(i))
		child.add(38+4*float64(i), event.RunEnd{})
		main.add(38+4*float64(i), event.AgentEnd{Key: a.Session, Session: a.Session})
		main.add(38+4*float64(i), event.ToolResult{Call: call(i)})
	}
	call = main.answer(42, 50, use("Edit", `{"file_path":"invoice.sh"}`))
	main.add(50, fact.Authorized{Call: call(0), Decision: permission.Decision{Behavior: permission.Asked}})
	main.add(70, fact.Answered{Call: call(0), Decision: permission.Decision{Behavior: permission.Allowed}})
	main.tool(call(0), 70, 70.1, false)
	main.answer(70.1, 76)
	main.add(76, event.RunEnd{})
	main.add(86_400, event.UserMessage{Delivery: "prompt"})
	call = main.answer(86_400, 86_406, use("Bash", `{"command":"go test ./..."}`))
	main.add(86_406, event.ToolStart{Call: call(0)})
	return main.State
}

// A person uses the view.
type person struct {
	t  *testing.T
	v  View
	do []Action
}

func (p *person) opened(seconds float64) {
	p.do = append(p.do, p.v.Update(Opened{Timeline: session().Timeline(start.Add(time.Duration(seconds * float64(time.Second))))})...)
}

func (p *person) keys(names ...string) {
	for _, name := range names {
		k, ok := input.Parse(name)
		if !ok {
			p.t.Fatalf("no key %q", name)
		}
		p.do = append(p.do, p.v.Update(k)...)
	}
}

func (p *person) screen() string {
	var b strings.Builder
	for _, r := range p.v.Draw() {
		b.WriteString(strings.TrimRight(r.Text(), " ") + "\n")
	}
	return b.String()
}

func look(t *testing.T, w, h int) *person {
	p := &person{t: t}
	p.v.Update(input.Resize{W: w, H: h})
	return p
}

func play(t *testing.T, script string, w, h int) map[string]string {
	p, frames := look(t, w, h), map[string]string{}
	for line := range strings.Lines(script) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "open":
			p.opened(86_410)
		case "later":
			p.opened(86_434)
		case "key":
			p.keys(strings.Fields(rest)...)
		case "alert":
			p.v.Update(Alert{rest})
		case "frame":
			frames[rest] = p.screen()
		default:
			t.Fatalf("no command %q", word)
		}
	}
	return frames
}

var update = flag.Bool("update", false, "rewrite the frames of scenarios and the screen of docs/terminal.md")

// TestScenarios plays testdata/*.txtar: a script, and the frames that it paints on terminals of
// three sizes.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
		for _, size := range [][2]int{{100, 40}, {80, 24}, {40, 12}} {
			frames := play(t, string(a.Files[0].Data), size[0], size[1])
			for _, name := range slices.Sorted(maps.Keys(frames)) {
				out.Files = append(out.Files, txtar.File{Name: fmt.Sprintf("%s %dx%d", name, size[0], size[1]), Data: []byte(frames[name])})
			}
		}
		golden.File(t, file, string(txtar.Format(out)), *update)
	}
}

// Enter shows the item of a span. For what an agent did, it is the call that began the agent.
func TestJump(t *testing.T) {
	p := look(t, 80, 24)
	p.opened(86_410)
	p.keys("enter", "home", "right", "enter", "down", "enter", "q")
	got, want := "", "30 k27/Bash c29.0; 4 k1/Bash c3.0; 12  c9.0; timeview.Close"
	for _, a := range p.do {
		if j, ok := a.(Jump); ok {
			got += fmt.Sprintf("%d %s %s; ", j.Seq, j.Item, j.Call)
		} else {
			got += fmt.Sprintf("%T", a)
		}
	}
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What is selected stays selected while the session grows. The end stays the end.
func TestFollow(t *testing.T) {
	s := new(timeline.State)
	l := &log{State: s}
	p := look(t, 80, 24)
	open := func(at int) {
		p.v.Update(Opened{Timeline: s.Timeline(start.Add(time.Duration(at) * time.Second))})
	}
	open(0)
	if got := p.screen(); !strings.HasPrefix(got, "nothing has happened yet\n") {
		t.Error(got)
	}
	l.add(0, event.UserMessage{Delivery: "prompt"})
	call := l.answer(0, 2, use("Bash", `{}`))
	open(2)
	l.add(2, event.ToolStart{Call: call(0)})
	open(3)
	if s := p.v.selected(); s == nil || s.Kind != timeline.Tool || !s.Open {
		t.Error(s)
	}
	p.keys("left")
	l.add(4, event.ToolResult{Call: call(0)})
	l.answer(4, 5)
	open(5)
	if s := p.v.selected(); s == nil || s.Seq != 2 {
		t.Error(s)
	}
}

// Every span can be reached, and is on the screen, at any zoom.
func TestSelectedIsShown(t *testing.T) {
	p := look(t, 60, 12)
	p.opened(86_410)
	for range 10 {
		p.keys("+", "home")
		for range p.v.t.Lanes[0].Spans {
			if got := p.screen(); !strings.ContainsAny(got, "▲└") {
				t.Fatalf("at zoom %d:\n%s", p.v.zoom, got)
			}
			at, from := p.v.t.Axis.At(p.v.selected().Start), p.v.left
			if at < from || at > from+p.v.shown() {
				t.Fatalf("%v is not in %v + %v", at, from, p.v.shown())
			}
			p.keys("right")
		}
		if !p.v.last {
			t.Fatal("not at the end")
		}
	}
}

// Whatever is pressed, the screen has its size and nothing in it drives the terminal.
func TestAnyKeys(t *testing.T) {
	names := strings.Fields("up down left right home end + + - 0 enter h j k l g G")
	hostile := &log{State: new(timeline.State)}
	hostile.add(0, event.UserMessage{Delivery: "prompt"})
	call := hostile.answer(0, 1, use("B\x1b[2Jad", `{"command":"\u202e\u0007rm"}`))
	hostile.tool(call(0), 1, 2, true)
	hostile.add(2, event.AgentStart{Key: "x", Session: "x", Agent: "a\x9bgent\n" + strings.Repeat("long", 50)})
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		p := look(t, 60, 15)
		for range 100 {
			switch r.Intn(12) {
			case 0:
				p.v.Update(input.Resize{W: 1 + r.Intn(100), H: 1 + r.Intn(30)})
			case 1:
				p.opened(86_400 * r.Float64())
			case 2:
				p.v.Update(Opened{Timeline: hostile.Timeline(start.Add(time.Hour))})
			default:
				p.keys(names[r.Intn(len(names))])
			}
			rows := p.v.Draw()
			if len(rows) != p.v.height {
				t.Fatalf("%d rows on %d", len(rows), p.v.height)
			}
			for _, row := range rows {
				if w := row.Width(); w > p.v.width || strings.ContainsFunc(row.Text(), unicode.IsControl) {
					t.Fatalf("a row of %d cells on %d: %q", w, p.v.width, row.Text())
				}
			}
		}
	}
}

// TestDocs writes the screen of docs/terminal.md.
func TestDocs(t *testing.T) {
	p := look(t, 100, 12)
	p.opened(86_410)
	p.keys("home", "right")
	golden.Tables(t, filepath.Join("..", "..", "..", "..", "..", "docs", "terminal.md"), map[string]string{"timeline": "```text\n" + p.screen() + "```\n"}, *update)
}

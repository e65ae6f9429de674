package plain

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/plain/plaintest"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// hostile is text that would drive a terminal.
const hostile = "\x1b[31m\u202e\u009b2J\a\r"

// A talk is a console, the terminal and a person, with events that are made up.
type talk struct {
	*Console
	t      *testing.T
	rand   *rand.Rand
	now    time.Time
	screen *plaintest.Screen

	seq, answer int64
	n           int
	tokens      []string // of items: each is shown once
	open        []string // calls that have no result
	streamed    string   // of the answer in progress
	running     bool
	asks        int

	begun   time.Time         // when the line was begun; zero: nothing is written
	line    string            // in whole mode: what is typed
	shown   map[int]time.Time // when a question was written
	answers int
}

func newTalk(t *testing.T, seed uint64) *talk {
	edit := seed%2 == 0
	k := &talk{t: t, rand: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1_900_000_000, 0), screen: plaintest.New(t), shown: map[int]time.Time{}}
	k.Console = &Console{Model: ui.NewPlain(!edit), Theme: draw.Theme{Bare: true}, Width: []int{0, 40, 100}[seed%3], Edit: edit, Echo: true}
	k.put(ui.Facts{Version: "1", Model: "m", Dir: "/d"})
	return k
}

func (k *talk) put(data any) {
	for _, a := range k.Update(k.now, data) {
		id := 0
		switch a := a.(type) {
		case ui.Decide:
			id = a.ID
		case ui.Reply:
			id = a.ID
		case ui.Send:
			k.running = true
			k.prompt(a.Message)
			continue
		default:
			continue
		}
		k.answers++
		if at := k.shown[id]; at.IsZero() || k.begun.Before(at.Add(500*time.Millisecond)) {
			k.t.Fatalf("question %d, written at %v, was answered by a line that was begun at %v", id, at, k.begun)
		}
	}
	k.write()
}

func (k *talk) write() {
	for b := k.Take(); len(b) > 0; b = k.Take() {
		k.screen.Write(b)
		if id := k.written; id != 0 && k.shown[id].IsZero() {
			k.shown[id] = k.now
		}
		k.Written(k.now)
	}
}

// key is a key of the person. Without raw mode the terminal keeps it until the line has ended.
func (k *talk) key(name string) {
	key, ok := input.Parse(name)
	if !ok {
		k.t.Fatal(name)
	}
	if k.Edit {
		if k.Model.Editor.Empty() {
			k.begun = k.now
		}
		k.put(key)
		return
	}
	switch {
	case key.Text != "":
		k.line += key.Text
	case name == "enter":
		k.screen.Write([]byte(k.line + "\n"))
		k.begun = k.now // what stood there before the question was dropped
		line := k.line
		k.line = ""
		k.put(ui.Typed{Text: line, At: k.now, Echoed: true})
	}
}

func (k *talk) event(d event.Data) {
	e := event.Event{Time: k.now, Session: "s", Data: d}
	if _, ok := d.(event.Fact); ok {
		e.Prev = k.seq
		k.seq++
		e.Seq = k.seq
	}
	k.put(e)
}

func (k *talk) token() string {
	k.n++
	k.tokens = append(k.tokens, fmt.Sprintf("t%dq", k.n))
	return k.tokens[len(k.tokens)-1]
}

func (k *talk) prompt(m ui.Message) {
	if !m.Steer {
		k.event(event.UserMessage{ID: fmt.Sprint("p", m.N), Delivery: fact.AsPrompt, Message: llm.UserText(m.Text)})
		return
	}
	id := fmt.Sprint("s", m.N)
	k.event(event.UserMessage{ID: id, Delivery: fact.AsSteer, Message: llm.UserText(m.Text)})
	k.event(fact.Delivered{IDs: []string{id}})
	k.put(ui.Delivered{Numbers: []int{m.N}})
}

func (k *talk) end() {
	for _, c := range k.open {
		k.event(event.ToolResult{Call: c, Result: *tool.Text("x")})
	}
	k.open = nil
	k.finish()
	k.event(event.RunEnd{Reason: event.Completed})
	k.running = false
	k.put(ui.Done{})
}

func (k *talk) finish() {
	if k.streamed != "" {
		k.event(event.AssistantMessage{Key: fmt.Sprint("k", k.answer), Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: k.streamed}}}}})
		k.answer, k.streamed = k.seq, ""
	}
}

func (k *talk) step() {
	k.now = k.now.Add(time.Duration(k.rand.IntN(900)) * time.Millisecond)
	switch n := k.rand.IntN(20); {
	case n < 6:
		names := []string{"a", "1", "2", "3", "y", "?", ">", "space", "enter", "enter", "enter", "backspace", "left", "up", "down", "ctrl+u", "ctrl+w", "ctrl+c", "tab", "/", "é", "日", "alt+q"}
		k.key(names[k.rand.IntN(len(names))])
	case n < 8:
		k.put(ui.Tick{})
	case n == 8:
		k.asks++
		q := ui.Question{ID: k.asks, Tool: "Bash", Body: []ui.Line{{Text: "run it"}}, Widths: []ui.Width{{Name: "exact", Rules: []string{"Bash(x)"}, Scopes: []string{"session"}}}}
		if k.rand.IntN(3) == 0 {
			q = ui.Question{ID: k.asks, Ask: []ui.Asked{{Text: "why?", Options: []ui.Option{{Label: "x"}}}}}
		}
		k.put(ui.Pose{Question: q})
	case n == 9 && len(k.Model.Cards) > 0:
		k.now = k.now.Add(2 * time.Second)
		for _, name := range [][]string{{"enter"}, {"1", "enter"}, {"3", "enter"}, {"2", "enter"}}[k.rand.IntN(4)] {
			k.key(name)
		}
	case n == 10:
		k.put(ui.Output{Lines: []ui.Line{{Text: k.token() + hostile}}})
	case n == 11 && k.Edit:
		if k.Model.Editor.Empty() {
			k.begun = k.now
		}
		k.put(input.Paste{Text: "1\n2"})
	case n == 12:
		k.Resize([]int{0, 40, 100}[k.rand.IntN(3)])
		k.write()
	case !k.running:
	case n < 16:
		text := k.token() + " words" + hostile + "\n\n"
		k.streamed += text
		k.event(event.TextDelta{Key: fmt.Sprint("k", k.answer), Text: text})
	case n == 16:
		k.finish()
		in, _ := json.Marshal(map[string]string{"command": k.token() + hostile})
		k.event(event.AssistantMessage{Key: fmt.Sprint("k", k.answer), Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.ToolUse{ID: "u", Name: "Bash", Input: in}}}}})
		k.answer = k.seq
		k.open = append(k.open, fmt.Sprintf("c%d.0", k.seq))
	case n == 17 && len(k.open) > 0:
		i := k.rand.IntN(len(k.open))
		k.event(event.ToolResult{Call: k.open[i], Result: *tool.Text(k.token() + hostile)})
		k.open = append(k.open[:i:i], k.open[i+1:]...)
	case n == 18:
		k.end()
	}
}

// Whatever happens in which order, and whatever is typed meanwhile: each item is written once,
// nothing drives the terminal, and no line answers a question that was not on the terminal when it
// was begun.
func TestEachItemOnceAndNoEarlyAnswer(t *testing.T) {
	answers := 0
	for seed := range uint64(120) {
		k := newTalk(t, seed)
		for range 300 {
			k.step()
		}
		if k.running {
			k.end()
		}
		k.Close(k.now)
		k.write()
		all := strings.Join(k.screen.Lines(), "\n") + "\n"
		for _, token := range k.tokens {
			if n := strings.Count(all, token); n != 1 {
				t.Fatalf("seed %d: %s is there %d times:\n%s", seed, token, n, all)
			}
		}
		answers += k.answers
	}
	if answers < 200 {
		t.Errorf("this test answers %d questions only", answers)
	}
}

// The row shows what is written, whatever was there before.
func TestRow(t *testing.T) {
	texts := []string{"", "> ", "> a", "> ab", "> axb", "> 日本", "> 日x本", "search: é", "> e\u0301", "> a longer text than before"}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		screen := plaintest.New(t)
		var line row
		for range 40 {
			text := texts[r.IntN(len(texts))]
			caret := frame.Width(text)
			if n := strings.Count(text, ""); r.IntN(2) == 0 && caret == n-1 { // narrow letters
				caret = r.IntN(n)
			}
			screen.Write([]byte(line.change(text, caret)))
			want := cells(text, 0, caret) + "▏" + cells(text, caret, frame.Width(text))
			if want = strings.TrimRight(want, " "); want == "▏" {
				want = ""
			} else {
				want += "\n"
			}
			if got := screen.String(); got != want {
				t.Fatalf("seed %d: %q, want %q", seed, got, want)
			}
		}
	}
}

func TestWindow(t *testing.T) {
	long := strings.Repeat("0123456789", 10)
	for at := range len(long) + 1 {
		shown, caret := window(long[:at], long[at:], 20)
		if n := frame.Width(shown); n > 20 || caret > n || caret < 0 || at < len(long) && caret == n && n == 20 {
			t.Errorf("at %d: %q, caret %d", at, shown, caret)
		}
		if at > 0 && caret > 0 && shown[caret-1] != long[at-1] {
			t.Errorf("at %d: %q, caret %d", at, shown, caret)
		}
	}
	if shown, caret := window("日本", "語", 20); shown != "日本語" || caret != 4 {
		t.Errorf("%q, %d", shown, caret)
	}
}

// Of an earlier session, the end is written, below the line that begins the output.
func TestRecall(t *testing.T) {
	var events []event.Event
	for i := range 30 {
		seq := int64(i + 1)
		events = append(events, event.Event{Seq: seq, Prev: seq - 1, Data: event.UserMessage{ID: fmt.Sprint(i), Delivery: fact.AsPrompt, Message: llm.UserText(fmt.Sprintf("prompt %d.", i))}})
	}
	c := &Console{Model: ui.NewPlain(false), Theme: draw.Theme{Bare: true}, Edit: true}
	now := time.Unix(1_900_000_000, 0)
	c.Update(now, ui.Facts{Version: "1", Model: "m"})
	c.Update(now, ui.Recall{Events: events})
	said := string(c.Take())
	if !strings.HasPrefix(said, "openagent 1") || !strings.Contains(said, "(20 earlier items)\r\n\r\n> prompt 20.\r\n") || strings.Contains(said, "prompt 19.") || !strings.Contains(said, "> prompt 29.\r\n> ") {
		t.Errorf("%q", said)
	}
}

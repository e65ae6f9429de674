package draw

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

var update = flag.Bool("update", false, "rewrite the frames of scenarios and the screens of docs/terminal.md")

// A stage plays a script: a line is a command. It paints after each one, as the program does.
type stage struct {
	t      *testing.T
	m      ui.Model
	w, h   int
	now    time.Time
	shown  []string // history of the terminal
	live   frame.Frame
	seq    int64
	answer int64 // fact of the last answer
	frames map[string]string

	told func(now time.Time, data any) // plain mode: where inputs go, instead of m
	page func() string                 // plain mode: the terminal
}

// PlayPlain plays a script in plain mode: it gives the inputs to told, and takes frames from page.
func PlayPlain(t *testing.T, script string, told func(now time.Time, data any), page func() string) map[string]string {
	s := &stage{t: t, now: time.Date(2030, 1, 1, 14, 0, 0, 0, time.UTC), frames: map[string]string{}, told: told, page: page}
	s.play(script)
	return s.frames
}

func play(t *testing.T, script string, w, h int) map[string]string {
	s := &stage{t: t, m: ui.New(w, h), w: w, h: h, now: time.Date(2030, 1, 1, 14, 0, 0, 0, time.UTC), frames: map[string]string{}}
	s.play(script)
	return s.frames
}

func (s *stage) play(script string) {
	s.put(ui.Facts{Version: "0.3", Model: "claude-sonnet-4-6", Dir: "/home/ann/src/invoice", Home: "/home/ann", Branch: "main", Mode: "default", Window: 200_000})
	s.put(ui.Commands{List: []ui.CommandInfo{{Name: "rewind", Help: "go back to before a prompt: files, conversation or both"},
		{Name: "rename", Hint: "[TITLE]", Help: "title of this session"}, {Name: "resume", Help: "continue an interrupted run"}, {Name: "model", Hint: "[NAME]", Help: "show or change the model"}}})
	for line := range strings.Lines(script) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "" && word[0] != '#' {
			s.do(word, rest)
			s.paint()
		}
	}
}

func (s *stage) put(data any) {
	if s.told != nil {
		s.told(s.now, data)
		return
	}
	s.m, _ = ui.Update(s.m, ui.Input{Time: s.now, Data: data})
}

func (s *stage) paint() {
	if s.told != nil {
		return
	}
	f, p := Frame(s.m, s.w, s.h, Theme{})
	s.shown = append(s.shown, f.Above...)
	s.live = f
	s.put(p)
	for i, l := range f.Live {
		if n := frame.Width(l); n > s.w {
			s.t.Errorf("%d×%d: the live line %d takes %d cells: %q", s.w, s.h, i, n, l)
		}
	}
	if len(f.Live) > s.h {
		s.t.Errorf("%d×%d: %d live lines", s.w, s.h, len(f.Live))
	}
}

// screen is the terminal: the history, the live lines and the caret.
func (s *stage) screen() string {
	if s.page != nil {
		return s.page()
	}
	live := slices.Clone(s.live.Live)
	c := s.live.Caret
	live[c.Line] = live[c.Line][:c.Byte] + "▏" + live[c.Line][c.Byte:]
	var b strings.Builder
	for _, l := range append(slices.Clone(s.shown), live...) {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return plainText(b.String())
}

// plainText removes the sequences of styles.
func plainText(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		s = s[i:]
		s = s[strings.IndexByte(s, 'm')+1:]
	}
}

func (s *stage) event(d event.Data) {
	e := event.Event{Time: s.now, Session: "s", Data: d}
	if _, ok := d.(event.Fact); ok {
		e.Prev = s.seq
		s.seq++
		e.Seq = s.seq
	}
	s.put(e)
}

func (s *stage) call(n string) string { return fmt.Sprintf("c%d.%s", s.answer, n) }

func (s *stage) do(word, rest string) {
	first, more, _ := strings.Cut(rest, " ")
	more = strings.ReplaceAll(more, `\n`, "\n")
	cost := 0.0205
	switch word {
	case "key":
		for name := range strings.FieldsSeq(rest) {
			k, ok := input.Parse(name)
			if !ok {
				s.t.Fatalf("no key %q", name)
			}
			s.put(k)
		}
	case "type":
		for _, k := range input.Type(rest) {
			s.put(k)
		}
	case "paste":
		s.put(input.Paste{Text: strings.Repeat("a pasted line\n", 60)})
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
		s.put(ui.Tick{})
	case "prompt":
		s.event(fact.Configured{Model: "claude-sonnet-4-6", Mode: "default", Models: map[string]llm.Info{"claude-sonnet-4-6": {Window: 200_000}}})
		s.event(event.UserMessage{ID: "p", Delivery: "prompt", Message: llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: rest}}}})
	case "text":
		s.event(event.TextDelta{Key: fmt.Sprint("k", s.answer), Text: strings.ReplaceAll(rest, `\n`, "\n")})
	case "thinking":
		s.event(event.ThinkingDelta{Key: fmt.Sprint("k", s.answer), Text: rest})
	case "answer": // text | Tool {"input":…} | …
		parts := strings.Split(rest, " | ")
		content := llm.Blocks{llm.Text{Text: strings.ReplaceAll(parts[0], `\n`, "\n")}}
		for i, p := range parts[1:] {
			name, in, _ := strings.Cut(p, " ")
			content = append(content, llm.ToolUse{ID: fmt.Sprint("u", s.seq, i), Name: name, Input: json.RawMessage(in)})
		}
		s.event(event.AssistantMessage{Key: fmt.Sprint("k", s.answer), Model: "claude-sonnet-4-6", CostUSD: &cost,
			Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: content}, Usage: llm.Usage{Input: 6100, CacheRead: 22_000, Output: 400}}})
		s.answer = s.seq
	case "start":
		s.event(event.ToolStart{Call: s.call(rest)})
	case "tail":
		s.event(event.ToolProgress{Call: s.call(first), Phase: "doing", Status: tool.Status{Tail: strings.Split(more, "\n")}})
	case "result", "fails": // N text, with a title before a colon
		title, text, _ := strings.Cut(more, ": ")
		r := tool.Result{Content: llm.Blocks{llm.Text{Text: text}}, Title: title, IsError: word == "fails"}
		if r.IsError {
			r.Details = json.RawMessage(`{"exitCode":1}`)
		}
		s.event(event.ToolResult{Call: s.call(first), Result: r, Duration: 40 * time.Millisecond})
	case "denied": // N reason
		s.event(event.ToolResult{Call: s.call(first), Cause: "denied", Result: tool.Result{Content: llm.Blocks{llm.Text{Text: more}}, IsError: true}})
	case "diff":
		details, _ := json.Marshal(map[string]string{"diff": exampleDiff})
		s.event(event.ToolResult{Call: s.call(first), Result: tool.Result{Details: details}, Duration: 2 * time.Millisecond})
	case "todos":
		var list []map[string]string
		for item := range strings.SplitSeq(rest, ", ") {
			text, status, _ := strings.Cut(item, "=")
			list = append(list, map[string]string{"content": text, "status": status})
		}
		details, _ := json.Marshal(map[string]any{"todos": list})
		s.event(event.ToolResult{Call: s.call("0"), Result: tool.Result{Details: details}})
	case "agent":
		s.event(event.AgentStart{Key: more, Call: s.call(first), Session: more, Agent: more, Turns: 8})
	case "does": // agent tool input
		name, in, _ := strings.Cut(more, " ")
		m := event.AssistantMessage{Key: "a", CostUSD: &cost, Response: llm.Response{Usage: llm.Usage{Input: 380, Output: 40},
			Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.ToolUse{ID: "x", Name: name, Input: json.RawMessage(in)}}}}}
		s.event(event.AgentEvent{Agent: first, Event: &event.Event{Seq: s.seq, Time: s.now, Session: first, Data: m}})
	case "did": // agent text, of its last call
		m := event.ToolResult{Call: fmt.Sprintf("c%d.0", s.seq), Result: tool.Result{Content: llm.Blocks{llm.Text{Text: more}}}}
		s.event(event.AgentEvent{Agent: first, Event: &event.Event{Seq: s.seq + 1000, Prev: s.seq, Time: s.now, Session: first, Data: m}})
	case "ended":
		s.event(event.AgentEnd{Key: first, Session: first, Agent: first, Reason: event.Completed, Turns: 2, CostUSD: &cost, Duration: 1200 * time.Millisecond})
		s.event(event.ToolResult{Call: s.call("1"), Result: tool.Result{Content: llm.Blocks{llm.Text{Text: more}}}})
	case "stopped":
		s.event(event.AgentEnd{Key: first, Session: first, Agent: first, Reason: event.Interrupted, Message: "context canceled", Turns: 1, Duration: time.Second})
		s.event(event.ToolResult{Call: s.call("1"), Result: tool.Result{IsError: true, Content: llm.Blocks{llm.Text{Text: "stopped"}}}})
	case "end":
		reason := event.EndReason(first)
		s.event(event.RunEnd{Reason: reason, Turns: 2, CostUSD: &cost, Duration: 3100 * time.Millisecond})
		s.put(ui.Done{Stopped: reason == event.Interrupted})
	case "failed":
		s.event(event.ModelFailed{Key: fmt.Sprint("k", s.answer), Class: llm.Network, Message: "connection reset", Partial: rest, Retry: true, RetryAt: s.now.Add(4 * time.Second)})
	case "returned":
		s.put(ui.Returned{Numbers: []int{2}})
	case "pose":
		s.put(ui.Pose{Question: questions[rest]})
	case "rewind", "compared":
		c := ui.Choice{Kind: "prompt", Title: "go back to before", First: 2}
		for i, it := range []ui.Item{{Text: "1  make the tests pass", Value: "2"}, {Text: "2  why is it slow?", Value: "9"}, {Text: "3  fix the discount", Value: "12"}} {
			it.Cells = []string{strings.Repeat(" ", 16), []string{"13:40", "13:50", "2 min ago"}[i]}
			if word == "compared" {
				it.Cells[0] = fmt.Sprintf("%-16s", []string{"3 files +41 −7", "invoice.sh +1 −1", "invoice.sh +1 −1"}[i])
			}
			c.Items = append(c.Items, it)
		}
		if word == "rewind" {
			s.put(c)
		} else {
			s.put(ui.Renewed{Choice: c})
		}
	case "changes":
		n, _ := strconv.Atoi(first)
		c := ui.Choice{Kind: "rewind", Title: "what goes back?", Items: []ui.Item{{Text: "files and conversation"}, {Text: "only the files", Note: "the conversation goes on"}, {Text: "only the conversation", Note: "files stay as they are"}},
			About: []ui.Line{{Kind: ui.DimLine, Text: "   changed  /home/ann/src/invoice/invoice.sh"}, {Kind: ui.DimLine, Text: "     @@ -1,2 +1,2 @@"}, {Kind: ui.DimLine, Text: "      rate=10"},
				{Kind: ui.RemovedLine, Text: "     -if (sum > 100) sum *= 0.9"}, {Kind: ui.AddedLine, Text: "     +if (line > 100) line *= 0.9"}}}
		for i := range n {
			c.About = append(c.About, ui.Line{Kind: ui.AddedLine, Text: fmt.Sprintf("     +line %d", i+1)})
		}
		c.About = append(c.About, ui.Line{Kind: ui.DimLine, Text: "   Files: 1 change would be brought back."},
			ui.Line{Kind: ui.DimLine, Text: "   The conversation would be taken back to before the prompt: fix the discount"})
		s.put(c)
	case "note":
		s.put(ui.Choice{Kind: "note", Title: "keep the note where?", Items: []ui.Item{{Text: "AGENTS.md of this folder", Note: "for everybody in the project"},
			{Text: "~/.openagent/AGENTS.md", Note: "for you, in all folders"}, {Text: "CLAUDE.local.md of this folder", Note: "for you, not in git"}},
			About: []ui.Line{{Text: "   + - " + rest}, {Kind: ui.DimLine, Text: "   Agents read it with every prompt."}}})
	case "sessions", "renew":
		c := ui.Choice{Kind: "session", Title: "sessions", Scope: "this folder · ctrl+a all", Tools: true, Alone: first == "alone"}
		for _, it := range []ui.Item{
			{Text: "make the tests pass", Cells: []string{"asks", "2 min ago", "main", "12 prompts", " $0.41"}, Value: "a"},
			{Text: "why is CI red?", Cells: []string{"done", "14:02", "main", " 3 prompts", " $0.06"}, Value: "b"},
			{Text: "import orders", Cells: []string{"limit", "yesterday", "feat/orders", " 7 prompts", " $1.20"}, Value: "c"},
			{Text: "evil \x1b[2J\u202e title\nsecond line", Cells: []string{"error", "12 Nov", "ma\x1bin", " 1 prompt", "<$0.01"}, Value: "d"}} {
			if !strings.Contains(more, it.Value) {
				c.Items = append(c.Items, it)
			}
		}
		if word == "renew" {
			s.put(ui.Renewed{Choice: c})
		} else {
			s.put(c)
		}
	case "examined":
		s.put(ui.Examined{Value: first, Lines: []ui.Line{{Kind: ui.DimLine, Text: "❯ make the tests pass"}, {Kind: ui.DimLine, Text: "❯ and now the changelog"}, {}, {Text: more}}})
	case "past": // N: a session of so many prompts, of which the program has the end
		n, _ := strconv.Atoi(first)
		var events []event.Event
		for i := range n {
			for _, d := range []event.Data{
				event.UserMessage{ID: "p", Delivery: "prompt", Message: llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: fmt.Sprint("prompt ", i+1)}}}},
				event.AssistantMessage{Key: "k", CostUSD: &cost, Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: fmt.Sprintf("Answer %d.\n\nIt has two parts.", i+1)}}}}},
				event.RunEnd{Reason: event.Completed, Turns: 1, CostUSD: &cost, Duration: time.Second},
			} {
				s.seq++
				events = append(events, event.Event{Seq: s.seq, Prev: s.seq - 1, Time: s.now, Session: "s", Data: d})
			}
		}
		messages, _ := strconv.Atoi(more)
		s.shown = nil
		s.m = ui.New(s.w, s.h)
		s.put(ui.Facts{Version: "0.3", Model: "claude-sonnet-4-6", Dir: "/home/ann/src/invoice", Home: "/home/ann", Branch: "main", Mode: "default", Window: 200_000})
		s.put(ui.Recall{Events: events, Messages: messages})
	case "repeat": // N text: a prompt that is one line
		n, _ := strconv.Atoi(first)
		s.do("prompt", strings.Repeat(more+" ", n))
	case "output":
		s.put(ui.Output{Lines: []ui.Line{{Text: rest}}})
	case "files":
		s.put(ui.Files{Query: first, Names: strings.Fields(more)})
	case "suggests":
		s.m.Suggests = true
	case "suggested":
		s.put(ui.Suggested{Text: rest})
	case "frame":
		s.paint()
		s.frames[rest] = s.screen()
	default:
		s.t.Fatalf("no command %q", word)
	}
}

const exampleDiff = `--- a/invoice.sh
+++ b/invoice.sh
@@ -2,3 +2,3 @@
 { gsub(/ /, "") }
-{ if (line > 100) line *= 0.9; sum += line } END { printf "%.2f", sum }
+{ sum += $2 * $3 } END { if (sum > 100) sum *= 0.9; printf "%.2f", sum }
 # 端数処理
`

var questions = map[string]ui.Question{
	"bash": {ID: 1, Tool: "Bash", Note: "no rule allows it", Command: "git push origin main && npm run deploy",
		Body: []ui.Line{{Kind: ui.WarnLine, Text: "! git push origin main: not known to be read-only"}, {Text: "git push origin main && npm run deploy"}},
		Why:  []ui.Line{{Kind: ui.DimLine, Text: "Bash needs permission in mode default"}},
		Widths: []ui.Width{{Name: "usual", Rules: []string{"Bash(git push *)", "Bash(npm run deploy)"}, Scopes: []string{"session", "project"}},
			{Name: "broad", Rules: []string{"Bash(git *)", "Bash(npm *)"}, Scopes: []string{"session"}, Wide: "this rule allows far more than this call"}}},
	"edit": {ID: 2, Tool: "Edit", Head: "invoice.sh", Note: "no rule allows it", Diff: exampleDiff,
		Widths: []ui.Width{{Name: "exact", Rules: []string{"Edit(/invoice.sh)"}, Scopes: []string{"session", "project"}}, {Name: "usual", Rules: []string{"Edit(/*.sh)"}, Scopes: []string{"session"}}}},
	"long": {ID: 3, Tool: "Write", Head: "table.txt", Diff: "--- a/table.txt\n+++ b/table.txt\n@@ -0,0 +1,60 @@\n" + numbered(60)},
	"grave": {ID: 4, Tool: "Bash", Note: "no rule allows it", Grave: "rm -rf ./build: rm deletes", Command: "rm -rf ./build",
		Body: []ui.Line{{Kind: ui.WarnLine, Text: "! rm -rf ./build: rm deletes"}, {Text: "rm -rf ./build"}}},
	"script": {ID: 6, Tool: "Bash", Note: "no rule allows it", Command: "make build && make test && make lint && ./deploy.sh --to production --now",
		Body: []ui.Line{{Text: "make build && make test && make lint && ./deploy.sh --to production --now && ./notify.sh --channel releases && git push --tags"}, {Kind: ui.DimLine, Text: "description: builds it"}}},
	"ask": {ID: 5, Tool: "a question", Ask: []ui.Asked{{Header: "Database", Text: "Which database shall I use?", Options: []ui.Option{{Label: "PostgreSQL", Description: "what you have"}, {Label: "SQLite", Description: "one file"}}},
		{Header: "Features", Text: "Which features?", Multiple: true, Options: []ui.Option{{Label: "login"}, {Label: "search"}, {Label: "export"}}}}},
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "+line %d\n", i+1)
	}
	return b.String()
}

var sizes = []string{"100x40", "80x24", "40x12"}

func cells(name string) (w, h int) {
	a, b, _ := strings.Cut(name, "x")
	w, _ = strconv.Atoi(a)
	h, _ = strconv.Atoi(b)
	return w, h
}

// TestScenarios plays testdata/*.txtar: a script, and the frames that it paints on terminals of
// three sizes.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script := string(a.Files[0].Data)
			out := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			for _, s := range sizes {
				w, h := cells(s)
				frames := play(t, script, w, h)
				for _, name := range slices.Sorted(maps.Keys(frames)) {
					out.Files = append(out.Files, txtar.File{Name: name + " " + s, Data: []byte(frames[name])})
				}
			}
			golden.File(t, file, string(txtar.Format(out)), *update)
		})
	}
}

// TestDocs writes the screens of docs/terminal.md: frames of the scenarios.
func TestDocs(t *testing.T) {
	screens := map[string]string{}
	for _, name := range []string{"start", "run", "permission", "menu", "ask", "interrupt", "rewind", "sessions"} {
		a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		frames := play(t, string(a.Files[0].Data), 100, 40)
		if name == "rewind" {
			screens["rewind: changes"] = "```text\n" + frames["rewind: changes"] + "```\n"
		}
		screens[name] = "```text\n" + frames[name] + "```\n"
	}
	golden.Tables(t, filepath.Join("..", "..", "..", "..", "..", "docs", "terminal.md"), screens, *update)
}

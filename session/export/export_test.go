package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
	"github.com/openagent-go/agent/tool"
)

var formats = map[string]func(context.Context, io.Writer, session.Store, string, export.Options) error{
	"Markdown": export.Markdown, "HTML": export.HTML, "JSON": export.JSON,
}

// stored returns a store whose session s has the given facts.
func stored(t *testing.T, facts ...event.Event) session.Store {
	t.Helper()
	store := session.Memory()
	log, err := store.Open(t.Context(), "s", session.Header{Created: time.Unix(1e9, 0), Dir: "/work", Branch: "main"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range facts {
		e := &facts[i]
		e.Seq, e.Time = int64(i+1), time.Unix(1e9+int64(i), 0)
		if e.Prev == 0 && i > 0 {
			e.Prev = int64(i)
		}
	}
	if err := errors.Join(log.Append(t.Context(), 0, false, facts...), log.Close()); err != nil {
		t.Fatal(err)
	}
	return store
}

func factOf(d event.Data) event.Event { return event.Event{Data: d} }

func said(id string, d event.Delivery, text string, more ...llm.Block) event.Event {
	return factOf(event.UserMessage{ID: id, Delivery: d, Message: llm.UserText(text, more...)})
}

func answer(blocks ...llm.Block) event.Event {
	cost := 0.0125
	return factOf(event.AssistantMessage{Model: "test-model", CostUSD: &cost, Response: llm.Response{Usage: llm.Usage{Input: 10, Output: 5}, Message: llm.Message{Role: llm.Assistant, Content: blocks}}})
}

func result(call, text string, details string, more ...llm.Block) event.Event {
	r := tool.Text(text)
	r.Content = append(r.Content, more...)
	if details != "" {
		r.Details = json.RawMessage(details)
	}
	return factOf(event.ToolResult{Call: call, Result: *r, Duration: 3 * time.Millisecond})
}

// picture is a PNG in one colour that no page has.
func picture(t *testing.T) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 120, 80))
	for i := range m.Pix {
		m.Pix[i] = []byte{255, 0, 255, 255}[i%4]
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var magenta = color.RGBA{255, 0, 255, 255}

const change = `{"filePath":"a.go","diff":"--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n package a\n-var x = 1\n+var x = 2\n","additions":1,"deletions":1}`

// usual is a session with one of everything.
func usual(t *testing.T) session.Store {
	return stored(t,
		factOf(fact.Configured{Model: "test-model"}),
		said("p", fact.AsPrompt, "Fix *a.go* please", llm.Image{MediaType: "image/png", Data: picture(t)}, llm.Document{MediaType: "text/plain", Title: "notes.txt", Data: []byte("some notes")}),
		answer(llm.Thinking{Text: "let me think"}, llm.Text{Text: "# Plan\n\nI **edit** `a.go`, see https://example.com/x.\n\n```go\nfunc main() {}\n```\n"},
			llm.ToolUse{ID: "1", Name: "Edit", Input: json.RawMessage(`{"file_path": "a.go"}`)}, llm.ToolUse{ID: "2", Name: "Bash", Input: json.RawMessage(`{"command":"false"}`)}),
		result("c3.0", "edited", change),
		factOf(event.ToolResult{Call: "c3.1", Result: *tool.Errorf("exit status 1"), Cause: fact.ByTool}),
		said("st", fact.AsSteer, "be quick"),
		factOf(fact.Delivered{IDs: []string{"st"}}),
		answer(llm.Text{Text: "Done."}),
		factOf(event.RunEnd{Reason: event.Completed, Turns: 2}),
		said("r", fact.AsPrompt, "this was rewound"),
		event.Event{Prev: 9, Data: event.Rewound{}},
		said("q", fact.AsPrompt, "and now?"),
		answer(llm.Text{Text: "Nothing."}, llm.ToolUse{ID: "3", Name: "Read", Input: json.RawMessage(`{}`)}),
	)
}

func exported(t *testing.T, format string, s session.Store, o export.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := formats[format](t.Context(), &b, s, "s", o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestContent(t *testing.T) {
	s := usual(t)
	for format := range formats {
		got := exported(t, format, s, export.Options{})
		at := 0
		for _, want := range []string{"notes.txt", "let me think", "I **edit**", "func main() {}", "Edit", "file_path", "var x = 2", "exit status 1", "be quick", "Done.", "completed", "and now?", "Nothing."} {
			if format == "HTML" && want == "I **edit**" {
				want = "<strong>edit</strong>"
			}
			if format == "HTML" && want == "func main() {}" {
				want = `<span class="kw">func</span> main() {}`
			}
			i := strings.Index(got[at:], want)
			if i < 0 {
				t.Errorf("%s: no %q after %.60q:\n%s", format, want, got[at:], got)
				break
			}
			at += i
		}
		if strings.Contains(got, "rewound") {
			t.Errorf("%s: what was rewound is shown", format)
		}
	}
}

// The shape that the documentation of JSON promises.
func TestJSON(t *testing.T) {
	var got struct {
		Version int          `json:"openagent_export"`
		Session session.Info `json:"session"`
		Turns   []struct {
			Kind    string
			Seq     int64
			UUID    string
			Content llm.Blocks
			Model   string
			Calls   []struct {
				ID     string
				Result *struct {
					Seq        int64
					DurationMS int64 `json:"duration_ms"`
					IsError    bool  `json:"is_error"`
				}
			}
			Cost   *float64 `json:"cost_usd"`
			Reason string
		}
	}
	if err := json.Unmarshal([]byte(exported(t, "JSON", usual(t), export.Options{})), &got); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, turn := range got.Turns {
		kinds = append(kinds, turn.Kind)
	}
	if want := "said answer said answer end said answer"; strings.Join(kinds, " ") != want {
		t.Errorf("turns are %q, want %q", kinds, want)
	}
	a := got.Turns[1]
	if got.Version != 1 || got.Session.Session != "s" || got.Session.Branch != "main" || a.Seq != 3 || a.Model != "test-model" || *a.Cost != 0.0125 || a.UUID == "" {
		t.Errorf("%+v", got)
	}
	if len(a.Calls) != 2 || a.Calls[0].ID != "c3.0" || a.Calls[0].Result.Seq != 4 || a.Calls[0].Result.DurationMS != 3 || !a.Calls[1].Result.IsError {
		t.Errorf("%+v", a.Calls)
	}
	if open := got.Turns[6].Calls; len(open) != 1 || open[0].Result != nil {
		t.Errorf("a call without a result: %+v", open)
	}
	if img, ok := got.Turns[0].Content[1].(llm.Image); !ok || !bytes.Equal(img.Data, picture(t)) {
		t.Errorf("%+v", got.Turns[0].Content)
	}
}

func TestSecrets(t *testing.T) {
	t.Setenv("SOME_API_KEY", "from-the-environment")
	const given = `given"secret`
	s := stored(t,
		said("p", fact.AsPrompt, "key from-the-environment and "+given, llm.Document{MediaType: "text/plain", Title: given, Data: []byte(given)}),
		answer(llm.Text{Text: "f\x1b[0mrom-the-environment"}, llm.Thinking{Text: given}, llm.ToolUse{ID: "1", Name: "from-the-environment", Input: json.RawMessage(`{"k":"given\"secret"}`)}, llm.ToolUse{ID: "2", Name: "x", Input: []byte("{}"), Invalid: given}),
		result("c2.0", given, `{"diff":"given\"secret"}`),
		factOf(event.RunEnd{Reason: event.ModelError, Message: given}),
		factOf(event.SessionNamed{Title: given, Tag: "from-the-environment"}),
	)
	for format := range formats {
		got := exported(t, format, s, export.Options{Secrets: []string{given}})
		for _, secret := range []string{"from-the-environment", given, `given\"secret`, `given\\\"secret`, "given&#34;secret"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s holds %s:\n%s", format, secret, got)
			}
		}
		if !strings.Contains(got, "***") && !strings.Contains(got, `\*\*\*`) {
			t.Errorf("%s shows no ***", format)
		}
	}
}

// JSON can write a character in several ways: as itself, escaped as it must be, and
// escaped although it need not be.
func TestSecretsInJSON(t *testing.T) {
	const given = `a/b<c"d0123`
	for _, input := range []string{
		`{"k":"x a/b<c\"d0123"}`, `{"k":"x a\/b<c\"d0123"}`, `{"k":"x a/b\u003cc\"d0123"}`, `{"k":"x \u0061/b<c\u0022d0123"}`,
		`{"a\/b<c\"d0123":1e400}`,
	} {
		s := stored(t, said("p", fact.AsPrompt, "x"), answer(llm.ToolUse{ID: "1", Name: "x", Input: json.RawMessage(input)}), result("c2.0", "", input))
		for format := range formats {
			got := exported(t, format, s, export.Options{Secrets: []string{given}})
			if strings.Contains(got, "d0123") || !strings.Contains(got, "***") {
				t.Errorf("%s of %s:\n%s", format, input, got)
			}
		}
	}
	s := stored(t, said("p", fact.AsPrompt, "x"), answer(llm.ToolUse{ID: "1", Name: "x", Input: json.RawMessage(`{"words":"a \u003e b\n"}`)}))
	if got := exported(t, "Markdown", s, export.Options{}); !strings.Contains(got, `"a > b\n"`) {
		t.Errorf("not for people: %s", got)
	}
}

// attacks are texts that would do something in a page that did not escape them.
var attacks = []string{
	`<script>alert(1)</script>`,
	`<img src=x onerror=alert(1)>`,
	`"><svg onload=alert(1)>`,
	`' onmouseover='alert(1)`,
	`</style><script>alert(1)</script>`,
	`</pre></details><iframe src="http://canary.test/frame"></iframe>`,
	`[click](javascript:alert(1)) [x](http://canary.test/"onclick="alert(1))`,
	`![x](http://canary.test/img.png) <link rel=stylesheet href=http://canary.test/a.css>`,
	"```html\n</code></pre><script>alert(1)</script>\n```",
	"`</code><script>alert(1)</script>`",
	`{{.}} {{template "about"}} <!-- --><base href="http://canary.test/"><meta http-equiv=refresh content="0;url=http://canary.test/">`,
	`javascript:alert(1)`,
	"\x00\x1b]0;x\x07\u202egnp.exe",
}

// hostile is a session that has an attack in every place.
func hostile(t *testing.T, attack string) session.Store {
	text, _ := json.Marshal(attack)
	cost := 1.0
	return stored(t,
		factOf(fact.Configured{Model: attack}),
		said("p", fact.AsPrompt, attack, llm.Document{MediaType: "text/plain", Title: attack, Data: []byte(attack)}, llm.Document{MediaType: attack, Title: attack},
			llm.Image{MediaType: "image/svg+xml", Data: []byte(attack)}, llm.Image{MediaType: "image/png", Data: []byte(attack)}, llm.Image{MediaType: attack}),
		factOf(event.AssistantMessage{Model: attack, CostUSD: &cost, Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{
			llm.Text{Text: attack}, llm.Thinking{Text: attack}, llm.Verbatim{Shown: attack},
			llm.ToolUse{ID: attack, Name: attack, Input: json.RawMessage(`{"x":` + string(text) + `}`)}, llm.ToolUse{ID: attack, Name: attack, Input: []byte("{}"), Invalid: attack}}}}}),
		factOf(event.ToolResult{Call: "c3.0", Result: tool.Result{Title: attack, Content: llm.Blocks{llm.Text{Text: attack}, llm.Text{Text: "--- a\n+++ b\n@@ @@\n+" + attack}}, Details: json.RawMessage(`{"diff":` + string(text) + `}`)}}),
		factOf(fact.Authorized{Call: "c3.1", Decision: permission.Decision{Behavior: permission.Denied, Reason: attack, Rule: attack, Origin: attack, By: attack}}),
		factOf(event.ToolResult{Call: "c3.1", Cause: fact.ByDenial, Result: *tool.Errorf("%s", attack)}),
		factOf(event.AgentStart{Key: "k", Call: "c3.0", Session: "b", Agent: attack}),
		factOf(event.AgentEnd{Key: "k", Session: "b", Agent: attack, Reason: event.EndReason(attack), Message: attack}),
		factOf(event.ModelFailed{Key: "x", Model: attack, Message: attack, Partial: attack}),
		factOf(fact.Hooked{Event: "Stop", Block: attack}),
		factOf(event.AssistantMessage{Key: "y", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.ToolUse{ID: "t", Name: "TodoWrite", Input: json.RawMessage(`{"command":` + string(text) + `,"description":` + string(text) + `}`)}}}}}),
		factOf(event.ToolResult{Call: "c10.0", Result: tool.Result{Details: json.RawMessage(`{"todos":[{"content":` + string(text) + `,"status":` + string(text) + `}]}`)}}),
		factOf(event.UserMessage{ID: "p2", Delivery: fact.AsPrompt, Message: llm.UserText(attack)}),
		factOf(event.UserMessage{ID: "q", Delivery: event.Delivery(attack), Message: llm.UserText(attack)}),
		factOf(fact.Delivered{IDs: []string{"q"}}),
		factOf(event.RunEnd{Reason: event.EndReason(attack), Message: attack}),
		factOf(event.SessionNamed{Title: attack, Tag: attack}),
	)
}

func TestHostileHTML(t *testing.T) {
	for _, attack := range attacks {
		checkPage(t, attack)
	}
}

// No text makes an element, an attribute or an address in a page that we do not write.
func FuzzHostileHTML(f *testing.F) {
	for _, attack := range attacks {
		f.Add(attack)
	}
	f.Add("| a | b |\n|---|:-:|\n| <b> | [x](data:text/html,x) |\n\n3. x\n\n- [ ] <i>\n\n> # y\n***\n")
	f.Fuzz(func(t *testing.T, attack string) {
		if len(attack) < 2000 {
			checkPage(t, attack)
		}
	})
}

// checkPage exports a session with an attack in every place, and looks for what it made.
func checkPage(t *testing.T, attack string) {
	t.Helper()
	got := exported(t, "HTML", hostile(t, attack), export.Options{})
	root, err := html.Parse(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	policies := 0
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%q: a comment %q", attack, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "html", "head", "meta", "title", "style", "link", "body", "main", "header", "footer", "section", "h1", "h2", "h3", "p", "dl", "div", "dt", "dd", "time",
			"details", "summary", "b", "i", "span", "strong", "em", "del", "code", "pre", "img", "a", "ul", "input", "ol", "li", "h4", "h5", "h6", "br", "hr", "blockquote",
			"table", "thead", "tbody", "tr", "th", "td":
		default:
			t.Errorf("%q: an element %s", attack, n.Data)
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "http-equiv":
				policies++
				if a.Val != "Content-Security-Policy" || n.NextSibling == nil {
					t.Errorf("%q: http-equiv %q", attack, a.Val)
				}
			case "src":
				if !strings.HasPrefix(a.Val, "data:image/png;base64,") {
					t.Errorf("%q: src %q", attack, a.Val)
				}
			case "href":
				if n.Data == "a" && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "https://") && !strings.HasPrefix(a.Val, "mailto:") && !strings.HasPrefix(a.Val, "#f") || n.Data == "link" && a.Val != "data:," {
					t.Errorf("%q: href %q", attack, a.Val)
				}
			case "class", "id", "dir", "alt", "rel", "charset", "content", "name", "lang", "datetime", "open", "align", "start", "type", "disabled", "checked":
			default:
				t.Errorf("%q: %s has the attribute %s", attack, n.Data, a.Key)
			}
		}
	}
	if policies != 1 {
		t.Errorf("%q: %d policies", attack, policies)
	}
	if i := strings.IndexFunc(got, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x202e }); i >= 0 {
		t.Errorf("%q: a control character at %.40q", attack, got[i:])
	}
}

// Of Markdown nothing is left that a viewer would run or load.
func TestHostileMarkdown(t *testing.T) {
	for _, attack := range append(attacks, "a ``` <img src=x>` b", "\\`<img src=x>`", "| `a | <img src=x>` |", "- a\n  ```\n<img src=x>\n", "text\n===", "# You", "`x`` <img>`") {
		got := exported(t, "Markdown", hostile(t, attack), export.Options{})
		fenced := ""
		for line := range strings.Lines(got) {
			ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
			switch {
			case fenced == "" && len(ticks) >= 3:
				fenced = ticks
				continue
			case fenced != "":
				if strings.TrimSpace(line) == fenced {
					fenced = ""
				}
				continue
			}
			if strings.HasPrefix(line, "# ") && !strings.HasPrefix(got, line) || strings.HasPrefix(line, "===") {
				t.Errorf("%q: a heading %q", attack, line)
			}
			if strings.Contains(line, "![") && !strings.Contains(line, `\![`) && !strings.Contains(line, `!\[`) {
				t.Errorf("%q: an image in %q", attack, line)
			}
			if strings.Contains(line, "<") && !strings.HasPrefix(line, "`<") && attack != "`x`` <img>`" {
				t.Errorf("%q: HTML in %q", attack, line)
			}
		}
		if fenced != "" {
			t.Errorf("%q: a code block does not end", attack)
		}
	}
}

func TestErrors(t *testing.T) {
	s := usual(t)
	for format, write := range formats {
		if err := write(t.Context(), io.Discard, s, "none", export.Options{}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%s of none: %v", format, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := write(ctx, io.Discard, s, "s", export.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v", format, err)
		}
		if err := write(t.Context(), failing{}, s, "s", export.Options{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s, the writer failing: %v", format, err)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

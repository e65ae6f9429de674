package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// FuzzPage draws a session in which everybody says the same hostile text. The page has no element and
// no attribute that the text brings along.
func FuzzPage(f *testing.F) {
	for _, s := range []string{hostile, "[a](javascript:x)", "<a href='data:text/html,x' onclick=x>", "```\"onload=x\n</pre><script>", "| a |\n|---|\n| <iframe src=x> |", "[x]: javascript:y\n[x]", "<style>@import 'x'</style>", "+ \"><svg/onload=x>\n- </span>", "a\u2066b\u200bc\x1b[31m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		f := new(folded)
		f.state = new(view.State)
		input, _ := json.Marshal(map[string]string{"command": s})
		details, _ := json.Marshal(map[string]string{"diff": s})
		for i, d := range []event.Data{
			event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: llm.UserText(s)},
			event.AssistantMessage{Key: "model/1.0/0", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: s}, llm.ToolUse{ID: "u", Name: s, Input: input}}}}},
			event.ToolResult{Call: "c1.0", Result: tool.Result{Content: llm.Blocks{llm.Text{Text: s}}, Details: details, IsError: true}},
			event.RunEnd{Reason: event.ModelError, Message: s},
		} {
			f.apply(event.Event{Seq: int64(i) + 1, Prev: int64(i), Data: d})
		}
		r := drawn()
		v := &sessionView{ID: "chat", Title: r.Line(s), Model: r.Line(s), Running: true, Writing: r.Text(s), Asks: []ask{
			showAsk(r, question{Call: s, Tool: s, Agent: s, Text: s, Input: input, Widths: []permission.Suggestion{{Rules: []permission.Rule{permission.Rule(s)}}}}),
			showAsk(r, question{Call: "c", Kind: "question", Questions: []tool.Question{{Text: s, Options: []tool.Option{{Label: s, Description: s}}}}})}, Mode: string(permission.Default)}
		if err := v.turns(r, f.state, window{}); err != nil {
			t.Fatal(err)
		}
		v.side(r, f, session.Info{})
		v.closed(r, f.state, new(live), []string{"c1.0"})
		var out bytes.Buffer
		if err := pages.ExecuteTemplate(&out, "session", v); err != nil {
			t.Fatal(err)
		}
		checkPage(t, &out, 1)
	})
}

// checkPage fails if a page has an element, an attribute or a character that a text has brought along.
func checkPage(t *testing.T, page io.Reader, want int) {
	t.Helper()
	scripts := 0
	for z := html.NewTokenizer(page); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		if kind == html.TextToken {
			if shown := z.Token().Data; strings.ContainsAny(shown, "\u202e\u2066\u200b\x1b") {
				t.Errorf("characters hide or reorder others in %q", shown)
			}
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		tag := z.Token()
		switch tag.Data {
		case "script":
			scripts++
		case "img", "iframe", "style", "object", "embed", "base", "math", "video", "audio":
			t.Errorf("the page has %s", tag)
		}
		for _, a := range tag.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" && a.Val != "/app.js" {
				t.Errorf("the page has %s", tag)
			}
			own := tag.Data == "link" && a.Val == "data:," || strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") || strings.HasPrefix(a.Val, "?") || strings.HasPrefix(a.Val, "#")
			if (a.Key == "href" || a.Key == "action" || a.Key == "formaction") && !own && !markdown.SafeURL(a.Val) {
				t.Errorf("the page leads to %s", tag)
			}
		}
	}
	if scripts != want {
		t.Errorf("the page has %d scripts", scripts)
	}
}

package serve

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// The page of a session in a browser: text comes while it is written, a question takes no early
// click, an answer of somebody else closes its card, messages are steered, queued and stopped, and
// the page survives the death of its server. No page breaks its policy or asks another server.
func TestSessionInBrowser(t *testing.T) {
	b := newBrowser(t)
	g := gated{make(chan string)}
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(_ context.Context, _ tool.Call, in struct {
		Path string `json:"path"`
	}) (*tool.Result, error) {
		return tool.Text("wrote " + in.Path), nil
	})
	s := newSite(t, agent.Agent{Model: scripted{gated: g, asked: new(atomic.Int32), first: 3, script: llmtest.Script(
		llmtest.Call(llmtest.Use("", "write", map[string]string{"path": hostile})),
		llmtest.Call(llmtest.Use("", "write", map[string]string{"path": "b.txt"})),
		llmtest.Say("# Done\n\nIt is **written**, see `b.txt`:\n\n| file | lines |\n|---|---|\n| b.txt | 3 |\n"),
	)}, Tools: []tool.Tool{write}}, func(s *Server) {
		s.User = func(*http.Request) (string, error) { return "ada", nil } // the browser has no cookie yet
	})
	say := func(piece string) {
		t.Helper()
		select {
		case g.pieces <- piece:
		case <-time.After(time.Minute):
			t.Fatalf("nobody asks the model for %q; the page is\n%s", piece, b.eval("document.documentElement.outerHTML"))
		}
	}
	b.look(1400, 900, "light")
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"make the tests pass"}`, 201, nil)
	b.open(s.http.URL + "/s/chat")
	// An early click answers nothing.
	b.until(`document.querySelector("#asks .go")`)
	b.open(s.http.URL + "/s/chat")
	if b.eval(`document.querySelector("#asks .go").disabled`) != "true" {
		t.Error("a question can be answered as soon as it is shown")
	}
	b.until(`document.title.startsWith("? ") && document.getElementById("net").textContent.startsWith("connected")`)
	b.shoot("question")
	b.until(`!document.querySelector("#asks .go").disabled`)
	b.eval(`document.querySelector("#asks [name=reason]").value = "typed"; document.querySelector("#asks [name=reason]").focus()`)
	// Somebody else answers: the card goes, though it has the focus and a text, and the page says who.
	var open questionList
	s.do("GET", "/v1/sessions/chat/pending", "", 200, &open)
	s.do("POST", "/v1/sessions/chat/calls/"+open.Questions[0].Call+"/decision", `{"behavior":"allow"}`, 200, nil)
	b.until(`document.getElementById("said").textContent.includes("allow by ada")`)
	b.until(`document.querySelectorAll("#asks .ask").length === 1 && document.querySelector("#asks h2").textContent.includes("b.txt")`)
	b.until(`!document.querySelector("#asks .go").disabled`)
	b.eval(`document.activeElement.blur(); document.dispatchEvent(new KeyboardEvent("keydown", {key: "a"}))`)
	if got := b.eval(`document.activeElement.textContent`); got != "Allow once" {
		t.Errorf("the key a focuses %q", got)
	}
	b.eval(`document.activeElement.click()`)
	b.until(`document.querySelector(".prose table") && document.querySelector("#buttons .go").value === "prompt"`)
	b.shoot("light")
	for _, step := range [][2]string{{"k", `document.activeElement.tagName === "SUMMARY"`}, {"o", `document.activeElement.parentElement.open`}, {"j", `document.activeElement.tagName === "SUMMARY"`}, {"/", `document.activeElement.id === "find"`}} {
		b.eval(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "` + step[0] + `", bubbles: true, cancelable: true}))`)
		if b.eval(step[1]) != "true" {
			t.Errorf("the key %s: not %s", step[0], step[1])
		}
	}
	// A prompt from the page, with an answer that comes piece by piece.
	b.eval(`document.getElementById("main").focus(); composer.text.value = "go on"; composer.text.dispatchEvent(new Event("input"))`)
	if got := b.eval(`sessionStorage.getItem("draft chat")`); got != "go on" {
		t.Errorf("the draft is %q", got)
	}
	b.eval(`composer.querySelector(".go").click()`)
	say("first ")
	b.until(`document.getElementById("live").textContent === "first "`)
	say("second")
	b.until(`document.getElementById("live").textContent === "first second" && composer.text.value === ""`)
	b.until(`document.querySelector("#buttons .go").value === "steer"`)
	b.shoot("stream")
	for _, step := range []string{"steer", "follow_up"} { // both wait for the answer
		b.eval(`composer.text.value = "please ` + step + `"; composer.querySelector("[value=` + step + `]").click()`)
		b.until(`document.getElementById("queue").textContent.includes("please ` + step + `")`)
	}
	b.eval(`composer.querySelector("[formaction]").click()`)
	b.until(`document.querySelector(".end.interrupted") && document.querySelector("#buttons .go").value === "prompt"`)
	// New items wait below, if somebody reads further up.
	b.look(1400, 400, "light")
	b.eval(`document.getElementById("main").scrollTop = 0`)
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"from elsewhere"}`, 202, nil)
	b.until(`!news.hidden && news.textContent.startsWith("↓ ")`)
	b.eval(`news.click()`)
	b.until(`news.hidden`)
	say("third")
	say("")
	b.until(`items.textContent.includes("third")`)
	b.look(1400, 900, "light")

	// The server dies. Another one takes its place, and the page goes on.
	address := s.http.Listener.Addr().String()
	s.http.Listener.Close()
	s.http.CloseClientConnections()
	b.until(`document.getElementById("net").textContent === "not connected"`)
	s.close()
	next := newSiteAt(t, address, *s.agent, func(n *Server) { n.User = s.server.User })
	next.do("POST", "/v1/sessions/chat/messages", `{"text":"after the death"}`, 202, nil)
	say("risen")
	say("")
	b.until(`items.textContent.includes("risen") && document.getElementById("net").textContent.startsWith("connected")`)
	if got := b.eval(`[...items.querySelectorAll("article")].map((a) => a.id).filter((id, i, all) => all.indexOf(id) !== i).join()`); got != "" {
		t.Errorf("items are there twice: %s", got)
	}

	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1400, 500} {
			b.look(width, 1000, scheme)
			if got := b.eval(audit); got != "" {
				t.Errorf("%s, %d pixels wide: %s", scheme, width, got)
			}
			b.shoot(fmt.Sprintf("%s%d", scheme, width))
		}
	}
	// Without scripts the page can be read, and its forms work.
	b.look(1400, 900, "light")
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(next.http.URL + "/s/chat?plain=1")
	if got := b.eval(`items.textContent.includes("risen") && getComputedStyle(document.querySelector("#buttons .go")).display !== "none"`); got != "true" {
		t.Error("without scripts, the page lacks its text")
	}
	b.eval(`composer.text.value = "without scripts"; composer.querySelector(".go").click()`)
	say("read")
	say("")
	b.until(`document.readyState === "complete" && location.href.endsWith("/s/chat")`)
	b.until(`items.textContent.includes("without scripts")`)
	b.shoot("plain")
	b.clean(next.http.URL, "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")
}

// scripted answers as a script at first, then as a gated model.
type scripted struct {
	gated
	script llm.Model
	asked  *atomic.Int32
	first  int32 // answers of the script
}

func (s scripted) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	if s.asked.Add(1) <= s.first {
		return s.script.Stream(ctx, r)
	}
	return s.gated.Stream(ctx, r)
}

// audit tells what is wrong with a page for people who see badly or use the keyboard: texts of a
// contrast below 4.5, controls without a name, an order of focus that is not that of the page, and a
// page wider than its window.
const audit = `(() => {
	const wrong = [], rgb = (c) => (c.match(/[\d.]+/g) || []).map(Number);
	const light = (c) => c.slice(0, 3).map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
	const back = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length && c[3] !== 0) return c; } return [255, 255, 255]; };
	for (const e of document.body.querySelectorAll("*")) {
		if (!e.getClientRects().length || getComputedStyle(e).visibility === "hidden" || e.disabled) continue;
		if ([...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) {
			const style = getComputedStyle(e), a = light(rgb(e.namespaceURI.includes("svg") ? style.fill : style.color)), b = light(back(e));
			const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
			if (ratio < 4.5) wrong.push("contrast " + ratio.toFixed(1) + " of " + e.tagName + " " + e.className + " " + e.textContent.slice(0, 30));
		}
		if (/^(A|BUTTON|INPUT|SELECT|TEXTAREA|SUMMARY)$/.test(e.tagName) && e.type !== "hidden") {
			const name = e.getAttribute("aria-label") || e.textContent.trim() || (e.labels && e.labels.length && e.labels[0].textContent.trim());
			if (!name) wrong.push("no name: " + e.outerHTML.slice(0, 80));
		}
		if (e.tabIndex > 0) wrong.push("tabindex: " + e.outerHTML.slice(0, 80));
	}
	if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the window: " + document.documentElement.scrollWidth);
	return wrong.slice(0, 10).join("\n");
})()`

// The pages beside the conversation can be read by everybody, and break no policy.
func TestViewsInBrowser(t *testing.T) {
	b := newBrowser(t)
	s, _ := workSite(t)
	s.server.User = func(*http.Request) (string, error) { return "", nil } // the browser has no cookie yet
	for scheme, width := range map[string]int{"light": 1200, "dark": 500} {
		b.look(width, 900, scheme)
		for _, path := range []string{"/", "/s/chat/timeline", "/s/chat/files?file=a.txt", "/s/chat/files?to=1", "/s/chat/events", "/stats", "/doctor"} {
			b.open(s.http.URL + path)
			if got := b.eval(audit); got != "" {
				t.Errorf("%s, %s, %d pixels wide: %s", path, scheme, width, got)
			}
			b.shoot(fmt.Sprintf("view%s-%s%d", strings.NewReplacer("/", "_", "?", "_").Replace(path), scheme, width))
		}
	}
	// A bar of the timeline leads to its place in the conversation.
	b.open(s.http.URL + "/s/chat/timeline")
	b.eval(`document.querySelector("svg.chart a rect.tool").parentElement.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}))`)
	b.until(`location.pathname === "/s/chat" && document.querySelector("details[open]") && document.querySelector("details[open]").id === location.hash.slice(1)`)
	b.clean(s.http.URL)
}

package serve

import (
	"context"
	"net/http"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// A page that nobody sees tells by a notification that a question waits and that the run has ended, but
// only after the person has asked for that.
func TestNotificationsInBrowser(t *testing.T) {
	b := newBrowser(t)
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		return tool.Text("written"), nil
	})
	var steps []llmtest.Step
	for range 3 {
		steps = append(steps, llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done"))
	}
	s := newSite(t, agent.Agent{Tools: []tool.Tool{write}, Model: llmtest.Script(steps...)}, func(s *Server) {
		s.User = func(*http.Request) (string, error) { return "ada", nil } // the browser has no cookie yet
	})
	decide := func() {
		t.Helper()
		var list questionList
		s.do("GET", "/v1/sessions/chat/pending", "", 200, &list)
		s.do("POST", "/v1/sessions/chat/calls/"+list.Questions[0].Call+"/decision", `{"behavior":"allow"}`, 200, nil)
	}
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	b.call("Browser.grantPermissions", map[string]any{"origin": s.http.URL, "permissions": []string{"notifications"}}, nil)
	// The test notes the notifications, says whether somebody sees the page, and has less time.
	b.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `
		const every = setInterval;
		window.setInterval = (f, ms) => every(f, ms / 50);
		window.notes = [];
		window.unseen = false;
		Object.defineProperty(document, "hidden", {get: () => unseen});
		window.Notification = class extends Notification { constructor(title, o) { super(title, o); notes.push(o.body); } };
		window.hide = (is) => { unseen = is; document.dispatchEvent(new Event("visibilitychange")); };
	`}, nil)
	b.open(s.http.URL + "/s/chat")
	told := func(about, want string) {
		t.Helper()
		if got := b.eval(`notes.splice(0).join()`); got != want {
			t.Errorf("%s: the notifications are %q, want %q", about, got, want)
		}
	}
	const asks, ended = `document.querySelector(".ask")`, `!document.querySelector(".ask") && !("since" in document.getElementById("status").dataset)`
	b.until(asks)
	if got := b.eval(`const bell = document.getElementById("notify"); [bell.hidden, bell.ariaPressed, Notification.permission].join()`); got != "false,false,granted" {
		t.Fatalf("the button is %s", got)
	}

	b.eval(`hide(true)`)
	decide()
	b.eval(`hide(false)`)
	b.until(ended)
	told("nobody has asked for them", "")

	b.eval(`bell.click()`)
	b.until(`bell.ariaPressed === "true"`)
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"two"}`, 202, nil)
	b.until(asks)
	told("somebody sees the page", "")
	b.shoot("notify")
	b.eval(`hide(true)`)
	decide()
	b.until(`notes.length`)
	told("the end of a run", "The run has ended.")

	s.do("POST", "/v1/sessions/chat/messages", `{"text":"three"}`, 202, nil)
	b.until(`notes.length`)
	told("a question", "A question waits for you.")
	// Its buttons wait when somebody sees it again.
	if got := b.eval(`hide(false); document.querySelector(".ask button").disabled`); got != "true" {
		t.Error("a click that was meant for something else answers the question")
	}
	b.eval(`bell.click()`)
	b.until(`bell.ariaPressed === "false"`)
	b.eval(`hide(true)`)
	decide()
	b.eval(`hide(false)`)
	b.until(ended)
	told("nobody wants them any more", "")
	b.clean(s.http.URL)
}

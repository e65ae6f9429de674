package serve

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// post sends a form and returns the status and the body or place of the answer.
func (s *site) post(path string, form url.Values, status int) string {
	s.t.Helper()
	r := s.request("POST", path, form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, body, h := s.answer(r)
	if got != status {
		s.t.Fatalf("POST %s: %d %s, want %d", path, got, body, status)
	}
	return h.Get("Location") + body
}

func (s *site) page(path string) string {
	s.t.Helper()
	status, body, h := s.answer(s.request("GET", path, ""))
	if status != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		s.t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3)) ![i](https://evil.example/i.png) **bold** "'` + "\u202e"

// The pages work without scripts: begin a session, read it, answer, steer, stop. What models, tools
// and people write stays text.
func TestPages(t *testing.T) {
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct {
		Path string `json:"path"`
	}) (*tool.Result, error) {
		return tool.Text(hostile), nil
	})
	use := llmtest.Call(llmtest.Use("", "write", map[string]string{"path": hostile}))
	s := newSite(t, agent.Agent{Model: llmtest.Script(use, llmtest.Say(hostile), use, llmtest.Say("end")), Tools: []tool.Tool{write}})
	at := s.post("/sessions", url.Values{"text": {hostile}}, 303)
	id := strings.TrimPrefix(at, "/s/")
	r := s.open(id, 0)
	defer r.close()
	asks := func() string {
		t.Helper()
		var list questionList
		for s.do("GET", "/v1/sessions/"+id+"/pending", "", 200, &list); len(list.Questions) == 0; s.do("GET", "/v1/sessions/"+id+"/pending", "", 200, &list) {
			time.Sleep(time.Millisecond)
		}
		return list.Questions[0].Call
	}
	call := asks()
	body := s.page(at)
	for _, want := range []string{"Allow once", `value="steer"`, "Stop", "asks", `action="/s/` + id + `/calls/` + call + `"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page of a question lacks %s:\n%s", want, body)
		}
	}
	s.post("/s/"+id+"/calls/"+call, url.Values{"behavior": {"allow"}}, 303)
	if got := s.post("/s/"+id+"/calls/"+call, url.Values{"behavior": {"allow"}}, 409); !strings.Contains(got, "answered already") {
		t.Error(got)
	}
	r.until(t, isType("run_end"))
	s.post(at+"/messages", url.Values{"text": {"again"}, "delivery": {"prompt"}}, 303)
	call = asks()
	s.post("/s/"+id+"/calls/"+call, url.Values{"behavior": {"deny"}, "reason": {"not now"}}, 303)
	r.until(t, isType("run_end"))
	body = s.page(at)
	for _, want := range []string{"<strong>bold</strong>", "&lt;script&gt;", `class="call ok"`, `class="call denied"`, "not now", "2 turns", `value="prompt"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	for _, page := range []string{body, s.page("/"), s.page("/?q=" + url.QueryEscape(hostile)), s.page(at + "/part?since=1")} {
		for _, bad := range []string{"<script>", "<img", `href="javascript:`, "onerror=alert(2)>", "\u202e"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s is in the page:\n%s", bad, page)
			}
		}
	}
	if part := s.page(at + "/part?since=999999"); strings.Contains(part, "<article") || !strings.Contains(part, `data-running="false"`) {
		t.Errorf("nothing has changed, and the part is %s", part)
	}
	status, page, _ := s.answer(s.request("GET", "/s/none", ""))
	if status != 404 || !strings.Contains(page, "<main>") {
		t.Errorf("%d %s", status, page)
	}
}

// Without a cookie, pages show the form for the token. The form logs a browser in.
func TestLoginForm(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	anonymous := func(r *http.Request) (int, string, http.Header) {
		r.Header.Del("Authorization")
		return s.answer(r)
	}
	for _, path := range []string{"/", "/s/chat", "/login", "/login?code=old"} {
		if status, body, _ := anonymous(s.request("GET", path, "")); status != 401 || !strings.Contains(body, `name="token"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	login := func(token string) (int, http.Header) {
		r := s.request("POST", "/login", url.Values{"token": {token}}.Encode())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		status, _, h := anonymous(r)
		return status, h
	}
	if status, h := login("wrong"); status != 401 || h.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: %d", status)
	}
	status, h := login(testToken)
	if status != 303 || h.Get("Set-Cookie") == "" {
		t.Fatalf("%d %v", status, h)
	}
	r := s.request("GET", "/", "")
	value, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	r.Header.Set("Cookie", value)
	if status, body, _ := anonymous(r); status != 200 || !strings.Contains(body, "Begin a session") {
		t.Errorf("%d %s", status, body)
	}
}

// The pages stay small.
func TestPageWeight(t *testing.T) {
	for limit, names := range map[int][]string{20 << 10: {"app.js", "share.js"}, 12 << 10: {"style.css"}} {
		all := 0
		for _, name := range names {
			b, err := assetFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all += len(b)
		}
		if all > limit {
			t.Errorf("%v have %d bytes, the limit is %d", names, all, limit)
		}
	}
}

// A person can answer the question of a sub-agent on the page. Its id has a slash.
func TestQuestionOfAgentOnPage(t *testing.T) {
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("written"), nil })
	helper := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done")), Tools: []tool.Tool{write}}
	delegate := tool.New(tool.Spec{Name: "delegate", Description: "Delegates.", ReadOnly: true, Timeout: -1}, func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		if _, err := p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: "work"}}); err != nil {
			return nil, err
		}
		return tool.Text("helped"), nil
	})
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "delegate", struct{}{})), llmtest.Say("end")), Tools: []tool.Tool{delegate}})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
	_, after, _ := strings.Cut(s.page("/s/chat"), `<form method="post" action="/s/chat/calls/`)
	call, _, _ := strings.Cut(after, `"`)
	s.post("/s/chat/calls/"+call, url.Values{"behavior": {"allow"}}, 303)
	r.until(t, isType("run_end"))
}

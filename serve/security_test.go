package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// answer makes a request and returns the status and the body of the answer.
func (s *site) answer(r *http.Request) (int, string, http.Header) {
	s.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// filled returns the path of a route with a session and a call.
func filled(at route) string {
	return strings.NewReplacer("{$}", "", "{id}", "chat", "{call}", "c1").Replace(at.path)
}

// No route but health and login works without the token, not even on the same machine, and not with
// headers that claim to come from it.
func TestTokenIsNeeded(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	for _, at := range slices.Concat(routes, pageRoutes) {
		if at.open {
			continue
		}
		for name, change := range map[string]func(*http.Request){
			"no token":    func(r *http.Request) { r.Header.Del("Authorization") },
			"wrong token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("x", 32)) },
			"a part":      func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testToken[:31]) },
			"in the URL":  func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + testToken },
			"a cookie": func(r *http.Request) {
				r.Header.Del("Authorization")
				r.Header.Set("Cookie", s.server.cookieName()+"="+testToken)
			},
			"a claim": func(r *http.Request) {
				r.Header.Del("Authorization")
				r.Header.Set("X-Forwarded-For", "127.0.0.1")
				r.Header.Set("X-Real-IP", "127.0.0.1")
				r.Header.Set("Forwarded", "for=127.0.0.1")
			},
		} {
			r := s.request(at.method, filled(at), "{}")
			change(r)
			if status, body, _ := s.answer(r); status != 401 || strings.Contains(body, "hello") {
				t.Errorf("%s %s with %s: %d %s", at.method, at.path, name, status, body)
			}
		}
	}
	r := s.request("GET", "/v1/secret-path", "")
	r.Header.Del("Authorization")
	if status, _, _ := s.answer(r); status != 401 {
		t.Errorf("an unknown path without a token: %d", status)
	}
	s.fails("GET", "/v1/secret-path", "", 404, "not_found")
	s.fails("PUT", "/v1/sessions", "", 405, "method_not_allowed")
}

// A server whose token is missing or short serves nobody.
func TestShortToken(t *testing.T) {
	for _, token := range []string{"", "short"} {
		s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) { s.Token = token })
		r := s.request("GET", "/v1/sessions", "")
		r.Header.Set("Authorization", "Bearer "+token)
		if status, _, _ := s.answer(r); status != 401 {
			t.Errorf("the token %q works: %d", token, status)
		}
		if _, err := s.server.login(token, token); err == nil {
			t.Errorf("the token %q logs in", token)
		}
	}
}

// A page whose name was bound to this server's address sends its own name as Host.
func TestDNSRebinding(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	port := s.http.URL[strings.LastIndex(s.http.URL, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200,
		"evil.example": 421, "evil.example" + port: 421, "127.0.0.1.evil.example" + port: 421, "127.0.0.2" + port: 421, "127.0.0.1:1": 421,
		"localhost.evil.example" + port: 421, "[::1]" + port: 421, "0.0.0.0" + port: 421,
	} {
		for _, path := range []string{"/v1/sessions", "/v1/health", "/login?code=x"} {
			r := s.request("GET", path, "")
			r.Host = host
			got := want
			if want == 200 && strings.HasPrefix(path, "/login") {
				got = 401
			}
			if status, _, _ := s.answer(r); status != got {
				t.Errorf("Host %s at %s: %d, want %d", host, path, status, got)
			}
		}
	}
	s = newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) { s.Hosts = []string{"agents.example.com", "box:8443"} })
	for host, want := range map[string]int{"agents.example.com": 200, "Agents.Example.com:443": 200, "box:8443": 200, "box": 421, "127.0.0.1" + port: 421, "evil.example": 421} {
		r := s.request("GET", "/v1/sessions", "")
		r.Host = host
		if status, _, _ := s.answer(r); status != want {
			t.Errorf("Host %s: %d, want %d", host, status, want)
		}
	}
}

// Pages of other sites can neither change nor read anything, even with a valid cookie.
func TestCrossSite(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	for name, header := range map[string]map[string]string{
		"other origin":                {"Origin": "https://evil.example"},
		"null origin":                 {"Origin": "null"},
		"null origin of another site": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
		"other port":                  {"Origin": "http://127.0.0.1:1"},
		"cross-site fetch":            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
		"same-site fetch":             {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
		"frame":                       {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
	} {
		for _, at := range slices.Concat(routes, pageRoutes) {
			r := s.request(at.method, filled(at), "{}")
			for k, v := range header {
				r.Header.Set(k, v)
			}
			r.Header.Set("Accept", "text/event-stream")
			status, _, h := s.answer(r)
			if status != 403 {
				t.Errorf("%s: %s %s: %d", name, at.method, at.path, status)
			}
			for k := range h {
				if strings.HasPrefix(k, "Access-Control-") {
					t.Errorf("%s: %s %s answers with %s", name, at.method, at.path, k)
				}
			}
		}
	}
	r := s.request("OPTIONS", "/v1/sessions", "")
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	if status, _, _ := s.answer(r); status < 400 {
		t.Errorf("a preflight request is answered with %d", status)
	}
	r = s.request("POST", "/v1/sessions/chat/messages", `{"text":"x"}`)
	r.Header.Set("Content-Type", "text/plain") // what a form of another site can send
	if status, _, _ := s.answer(r); status != 415 {
		t.Errorf("a body that is not JSON: %d", status)
	}
	r = s.request("GET", "/v1/sessions", "")
	r.Header.Set("Origin", s.http.URL)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if status, _, _ := s.answer(r); status != 200 {
		t.Errorf("the own origin: %d", status)
	}
}

// A login code works once. It leaves a cookie that scripts cannot read and other sites cannot send.
func TestLoginCode(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	code := s.server.LoginCode()
	get := func(path, cookie string) (int, http.Header) {
		r := s.request("GET", path, "")
		r.Header.Del("Authorization")
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		status, body, h := s.answer(r)
		if strings.Contains(body, code) || strings.Contains(body, testToken) {
			t.Errorf("%s: a secret is in %s", path, body)
		}
		return status, h
	}
	status, h := get("/login?code="+url.QueryEscape(code), "")
	cookie := h.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie has no %s: %s", part, cookie)
		}
	}
	if status != http.StatusSeeOther || h.Get("Location") != "/" || strings.Contains(cookie, testToken) || strings.Contains(cookie, code) {
		t.Fatalf("%d %v", status, h)
	}
	value, _, _ := strings.Cut(cookie, ";")
	if status, _ := get("/v1/sessions", value); status != 200 {
		t.Errorf("with the cookie: %d", status)
	}
	if status, h := get("/login?code="+code, ""); status != 401 || h.Get("Set-Cookie") != "" {
		t.Errorf("the second use of the code: %d", status)
	}
	if status, h := get("/login?code="+testToken, ""); status != 401 || h.Get("Set-Cookie") != "" {
		t.Errorf("the token as a code: %d", status)
	}
	if status, _ := get("/v1/sessions", value+"x"); status != 401 {
		t.Errorf("with another cookie: %d", status)
	}
}

// Codes and cookies end, and there are 10 logins a minute.
func TestLoginTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Token: testToken}
		old := s.LoginCode()
		time.Sleep(codeTime + time.Second)
		if _, err := s.login(old, ""); err == nil {
			t.Error("an old code works")
		}
		cookie, err := s.login(s.LoginCode(), "")
		if err != nil || !s.loggedIn(cookie) {
			t.Fatal(err)
		}
		for range maxLogins - 1 {
			if _, err := s.login("guess", "guess"); errorOf(err).Status != 401 {
				t.Fatal(err)
			}
		}
		if _, err := s.login("guess", "guess"); errorOf(err).Status != 429 {
			t.Errorf("guess number %d: %v", maxLogins+1, err)
		}
		if _, err := s.login(s.LoginCode(), ""); err != nil { // who guesses keeps nobody out
			t.Error(err)
		}
		time.Sleep(time.Minute + time.Second)
		if _, err := s.login("guess", "guess"); errorOf(err).Status != 401 {
			t.Error(err)
		}
		time.Sleep(cookieTime)
		if s.loggedIn(cookie) {
			t.Error("an old cookie works")
		}
	})
}

// All answers forbid scripts of others, frames, sniffing and referrers.
func TestHeaders(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	for _, path := range []string{"/", "/s/none", "/style.css", "/v1/health", "/v1/sessions", "/v1/sessions/none", "/unknown"} {
		_, _, h := s.answer(s.request("GET", path, ""))
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy has no %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
			h.Get("Cross-Origin-Opener-Policy") != "same-origin" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" || !strings.HasPrefix(h.Get("Cache-Control"), "no-store") && path != "/style.css" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// Bodies and streams are bounded, and ids stay in the store.
func TestLimits(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":"`+strings.Repeat("x", maxBody)+`"}`, 413, "too_large")
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":"x"} {}`, 400, "bad_request")
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":"x","unknown":1}`, 400, "bad_request")
	s.fails("POST", "/v1/sessions/chat/messages", `{"blocks":[{"type":"tool_use","id":"a","name":"b","input":{}}]}`, 400, "bad_request")
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":" "}`, 400, "bad_request")
	for _, id := range []string{"..%2F..%2Fetc", "%2e%2e", "a%2Fb", "a%5Cb", "a%00b", strings.Repeat("x", 201)} {
		s.fails("GET", "/v1/sessions/"+id+"/pending", "", 400, "bad_request")
	}
	s.fails("POST", "/v1/sessions", `{"session":"../x","text":"x"}`, 400, "bad_request")
	s.fails("GET", "/v1/sessions/none", "", 404, "not_found")
	s.fails("GET", "/v1/sessions/none/events", "", 404, "not_found")
	s.fails("POST", "/v1/sessions/none/messages", `{"text":"x"}`, 404, "not_found")
	s.fails("GET", "/v1/sessions/chat/events?after=-1", "", 400, "bad_request")
	var all []*reader
	for range maxStreams {
		all = append(all, s.open("chat", 0))
	}
	r := s.request("GET", "/v1/sessions/chat/events", "")
	r.Header.Set("Accept", "text/event-stream")
	if status, _, _ := s.answer(r); status != 429 {
		t.Errorf("stream number %d: %d", maxStreams+1, status)
	}
	for _, r := range all {
		r.close()
	}
	r = s.request("GET", "/v1/sessions/chat/events", "")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", "9999")
	for {
		status, body, _ := s.answer(r)
		if status == 429 { // the streams end
			time.Sleep(time.Millisecond)
			continue
		}
		if status != 404 || !strings.Contains(body, "no_such_fact") {
			t.Errorf("after a fact that is not there: %d %s", status, body)
		}
		break
	}
}

// The mode that asks nothing cannot be set over HTTP.
func TestBypassPermissions(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))})
	s.fails("POST", "/v1/sessions", `{"session":"chat","text":"x","mode":"bypassPermissions"}`, 403, "not_over_http")
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	s.fails("PATCH", "/v1/sessions/chat", `{"mode":"bypassPermissions"}`, 403, "not_over_http")
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":"x","mode":"bypassPermissions"}`, 403, "not_over_http")
	s.fails("PATCH", "/v1/sessions/chat", `{"mode":"bypasspermissions"}`, 400, "bad_request")
	s.fails("PATCH", "/v1/sessions/chat", `{"mode":""}`, 400, "bad_request")
	s.fails("PATCH", "/v1/sessions/chat", `{"title":"`+strings.Repeat("x", 1<<20)+`"}`, 400, "bad_request")
	s.fails("POST", "/v1/sessions", `{"session":"other","text":"hello","title":"`+strings.Repeat("x", 1<<20)+`"}`, 400, "bad_request")
	s.fails("GET", "/v1/sessions/other", "", 404, "not_found")
	var info sessionInfo
	if s.do("PATCH", "/v1/sessions/chat", `{"mode":"plan","title":"T","tag":"red"}`, 200, &info); info.Mode != "plan" || info.Title != "T" || info.Tag != "red" {
		t.Errorf("%+v", info)
	}
}

// A session that was left in the mode that asks nothing leaves it, unless the agent has the mode.
func TestLeftInBypass(t *testing.T) {
	for mode, want := range map[permission.Mode]permission.Mode{"": permission.Default, permission.Plan: permission.Plan, permission.Bypass: permission.Bypass} {
		store := session.Memory()
		old := (&agent.Agent{Program: "p", Model: llmtest.Script(llmtest.Say("one")), Sessions: store, Permissions: permission.Policy{Mode: permission.Bypass}}).Session("chat")
		if _, err := old.Prompt(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		old.Close()
		s := newSite(t, agent.Agent{Program: "p", Model: llmtest.Script(llmtest.Say("one")), Sessions: store, Permissions: permission.Policy{Mode: mode}})
		s.do("POST", "/v1/sessions/chat/messages", `{"text":"more"}`, 202, nil)
		var info sessionInfo
		if s.do("GET", "/v1/sessions/chat", "", 200, &info); info.Mode != string(want) {
			t.Errorf("an agent in mode %q has the session in %q, want %q", mode, info.Mode, want)
		}
	}
}

// Going back to a time in which the session asked nothing does not bring that mode back.
func TestRewindIntoBypass(t *testing.T) {
	store, ran := session.Dir(t.TempDir()), atomic.Int32{}
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		ran.Add(1)
		return tool.Text("written"), nil
	})
	old := (&agent.Agent{Program: "p", Model: llmtest.Script(llmtest.Say("one"), llmtest.Say("two")), Sessions: store}).Session("chat")
	if err := old.SetMode(t.Context(), permission.Bypass); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Prompt(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	latest, err := session.Last(t.Context(), store, "chat", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.SetMode(t.Context(), permission.Default); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Prompt(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	old.Close()

	s := newSite(t, agent.Agent{Program: "p", Model: llmtest.Script(llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("end")), Tools: []tool.Tool{write}, Sessions: store})
	s.do("POST", "/v1/sessions/chat/rewind", fmt.Sprintf(`{"fact":%d}`, latest[0].Seq), 200, nil)
	var info sessionInfo
	if s.do("GET", "/v1/sessions/chat", "", 200, &info); info.Mode != string(permission.Default) {
		t.Errorf("the session is in mode %q", info.Mode)
	}
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"write"}`, 202, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, func(got received) bool {
		return strings.Contains(got.data, "permission_request") || isType("tool_result")(got)
	})
	if ran.Load() != 0 {
		t.Error("the tool ran unasked")
	}
}

// A server that only shows sessions changes nothing.
func TestReadOnly(t *testing.T) {
	store := session.Memory()
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one")), Sessions: store})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	s = newSite(t, agent.Agent{Model: llmtest.Script(), Sessions: store}, func(s *Server) { s.ReadOnly = true })
	for _, at := range pageRoutes {
		if at.method != "GET" && !at.open {
			if status, body, _ := s.answer(s.request(at.method, filled(at), "")); status != 403 {
				t.Errorf("%s: %d %s", at.path, status, body)
			}
		}
	}
	for _, at := range routes {
		if at.method != "GET" {
			s.fails(at.method, filled(at), "{}", 403, "read_only")
		}
	}
	s.do("GET", "/v1/sessions/chat", "", 200, nil)
}

// The log says why the server could not do something, and the answer does not.
func TestInternalErrors(t *testing.T) {
	var log bytes.Buffer
	s := newSite(t, agent.Agent{}, func(s *Server) {
		s.Log = slog.New(slog.NewTextHandler(&log, nil))
		s.Agent = func(context.Context, Place) (*agent.Agent, error) {
			return nil, errors.New("the key is in /etc/secret")
		}
	})
	if status, body, _ := s.answer(s.request("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`)); status != 500 || strings.Contains(body, "/etc/secret") {
		t.Errorf("%d %s", status, body)
	}
	s.close()
	if !strings.Contains(log.String(), "/etc/secret") {
		t.Errorf("the log says %s", log.String())
	}
}

// Users see their own sessions only.
func TestUsers(t *testing.T) {
	stores := map[string]session.Store{"ada": session.Dir(filepath.Join(t.TempDir(), "a")), "bob": session.Dir(filepath.Join(t.TempDir(), "b"))}
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("one"), llmtest.Say("two"))}
	var places []Place
	s := &Server{Token: testToken, Sessions: func(user string) session.Store { return stores[user] }, Agent: func(_ context.Context, at Place) (*agent.Agent, error) { places = append(places, at); return a, nil },
		User: func(r *http.Request) (string, error) {
			if user := r.Header.Get("X-User"); stores[user] != nil {
				return user, nil
			}
			return "", errors.New("nobody")
		}}
	h := httptest.NewServer(s)
	defer h.Close()
	defer s.Shutdown(context.Background())
	do := func(user, method, path, body string) int {
		r, _ := http.NewRequest(method, h.URL+path, strings.NewReader(body))
		r.Header.Set("X-User", user)
		r.Header.Set("Authorization", "Bearer "+testToken) // it counts for nothing here
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for _, c := range []struct {
		user, method, path, body string
		want                     int
	}{
		{"ada", "POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201},
		{"ada", "GET", "/v1/sessions/chat", "", 200},
		{"bob", "GET", "/v1/sessions/chat", "", 404},
		{"bob", "GET", "/v1/sessions/chat/events", "", 404},
		{"bob", "POST", "/v1/sessions/chat/messages", `{"text":"x"}`, 404},
		{"bob", "DELETE", "/v1/sessions/chat", "", 404},
		{"bob", "POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201},
		{"eve", "GET", "/v1/sessions", "", 401},
		{"", "GET", "/v1/sessions", "", 401},
		{"ada", "GET", "/login?code=" + testToken, "", 404},
	} {
		if got := do(c.user, c.method, c.path, c.body); got != c.want {
			t.Errorf("%s: %s %s: %d, want %d", c.user, c.method, c.path, got, c.want)
		}
	}
	if len(places) != 2 || places[0].User != "ada" || places[1].User != "bob" || places[0].ID != "chat" {
		t.Errorf("%+v", places)
	}
}

// Logs and figures hold no secrets and no contents.
func TestLogs(t *testing.T) {
	var log bytes.Buffer
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("the answer"))}, func(s *Server) { s.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	code := s.server.LoginCode()
	s.answer(s.request("GET", "/login?code="+code, ""))
	s.do("POST", "/v1/sessions", `{"session":"chat","id":"m1","text":"the prompt"}`, 201, nil)
	r := s.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	_, figures, _ := s.answer(s.request("GET", "/metrics", ""))
	for _, want := range []string{"openagent_sessions_open 1\n", "openagent_runs_total 1\n", `openagent_requests_total{route="POST /v1/sessions",status="201"} 1`} {
		if !strings.Contains(figures, want) {
			t.Errorf("the figures lack %s: %s", want, figures)
		}
	}
	s.close()
	for _, secret := range []string{code, testToken, "the prompt", "the answer"} {
		if strings.Contains(log.String()+figures, secret) {
			t.Errorf("%q is in the logs or figures:\n%s", secret, log.String())
		}
	}
	for _, want := range []string{"message=m1", "by=api", `route="POST /v1/sessions"`, "browser logged in"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}

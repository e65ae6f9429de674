package serve

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// Each caller has requests of its own, and they come back with time.
func TestRequestLimits(t *testing.T) {
	const perSecond = 2
	for _, c := range []struct {
		name         string
		by, other    caller
		wait         time.Duration // after the first caller has sent all that it may
		first, after int           // requests of the first caller that are served then, and of the other
	}{
		{"at once", caller{user: "ada"}, caller{user: "eve"}, 0, 0, perSecond * burst},
		{"the token and browsers", caller{by: "api"}, caller{by: "web"}, 0, 0, perSecond * burst},
		{"a share and a user of its name", caller{share: "x"}, caller{user: "x"}, 0, 0, perSecond * burst},
		{"the same", caller{user: "ada", by: "ada"}, caller{user: "ada", by: "ada"}, 0, 0, 0},
		{"just before another one", caller{user: "ada"}, caller{user: "ada"}, 499 * time.Millisecond, 0, 0},
		{"after a second", caller{user: "ada"}, caller{user: "eve"}, time.Second, perSecond, perSecond * burst},
		{"after an hour", caller{user: "ada"}, caller{user: "eve"}, time.Hour, perSecond * burst, perSecond * burst},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var u usage
				served := func(who caller) (n int) {
					for u.take(who, perSecond) == 0 {
						n++
					}
					return n
				}
				if n := served(c.by); n != perSecond*burst {
					t.Errorf("%d requests at first", n)
				}
				if wait := u.take(c.by, perSecond); wait != time.Second/perSecond {
					t.Errorf("it has to wait %v", wait)
				}
				time.Sleep(c.wait)
				if n := served(c.by); n != c.first {
					t.Errorf("%d more after %v, want %d", n, c.wait, c.first)
				}
				if n := served(c.other); n != c.after {
					t.Errorf("%d of the other, want %d", n, c.after)
				}
			})
		})
	}
}

// Callers who have sent nothing for a while need no memory.
func TestBucketsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u usage
		for i := range 10 * manyBuckets {
			u.take(caller{user: strconv.Itoa(i)}, 1)
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(u.buckets); n > manyBuckets {
			t.Errorf("%d buckets", n)
		}
	})
}

// tooFast sends requests until one is refused. It returns their number.
func (s *site) tooFast(most int, request func() *http.Request) (served int, body string, h http.Header) {
	s.t.Helper()
	for served <= most {
		status, body, h := s.answer(request())
		if status == http.StatusTooManyRequests {
			return served, body, h
		}
		served++
	}
	s.t.Fatalf("%d requests, and none was refused", served)
	return 0, "", nil
}

// The API, the adapters, the pages and unknown paths count for one limit. Refusals say when to try again,
// and are counted. They keep nobody else out, and strangers use nothing up.
func TestUserRequests(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) {
		s.UserRequests = 1
		s.User = func(r *http.Request) (string, error) {
			if name := r.Header.Get("X-User"); name != "" {
				return name, nil
			}
			return "", http.ErrNoCookie
		}
	})
	as := func(user, path string) *http.Request {
		r := s.request("GET", path, "")
		r.Header.Set("X-User", user)
		return r
	}
	for range 3 * burst { // a stranger
		if status, _, _ := s.answer(as("", "/v1/sessions")); status != http.StatusUnauthorized {
			t.Fatalf("without a login: %d", status)
		}
	}
	paths := []string{"/v1/sessions", "/", "/nowhere", "/openai/v1/models", "/stats"}
	n := 0
	served, _, h := s.tooFast(2*burst, func() *http.Request {
		n++
		return as("ada", paths[n%len(paths)])
	})
	if served < burst || h.Get("Retry-After") != "1" {
		t.Errorf("%d requests, headers %v", served, h)
	}
	for _, c := range []struct{ path, kind, says string }{
		{"/v1/sessions", "application/json", `"code":"too_many_requests"`},
		{"/openai/v1/models", "application/json", `"type":"rate_limit_error"`},
		{"/nowhere", "application/json", `"code":"too_many_requests"`},
		{"/", "text/html", "too many requests"},
	} {
		_, body, h := s.tooFast(2*burst, func() *http.Request { return as("ada", c.path) })
		if !strings.HasPrefix(h.Get("Content-Type"), c.kind) || !strings.Contains(body, c.says) || h.Get("Retry-After") == "" {
			t.Errorf("%s: %v %s", c.path, h, body)
		}
	}
	status, body, _ := s.answer(as("eve", "/metrics"))
	if status != 200 || !strings.Contains(body, `openagent_refused_total{limit="requests"} 5`) {
		t.Errorf("another user: %d %s", status, body)
	}
}

// Programs with the token do not keep the person in the browser out.
func TestTokenAndBrowser(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) { s.UserRequests = 1 })
	_, _, h := s.answer(s.request("GET", "/login?code="+s.server.LoginCode(), ""))
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	s.tooFast(2*burst, func() *http.Request { return s.request("GET", "/v1/sessions", "") })
	r := s.request("GET", "/", "")
	r.Header.Del("Authorization")
	r.Header.Set("Cookie", cookie)
	if status, body, _ := s.answer(r); status != 200 {
		t.Errorf("the browser: %d %s", status, body)
	}
}

// Requests with wrong tokens are limited. The right token, and logins, work meanwhile.
func TestWrongTokens(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	served, body, h := s.tooFast(2*maxWrong, func() *http.Request {
		r := s.request("GET", "/v1/sessions", "")
		r.Header.Set("Authorization", "Bearer "+strings.Repeat("x", len(testToken)))
		return r
	})
	if served != maxWrong || h.Get("Retry-After") != "60" || !strings.Contains(body, "too_many_logins") {
		t.Errorf("%d wrong tokens, then %v %s", served, h, body)
	}
	s.do("GET", "/v1/sessions", "", 200, nil)
	if status, _, _ := s.answer(s.request("GET", "/login?code="+s.server.LoginCode(), "")); status != http.StatusSeeOther {
		t.Errorf("a login: %d", status)
	}
}

// A user has so many streams and runs, and leaves the others to others.
func TestUserStreamsAndRuns(t *testing.T) {
	g := gated{make(chan string)}
	store := map[string]session.Store{}
	for _, user := range []string{"ada", "eve"} {
		store[user] = session.Dir(t.TempDir())
	}
	s := newSite(t, agent.Agent{Model: g}, func(s *Server) {
		s.MaxStreams, s.MaxSessions, s.UserStreams = 5, 4, 2
		s.User = func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }
		s.Sessions = func(user string) session.Store { return store[user] }
		s.Agent = func(_ context.Context, at Place) (*agent.Agent, error) {
			return &agent.Agent{Model: g, Sessions: store[at.User]}, nil
		}
	})
	as := func(user, method, path, body string) *http.Request {
		r := s.request(method, path, body)
		r.Header.Set("X-User", user)
		return r
	}
	begin := func(user, id string) (int, string, http.Header) {
		return s.answer(as(user, "POST", "/v1/sessions", fmt.Sprintf(`{"session":%q,"text":"go","id":%q}`, id, "m-"+id)))
	}
	for _, id := range []string{"a1", "a2"} { // half of MaxSessions
		if status, body, _ := begin("ada", id); status != 201 {
			t.Fatal(status, body)
		}
	}
	if status, body, h := begin("ada", "a3"); status != 429 || !strings.Contains(body, "too_many_runs") || h.Get("Retry-After") == "" {
		t.Errorf("a third run: %d %s %v", status, body, h)
	}
	if status, body, _ := begin("ada", "a1"); status != 201 || !strings.Contains(body, `"known":true`) {
		t.Errorf("a message that is sent again: %d %s", status, body)
	}
	chat := as("ada", "POST", "/openai/v1/chat/completions", `{"model":"agent","messages":[{"role":"user","content":"hello"}]}`)
	if status, body, _ := s.answer(chat); status != 429 || !strings.Contains(body, "too_many_runs") {
		t.Errorf("a third run by an adapter: %d %s", status, body)
	}
	watch := func(user, id string) *http.Response {
		r := as(user, "GET", "/v1/sessions/"+id+"/events", "")
		r.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	for i, want := range []int{200, 200, 429} {
		if res := watch("ada", "a1"); res.StatusCode != want {
			t.Errorf("stream %d of ada: %d, want %d", i+1, res.StatusCode, want)
		}
	}
	if status, body, _ := begin("eve", "e1"); status != 201 {
		t.Fatal(status, body)
	}
	if res := watch("eve", "e1"); res.StatusCode != 200 {
		t.Errorf("a stream of eve: %d", res.StatusCode)
	}
	// The end of a run makes room for another one.
	if status, body, _ := s.answer(as("ada", "POST", "/v1/sessions/a1/interrupt", "{}")); status != 200 {
		t.Fatal(status, body)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		status, body, _ := begin("ada", "a3")
		if status == 201 {
			break
		}
		if status != 429 || time.Now().After(end) {
			t.Fatal(status, body)
		}
	}
	_, figures, _ := s.answer(as("eve", "GET", "/metrics", ""))
	for _, want := range []string{`openagent_refused_total{limit="streams"} 1`, `openagent_refused_total{limit="runs"} `} {
		if !strings.Contains(figures, want) {
			t.Errorf("no %s in %s", want, figures)
		}
	}
}

// The only user has no limits but those of the server, unless they are set.
func TestLimitsOfUsers(t *testing.T) {
	several := func(*http.Request) (string, error) { return "", nil }
	for _, c := range []struct {
		server        *Server
		streams, runs int
	}{
		{&Server{}, math.MaxInt, math.MaxInt},
		{&Server{UserStreams: 2, UserRuns: 1}, 2, 1},
		{&Server{User: several}, 32, 32},
		{&Server{User: several, MaxStreams: 9, MaxSessions: 1}, 5, 1},
		{&Server{User: several, UserStreams: 50, UserRuns: 60}, 50, 60},
	} {
		s := c.server
		if streams, runs := s.ofUser(s.UserStreams, s.streamLimit()), s.runLimit(); streams != c.streams || runs != c.runs {
			t.Errorf("%d streams and %d runs of a user, want %d and %d", streams, runs, c.streams, c.runs)
		}
	}
}

// Those who watch a share have requests of its own. The owner and other shares keep theirs.
func TestShareLimits(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	made, _ := s.share(`{"session":"chat"}`)
	other, _ := s.share(`{"session":"chat"}`)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = s.http.Listener.Addr().String()
		s.server.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, s.http.Listener.Addr())))
		return w
	}
	for range 3 * shareRequests * burst { // without the link
		if w := get("/share/" + strings.Repeat("0", 32)); w.Code != 404 {
			t.Fatal(w.Code, w.Body)
		}
	}
	served := 0
	for ; served < 10*shareRequests*burst; served++ {
		w := get(made.Path + "/part?since=1000000")
		if w.Code == 200 {
			continue
		}
		if w.Code != 429 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "too many requests") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		break
	}
	if served < shareRequests*burst || served == 10*shareRequests*burst {
		t.Errorf("%d requests", served)
	}
	if w := get(other.Path); w.Code != 200 {
		t.Errorf("another share: %d", w.Code)
	}
	s.do("GET", "/v1/sessions/chat", "", 200, nil)
}

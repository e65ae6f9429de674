package serve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Where browsers have a name of their own, they log in there alone. Loopback addresses are for programs,
// and tell nobody the name.
func TestNameForBrowsers(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) { s.Hosts = []string{"127.0.0.1", "localhost", "agents.example.com", "x-1.localhost"} })
	at, err := url.Parse(s.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name, path string, change func(*http.Request)) (int, http.Header) {
		t.Helper()
		r := s.request("GET", path, "")
		r.Header.Del("Authorization")
		r.Host = name + ":" + at.Port()
		if change != nil {
			change(r)
		}
		status, body, h := s.answer(r)
		if strings.Contains(body, "x-1.local") || strings.Contains(h.Get("Location"), "x-1.local") {
			t.Errorf("%s%s tells the name: %s", name, path, body)
		}
		return status, h
	}
	for _, name := range []string{"127.0.0.1", "localhost", "LOCALHOST"} {
		if status, h := ask(name, "/login?code="+s.server.LoginCode(), nil); status != 401 || h.Get("Set-Cookie") != "" {
			t.Errorf("a login at %s: %d", name, status)
		}
		if _, body, _ := s.answer(s.request("POST", "/login", "")); strings.Contains(body, "<form") {
			t.Errorf("%s has a form for the token: %s", name, body)
		}
	}
	for name, other := range map[string]string{"x-1.localhost": "agents.example.com", "agents.example.com": "x-1.localhost"} {
		status, h := ask(name, "/login?code="+s.server.LoginCode(), nil)
		cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
		if status != 303 || cookie == "" || strings.Contains(h.Get("Set-Cookie"), "Domain") {
			t.Fatalf("a login at %s: %d %v", name, status, h)
		}
		with := func(r *http.Request) { r.Header.Set("Cookie", cookie) }
		for host, want := range map[string]int{name: 200, other: 200, "127.0.0.1": 401, "localhost": 401, "x-2.localhost": 421, "sub.x-1.localhost": 421} {
			if status, _ := ask(host, "/v1/sessions", with); status != want {
				t.Errorf("a cookie of %s at %s: %d", name, host, status)
			}
		}
	}
	if status, _ := ask("127.0.0.1", "/v1/sessions", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testToken) }); status != 200 {
		t.Errorf("a program: %d", status)
	}
}

// A browser that is logged in by the name sends no cookie to another server of the machine.
func TestNameInBrowser(t *testing.T) {
	b := newBrowser(t)
	s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) { s.Hosts = []string{"127.0.0.1", "x-1.localhost"} })
	cookies := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			cookies <- r.Header.Get("Cookie")
		}
	}))
	defer other.Close()
	own := strings.Replace(s.http.URL, "127.0.0.1", "x-1.localhost", 1)
	b.call("Page.navigate", map[string]any{"url": own + "/login?code=" + s.server.LoginCode()}, nil)
	b.until(`location.pathname === "/" && document.readyState === "complete" && document.querySelector("form")`)
	if got := b.eval(`fetch("/v1/sessions").then(r => r.status)`); got != "200" {
		t.Errorf("the browser is not logged in: %s", got)
	}
	b.open(other.URL + "/")
	if got := <-cookies; got != "" {
		t.Errorf("another server gets the cookie %s", got)
	}
}

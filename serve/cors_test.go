package serve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Pages of an origin that the server allows use the API with the token. They have no use of the
// cookie of a browser that is logged in, and see no pages. Other origins get nothing.
func TestOrigins(t *testing.T) {
	const own = "https://app.example.com"
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, func(s *Server) { s.Origins = []string{own, "null", "*"} })
	_, _, h := s.answer(s.request("GET", "/login?code="+s.server.LoginCode(), ""))
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	ask := func(method, path, origin string, change ...func(http.Header)) (int, http.Header) {
		r := s.request(method, path, "")
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "cors")
		for _, c := range change {
			c(r.Header)
		}
		status, _, h := s.answer(r)
		if h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Access-Control-Allow-Origin") != "" && h.Get("Vary") != "Origin" {
			t.Errorf("%s %s from %s: %v", method, path, origin, h)
		}
		return status, h
	}
	preflight := func(h http.Header) {
		h.Del("Authorization")
		h.Set("Access-Control-Request-Method", "PATCH")
	}
	withCookie := func(h http.Header) {
		h.Del("Authorization")
		h.Set("Cookie", cookie)
	}
	if status, h := ask("OPTIONS", "/v1/sessions/chat", own, preflight); status != 204 || h.Get("Access-Control-Allow-Origin") != own ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "PATCH") {
		t.Errorf("a preflight request: %d %v", status, h)
	}
	for _, at := range adapterRoutes {
		if status, h := ask("OPTIONS", filled(at), own, preflight); status != 204 || h.Get("Access-Control-Allow-Origin") != own {
			t.Errorf("a preflight request to %s: %d %v", at.path, status, h)
		}
	}
	if status, h := ask("GET", "/v1/sessions", own); status != 200 || h.Get("Access-Control-Allow-Origin") != own {
		t.Errorf("with the token: %d %v", status, h)
	}
	if status, _ := ask("GET", "/v1/sessions", own, withCookie); status != 401 {
		t.Errorf("with the cookie: %d", status)
	}
	if status, h := ask("GET", "/", own, withCookie); status != 403 || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page: %d %v", status, h)
	}
	for _, origin := range []string{"https://app.example.com.evil.example", "http://app.example.com", own + ":8443", "null", "https://evil.example"} {
		if status, h := ask("GET", "/v1/sessions", origin); status != 403 || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", origin, status, h)
		}
		if status, h := ask("OPTIONS", "/v1/sessions", origin, preflight); status != 403 || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("a preflight request of %s: %d %v", origin, status, h)
		}
	}
	r := s.request("GET", "/v1/sessions", "")
	r.Host = "evil.example"
	r.Header.Set("Origin", own)
	if status, _, h := s.answer(r); status != 421 || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another host: %d %v", status, h)
	}
}

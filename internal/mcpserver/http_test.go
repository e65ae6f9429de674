package mcpserver_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func post(t *testing.T, url, body string, change func(*http.Request)) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	change(r)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Pages of other sites reach nothing, under whatever name they come.
func TestAdmits(t *testing.T) {
	t.Parallel()
	s := serve(t, mcpserver.Options{Hosts: []string{"tools.example.com"}, Origins: []string{"https://app.example.com"}})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	address := strings.TrimPrefix(web.URL, "http://")
	_, port, _ := strings.Cut(address, ":")
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"", "", 200}, {"localhost", "", 200}, {"localhost:" + port, "http://localhost:" + port, 200}, {"[::1]:" + port, "", 200}, {"192.0.2.1", "", 200},
		{"tools.example.com:443", "", 200}, {"TOOLS.example.com", "https://tools.example.com", 200}, {"", "https://app.example.com", 200},
		{"evil.example.com", "", 403}, {"evil.example.com:" + port, "http://evil.example.com:" + port, 403}, {"localhost.evil.example.com", "", 403},
		{"", "https://evil.example.com", 403}, {"", "null", 403}, {"", "http://localhost", 403}, {"", "http://app.example.com", 403}, {"", "https://app.example.com.evil.example.com", 403},
	} {
		resp := post(t, web.URL, initialize, func(r *http.Request) {
			if c.host != "" {
				r.Host = c.host
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
		})
		if resp.StatusCode != c.status {
			t.Errorf("host %q, origin %q: %d", c.host, c.origin, resp.StatusCode)
		}
	}
}

// Requests are bounded, in size, in depth and in sessions.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := serve(t, mcpserver.Options{MaxSessions: 2})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	same := func(*http.Request) {}
	if resp := post(t, web.URL, `{"x":"`+strings.Repeat("x", 5<<20)+`"}`, same); resp.StatusCode < 400 {
		t.Errorf("a large body: %d", resp.StatusCode)
	}
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		if resp := post(t, web.URL, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+deep+`}`, func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", version) }); resp.StatusCode < 400 {
			body, _ := io.ReadAll(resp.Body)
			if !bytes.Contains(body, []byte(`"error"`)) {
				t.Errorf("deep JSON: %d %s", resp.StatusCode, body)
			}
		}
	}
	var statuses []int
	var last *http.Response
	for range 3 {
		resp := post(t, web.URL, initialize, same)
		statuses = append(statuses, resp.StatusCode)
		if resp.StatusCode == 200 {
			last = resp
		}
	}
	if statuses[2] != http.StatusServiceUnavailable || last == nil {
		t.Fatalf("%v", statuses)
	}
	id := last.Header.Get("Mcp-Session-Id")
	if resp := post(t, web.URL, "", func(r *http.Request) { r.Method = http.MethodDelete; r.Header.Set("Mcp-Session-Id", id) }); resp.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE: %d", resp.StatusCode)
	}
	if resp := post(t, web.URL, initialize, same); resp.StatusCode != 200 {
		t.Errorf("after DELETE: %d", resp.StatusCode)
	}
}

// An idle session ends, and a client's next request learns it.
func TestIdle(t *testing.T) {
	t.Parallel()
	s := serve(t, mcpserver.Options{Idle: time.Millisecond, Tools: []tool.Tool{fixed("a", tool.Text("a"))}})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	all := mcp.New(map[string]mcp.Config{"s": {URL: web.URL, AlwaysLoad: true}}, mcp.Options{})
	t.Cleanup(func() { _ = all.Close() })
	tools, err := all.Tools(t.Context())
	if err != nil || len(tools) != 1 {
		t.Fatalf("%v %v %+v", tools, err, all.Status())
	}
	if r, err := tools[0].Run(t.Context(), tool.Call{}); err != nil || r.IsError {
		t.Fatalf("%+v %v", r, err)
	}
	resp := post(t, web.URL, initialize, func(*http.Request) {})
	session := resp.Header.Get("Mcp-Session-Id")
	deadline := time.Now().Add(soon)
	for {
		resp := post(t, web.URL, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, func(r *http.Request) { r.Header.Set("Mcp-Session-Id", session) })
		if resp.StatusCode == http.StatusNotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the session goes on")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The end of a session cancels its calls.
func TestDeleteEndsCalls(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	hangs := tool.New(tool.Spec{Name: "hangs"}, func(ctx context.Context, _ tool.Call, _ none) (*tool.Result, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	s := serve(t, mcpserver.Options{Tools: []tool.Tool{hangs}})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	id := post(t, web.URL, initialize, func(*http.Request) {}).Header.Get("Mcp-Session-Id")
	with := func(method string) func(*http.Request) {
		return func(r *http.Request) { r.Method = method; r.Header.Set("Mcp-Session-Id", id) }
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		post(t, web.URL, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hangs"}}`, with(http.MethodPost))
	}()
	defer func() { <-over }()
	<-began
	post(t, web.URL, "", with(http.MethodDelete))
	select {
	case <-ended:
	case <-time.After(soon):
		t.Fatal("the call goes on")
	}
}

// A closed server refuses requests.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := serve(t, mcpserver.Options{})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	_ = s.Close()
	if resp := post(t, web.URL, initialize, func(*http.Request) {}); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d", resp.StatusCode)
	}
	if err := s.Serve(t.Context(), strings.NewReader(initialize+"\n"), io.Discard); err == nil {
		t.Error("a closed server serves")
	}
}

// The same server within the program: its tools are called directly.
func TestConfig(t *testing.T) {
	t.Parallel()
	s := serve(t, mcpserver.Options{Tools: []tool.Tool{fixed("a", tool.Text("here"))}})
	all := mcp.New(map[string]mcp.Config{"own": s.Config()}, mcp.Options{})
	defer all.Close()
	tools, err := all.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Spec().Name != "mcp__own__a" {
		t.Fatalf("%v %v", tools, err)
	}
	if r, err := tools[0].Run(t.Context(), tool.Call{}); err != nil || r.Text() != "here" {
		t.Errorf("%v %v", r, err)
	}
}

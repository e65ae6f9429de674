//go:build unix

package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent/mcp"
)

// hostile serves MCP over HTTP: results by method, and a stream that each GET gets.
// Both may be nil.
type hostile struct {
	result func(method string, params json.RawMessage) string
	stream func(w io.Writer) error
}

func (h hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if h.stream == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for h.stream(w) == nil && r.Context().Err() == nil {
		}
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &m) != nil || m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := ""
	switch {
	case m.Method == "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"h","version":"1"}}`
		w.Header().Set("Mcp-Session-Id", "h")
	case h.result != nil:
		result = h.result(m.Method, m.Params)
	}
	w.Header().Set("Content-Type", "application/json")
	if result == "" {
		result = map[string]string{"tools/list": `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`, "prompts/list": `{"prompts":[]}`}[m.Method]
	}
	if result == "" {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) // the client may have gone
}

func (h hostile) connect(t *testing.T) *mcp.Servers {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	all := mcp.New(map[string]mcp.Config{"s": {URL: web.URL, AlwaysLoad: true, StartTimeoutMS: 20_000, TimeoutMS: 20_000}}, mcp.Options{})
	t.Cleanup(func() { all.Close() })
	toolsOf(t, all)
	return all
}

// Lists that are partly null, without an end, in circles or full of long entries neither
// crash the program nor fill its memory.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	circle := func(kind string) func(json.RawMessage) string {
		return func(params json.RawMessage) string {
			next := "a"
			if strings.Contains(string(params), `"a"`) {
				next = "b"
			}
			return `{"` + kind + `":[],"nextCursor":"` + next + `"}`
		}
	}
	always := func(text string) func(json.RawMessage) string { return func(json.RawMessage) string { return text } }
	for name, c := range map[string]struct {
		method  string
		list    func(params json.RawMessage) string
		pages   int    // at most
		problem string // of the status, "" for none
	}{
		"null tools":             {"tools/list", always(`{"tools":[null,{"name":"x","inputSchema":{"type":"object"}},null]}`), 1, ""},
		"null prompts":           {"prompts/list", always(`{"prompts":[null,{"name":"p","arguments":[null]}]}`), 1, ""},
		"null list":              {"prompts/list", always(`{"prompts":null}`), 1, ""},
		"tools in a circle":      {"tools/list", circle("tools"), 4, "the list of tools has no end"},
		"prompts in a circle":    {"prompts/list", circle("prompts"), 4, "the list of prompts has no end"},
		"long cursors":           {"tools/list", always(`{"tools":[],"nextCursor":"` + long + `"}`), 1, "the list of tools has no end"},
		"long prompt cursors":    {"prompts/list", always(`{"prompts":[],"nextCursor":"` + long + `"}`), 1, "the list of prompts has no end"},
		"a long name":            {"tools/list", always(`{"tools":[{"name":"` + long + `","inputSchema":{"type":"object"}}]}`), 1, "its name is longer than 1024 bytes"},
		"a large schema":         {"tools/list", always(`{"tools":[{"name":"x","inputSchema":{"type":"object","description":"` + long + `"}}]}`), 1, "larger than 64 KB"},
		"many tools":             {"tools/list", always(`{"tools":[{"name":"y","inputSchema":{"type":"object"}}` + strings.Repeat(`,{"name":"x","inputSchema":{"type":"object"}}`, 5000) + `]}`), 1, "only the first 1000 tools"},
		"many values":            {"tools/list", always(`{"tools":[` + strings.Repeat("{},", 600_000) + `{}]}`), 1, "more than 500000 values"},
		"many values of prompts": {"prompts/list", always(`{"prompts":[` + strings.Repeat("{},", 600_000) + `{}]}`), 1, "more than 500000 values"},
		"null resources":         {"resources/list", always(`{"resources":[null,{"uri":"a://b","name":"r"}]}`), 1, ""},
		"resources in a circle":  {"resources/list", circle("resources"), 4, ""},
		"null templates":         {"resources/templates/list", always(`{"resourceTemplates":[null,{"uriTemplate":"a://b","name":"r"}]}`), 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pages atomic.Int32
			all := hostile{result: func(method string, params json.RawMessage) string {
				switch {
				case method == c.method:
					pages.Add(1)
					return c.list(params)
				case method == "resources/list":
					return `{"resources":[]}`
				}
				return ""
			}}.connect(t)
			s := statusOf(t, all, "s")
			if said := s.Error + strings.Join(s.Problems, "; "); !strings.Contains(said, c.problem) || c.problem == "" && said != "" {
				t.Errorf("problems %q, want %q", clipped(said), c.problem)
			}
			if strings.HasPrefix(c.method, "resources/") {
				list, err := all.Resources(t.Context(), "s")
				if want := strings.Count(c.list(nil), "://"); err != nil || len(list) != want {
					t.Errorf("%d resources, want %d: %v", len(list), want, err)
				}
			}
			if n := int(pages.Load()); n > 3*c.pages { // a server that fails is tried three times
				t.Errorf("%d pages were asked for", n)
			}
		})
	}
}

func clipped(s string) string { return s[:min(len(s), 300)] }

// An answer of very many small values fails its own call; the server continues.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"content":[],"structuredContent":{"a":[` + strings.Repeat("{},", 600_000) + `{}]}}`,
		`{"content":[],"structuredContent":{"a":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}}`,
		`{"content":[` + strings.Repeat(`{"type":"text","text":"part"},`, 300) + `{"type":"text","text":"end"}]}`,
		`{"content":[{"type":"text","text":"fine"}]}`,
	}
	all := hostile{result: func(method string, _ json.RawMessage) string {
		if method != "tools/call" {
			return ""
		}
		first := answers[0]
		answers = answers[1:]
		return first
	}}.connect(t)
	tools := toolsOf(t, all)
	if text := call(t, tools, "mcp__s__x", `{}`).Result.Text(); !strings.Contains(text, "500000 values; ask for less") {
		t.Errorf("%s", clipped(text))
	}
	if text := call(t, tools, "mcp__s__x", `{}`).Result.Text(); !strings.Contains(text, "nested more than 1000 deep") {
		t.Errorf("%s", clipped(text))
	}
	if text := call(t, tools, "mcp__s__x", `{}`).Result.Text(); strings.Count(text, "part") > 201 || !strings.Contains(text, "101 more parts, not shown") {
		t.Errorf("%s", clipped(text))
	}
	if text := call(t, tools, "mcp__s__x", `{}`).Result.Text(); text != "fine" {
		t.Errorf("%s", clipped(text))
	}
}

// A stream whose event has no end is left, and tried again a few times only.
func TestEndlessEvent(t *testing.T) {
	t.Parallel()
	piece := []byte("data: " + strings.Repeat("x", 1<<20) + "\n")
	var sent atomic.Int64
	var once sync.Once
	left := make(chan bool)
	all := hostile{stream: func(w io.Writer) error {
		n, err := w.Write(piece)
		if sent.Add(int64(n)); err != nil {
			once.Do(func() { close(left) })
		}
		return err
	}}.connect(t)
	<-left
	_ = all.Close()
	if n := sent.Load() >> 20; n > 400 {
		t.Errorf("%d MB of one event were taken", n)
	}
}

// An error of a server is never taken for a call that it has not seen, also with the codes that the
// library for connections has for closed ones: the call is made once.
func TestHostileErrorCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-32003, -32004, -32005} {
		var calls atomic.Int32
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(body, &m) == nil && m.Method == "tools/call" {
				calls.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"it is done"}}`, m.ID, code)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			hostile{}.ServeHTTP(w, r)
		}))
		t.Cleanup(web.Close)
		_, tools := connect(t, map[string]mcp.Config{"s": {URL: web.URL, AlwaysLoad: true}})
		if out := call(t, tools, "mcp__s__x", `{}`); calls.Load() != 1 || !strings.Contains(out.Result.Text(), "it is done") {
			t.Errorf("code %d: %d calls, and the result %q", code, calls.Load(), out.Result.Text())
		}
	}
}

// A server that has forgotten the session refuses one call. Another call that is under way then is
// not made again: the server may have carried it out.
func TestForgottenDuringCall(t *testing.T) {
	t.Parallel()
	var slow, quick atomic.Int32
	began, forgotten := make(chan struct{}), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), `"slow"`):
			if slow.Add(1) == 1 {
				close(began)
			}
			<-forgotten
			return // the answer never comes
		case strings.Contains(string(body), `"quick"`) && quick.Add(1) == 1:
			w.WriteHeader(http.StatusNotFound)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		hostile{result: func(method string, _ json.RawMessage) string {
			if method == "tools/call" {
				return `{"content":[{"type":"text","text":"it is done"}]}`
			}
			return ""
		}}.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	_, tools := connect(t, map[string]mcp.Config{"s": {URL: web.URL, AlwaysLoad: true}})
	first := make(chan string)
	go func() { first <- call(t, tools, "mcp__s__x", `{"a":"slow"}`).Result.Text() }()
	<-began
	if got := call(t, tools, "mcp__s__x", `{"a":"quick"}`).Result.Text(); got != "it is done" || quick.Load() != 2 {
		t.Errorf("the call that is refused: %q after %d", got, quick.Load())
	}
	if got := <-first; slow.Load() != 1 || !strings.Contains(got, "whether it was carried out is not known") {
		t.Errorf("the call under way was made %d times: %q", slow.Load(), got)
	}
	close(forgotten)
}

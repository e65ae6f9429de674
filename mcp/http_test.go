//go:build unix

package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/mcp"
)

// network is a server of the official SDK on the network.
func network() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "network", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, x in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: x.Text}}}, nil, nil
	})
	return server
}

// Servers on the network: the headers of the configuration are sent, and a server
// that has forgotten its sessions is connected again without a failed call.
func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{mcpnames.HTTP, mcpnames.ClaudeAIProxy, mcpnames.SSE} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := network()
			t.Cleanup(func() {
				for session := range server.Sessions() { // those that were forgotten too
					_ = session.Close() // their clients are gone
				}
			})
			get := func(*http.Request) *sdk.Server { return server }
			var current atomic.Pointer[http.Handler]
			restart := func() {
				h := http.Handler(sdk.NewStreamableHTTPHandler(get, nil))
				if kind == mcpnames.SSE {
					h = sdk.NewSSEHandler(get, nil)
				}
				current.Store(&h)
			}
			restart()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer t0ken" || kind == mcpnames.ClaudeAIProxy && r.Header.Get("X-ClaudeAI-Server-ID") != "srv" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				(*current.Load()).ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			c := mcp.Config{Type: kind, URL: web.URL, ID: "srv", Headers: map[string]string{"Authorization": "Bearer t0ken"}, AlwaysLoad: true}
			anonymous := c
			anonymous.Headers = nil
			all, tools := connect(t, map[string]mcp.Config{"s": c, "anonymous": anonymous})
			if out := call(t, tools, "mcp__s__echo", `{"text":"hello"}`); out.Result.Text() != "hello" {
				t.Errorf("%s", out.Result.Text())
			}
			if s := statusOf(t, all, "anonymous"); s.State != mcpnames.NeedsAuth {
				t.Errorf("%+v", s)
			}
			if kind == mcpnames.SSE {
				return // the connection is the session
			}
			restart()
			if out := call(t, tools, "mcp__s__echo", `{"text":"again"}`); out.Result.Text() != "again" {
				t.Errorf("%s", out.Result.Text())
			}
		})
	}
}

// Answers of a server on the network are bounded, and it cannot redirect a request with its
// headers elsewhere.
func TestMisbehavingOverHTTP(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("it was asked with %q", r.Header) }))
	t.Cleanup(elsewhere.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"deep": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+strings.Repeat("[", 1<<20)) // the reader may have gone
		},
		"deep events": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, ": \"\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s\ndata: %s\n\n", strings.Repeat("[", 900), strings.Repeat("[", 900))
		},
		"large": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", 17<<20)+`"}}`)
		},
		"errors": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(answer)
			t.Cleanup(web.Close)
			all, _ := connect(t, map[string]mcp.Config{"s": {URL: web.URL, Headers: map[string]string{"Authorization": "Bearer t0ken-t0ken"}, AlwaysLoad: true, StartTimeoutMS: 10_000}})
			if s := statusOf(t, all, "s"); s.State == mcpnames.Connected || s.Error == "" || strings.Contains(s.Error, "t0ken") {
				t.Errorf("%+v", s)
			}
		})
	}
}

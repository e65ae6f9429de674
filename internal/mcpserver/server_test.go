//lint:file-ignore SA1019 Logging, sampling and roots are deprecated in the newest version of the protocol; clients of the others have them.

package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const soon = time.Minute // bounds what must not hang

// ways are the transports and the versions of the protocol that clients use.
var ways = []struct {
	name, version string
	http          bool
}{{"stream 2025", "2025-11-25", false}, {"stream 2026", "2026-07-28", false}, {"http 2025", "2025-11-25", true}, {"http 2026", "2026-07-28", true}}

func each(t *testing.T, o mcpserver.Options, client *sdk.ClientOptions, do func(t *testing.T, s *mcpserver.Server, c *sdk.ClientSession), callbacks ...mcpserver.Callbacks) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, o, callbacks...)
			do(t, s, connect(t, s, client, way.version, way.http))
		})
	}
}

func serve(t *testing.T, o mcpserver.Options, callbacks ...mcpserver.Callbacks) *mcpserver.Server {
	t.Helper()
	all := append(callbacks, mcpserver.Callbacks{})
	o.Name = "test"
	s, err := mcpserver.New(o, all[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, s *mcpserver.Server, o *sdk.ClientOptions, version string, http bool) *sdk.ClientSession {
	t.Helper()
	var transport sdk.Transport
	if http {
		web := httptest.NewServer(s)
		t.Cleanup(web.Close)
		transport = &sdk.StreamableClientTransport{Endpoint: web.URL, HTTPClient: web.Client()}
	} else {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- s.Serve(t.Context(), in, out)
			out.Close()
		}()
		t.Cleanup(func() {
			if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		transport = &sdk.IOTransport{Reader: fromServer, Writer: toServer}
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, o).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if got := c.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("version %s", got)
	}
	return c
}

type none = struct{}

func fixed(name string, r *tool.Result) tool.Tool {
	return tool.New(tool.Spec{Name: name}, func(context.Context, tool.Call, none) (*tool.Result, error) { return r, nil })
}

func call(t *testing.T, c *sdk.ClientSession, name string, args any) *sdk.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func said(r *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// The description of a tool reaches clients, page by page.
func TestTools(t *testing.T) {
	t.Parallel()
	reads := tool.New(tool.Spec{Name: "reads", Title: "Reads", Description: "d", ReadOnly: true, Idempotent: true}, func(context.Context, tool.Call, struct {
		Path string `json:"path"`
	}) (*tool.Result, error) {
		return nil, nil
	})
	raw := tool.New(tool.Spec{Name: "writes", OpenWorld: true, Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}, func(context.Context, tool.Call, json.RawMessage) (*tool.Result, error) { return nil, nil })
	each(t, mcpserver.Options{PageSize: 1, Instructions: "be kind", Tools: []tool.Tool{reads, raw}}, nil, func(t *testing.T, _ *mcpserver.Server, c *sdk.ClientSession) {
		if got := c.InitializeResult().Instructions; got != "be kind" {
			t.Errorf("instructions %q", got)
		}
		first, err := c.ListTools(t.Context(), nil)
		if err != nil || len(first.Tools) != 1 || first.NextCursor == "" {
			t.Fatalf("%+v, %v", first, err)
		}
		var all []*sdk.Tool
		for tl, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, tl)
		}
		if len(all) != 2 {
			t.Fatalf("%d tools", len(all))
		}
		r, w := all[0], all[1]
		if r.Title != "Reads" || r.Description != "d" || !r.Annotations.ReadOnlyHint || !r.Annotations.IdempotentHint || *r.Annotations.DestructiveHint || *r.Annotations.OpenWorldHint {
			t.Errorf("%+v %+v", r, r.Annotations)
		}
		if !*w.Annotations.DestructiveHint || !*w.Annotations.OpenWorldHint || w.Annotations.ReadOnlyHint {
			t.Errorf("%+v", w.Annotations)
		}
		if data, _ := json.Marshal(r.InputSchema); !strings.Contains(string(data), `"path"`) {
			t.Errorf("%s", data)
		}
	})
}

// Results keep their kinds of content, and failures of every sort are results.
func TestResults(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	structured := func(name, details string) tool.Tool {
		return tool.New(tool.Spec{Name: name, Output: schema}, func(context.Context, tool.Call, none) (*tool.Result, error) {
			return &tool.Result{Content: llm.Blocks{llm.Text{Text: "n"}}, Details: json.RawMessage(details)}, nil
		})
	}
	tools := []tool.Tool{
		fixed("mixed", &tool.Result{Content: llm.Blocks{llm.Text{Text: "a"}, llm.Image{MediaType: "image/png", Data: []byte("png")}, llm.Document{MediaType: "application/pdf", Title: "x.pdf", Data: []byte("pdf")}}}),
		structured("structured", `{"n":1}`), structured("broken", ``),
		fixed("details", &tool.Result{Content: llm.Blocks{llm.Text{Text: "d"}}, Details: json.RawMessage(`{"secret":1}`)}),
		fixed("fails", tool.Errorf("no luck")),
		tool.New(tool.Spec{Name: "panics"}, func(context.Context, tool.Call, none) (*tool.Result, error) { panic("oh") }),
		tool.New(tool.Spec{Name: "errs"}, func(context.Context, tool.Call, none) (*tool.Result, error) { return nil, errors.New("broke") }),
	}
	each(t, mcpserver.Options{Tools: tools}, nil, func(t *testing.T, _ *mcpserver.Server, c *sdk.ClientSession) {
		r := call(t, c, "mixed", nil)
		if len(r.Content) != 3 || string(r.Content[1].(*sdk.ImageContent).Data) != "png" || string(r.Content[2].(*sdk.EmbeddedResource).Resource.Blob) != "pdf" || r.IsError {
			t.Errorf("%+v", r)
		}
		if r := call(t, c, "structured", nil); r.StructuredContent.(map[string]any)["n"] != 1.0 {
			t.Errorf("%+v", r)
		}
		if r := call(t, c, "details", nil); r.StructuredContent != nil {
			t.Errorf("%+v", r)
		}
		for name, want := range map[string]string{"fails": "no luck", "panics": "panicked: oh", "errs": "broke", "broken": "schema"} {
			if r := call(t, c, name, nil); !r.IsError || !strings.Contains(said(r), want) {
				t.Errorf("%s: %q %v", name, said(r), r.IsError)
			}
		}
		if r := call(t, c, "fails", map[string]any{"x": 1}); !strings.Contains(said(r), "invalid input") {
			t.Errorf("an unknown member: %q", said(r))
		}
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "no such"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%v", err)
		}
	})
}

// A change of the tools is announced, and the new ones can be called.
func TestListChanged(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			changed := make(chan struct{}, 10)
			s := serve(t, mcpserver.Options{Tools: []tool.Tool{fixed("old", tool.Text("o"))}})
			c := connect(t, s, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }}, way.version, way.http)
			if err := s.SetTools([]tool.Tool{fixed("new", tool.Text("n")), fixed("new", tool.Text("n"))}); err == nil {
				t.Error("two tools of one name pass")
			}
			if call(t, c, "old", nil).IsError {
				t.Error("a refused change has changed something")
			}
			if err := s.SetTools([]tool.Tool{fixed("new", tool.Text("n"))}); err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			case <-time.After(soon):
				t.Fatal("nobody was told")
			}
			if said(call(t, c, "new", nil)) != "n" {
				t.Error("the new tool is not there")
			}
			if l, err := c.ListTools(t.Context(), nil); err != nil || len(l.Tools) != 1 {
				t.Errorf("%v %v", l, err)
			}
		})
	}
}

// A tool's reports and logs reach the client before the result.
func TestProgressAndLogs(t *testing.T) {
	t.Parallel()
	slow := tool.New(tool.Spec{Name: "slow"}, func(context.Context, tool.Call, none) (*tool.Result, error) { return nil, nil })
	o := mcpserver.Options{Tools: []tool.Tool{slow}}
	callbacks := mcpserver.Callbacks{Call: func(ctx context.Context, c *mcpserver.Client, call tool.Call) (*tool.Result, error) {
		c.Logger().Info("hello", "n", 1)
		for _, st := range []tool.Status{{Text: "a"}, {Percent: 50}, {Percent: 20}, {Percent: 100, Text: "b"}} {
			tool.Progress(ctx, st)
			time.Sleep(time.Millisecond)
		}
		return tool.Text("done"), nil
	}}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			var got []*sdk.ProgressNotificationParams
			reports, logs := make(chan *sdk.ProgressNotificationParams, 100), make(chan string, 100)
			c := connect(t, serve(t, o, callbacks), &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { reports <- r.Params },
				LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
					data, _ := json.Marshal(r.Params.Data)
					logs <- string(data)
				},
			}, way.version, way.http)
			p := &sdk.CallToolParams{Name: "slow"}
			if way.version < "2026" {
				if err := c.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
					t.Fatal(err)
				}
			} else {
				p.Meta = sdk.Meta{sdk.MetaKeyLogLevel: "info"}
			}
			p.SetProgressToken("p")
			if _, err := c.CallTool(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			last := 0.0
			for {
				select {
				case r := <-reports:
					if r.Progress <= last {
						t.Errorf("%v after %v", r.Progress, last)
					}
					last = r.Progress
					got = append(got, r)
					if r.Message != "b" {
						continue
					}
				case <-time.After(soon):
					t.Fatal("no last report")
				}
				break
			}
			select {
			case line := <-logs:
				if !strings.Contains(line, "hello") {
					t.Errorf("log %s", line)
				}
			case <-time.After(soon):
				t.Fatal("no log")
			}
			if got[len(got)-1].Total != 100 {
				t.Errorf("%+v", got[len(got)-1])
			}
		})
	}
}

// A cancelled request ends its call.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			began, ended := make(chan struct{}), make(chan struct{})
			hangs := tool.New(tool.Spec{Name: "hangs"}, func(ctx context.Context, _ tool.Call, _ none) (*tool.Result, error) {
				close(began)
				<-ctx.Done()
				close(ended)
				return nil, ctx.Err()
			})
			c := connect(t, serve(t, mcpserver.Options{Tools: []tool.Tool{hangs, fixed("quick", tool.Text("q"))}}), nil, way.version, way.http)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-began
				cancel()
			}()
			if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "hangs"}); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			select {
			case <-ended:
			case <-time.After(soon):
				t.Fatal("the call goes on")
			}
			if said(call(t, c, "quick", nil)) != "q" {
				t.Error("the session is of no use any more")
			}
		})
	}
}

// A name with __ is an error, as are tools that cannot be offered.
func TestNew(t *testing.T) {
	t.Parallel()
	good := fixed("a", tool.Text(""))
	for name, c := range map[string]struct {
		o    mcpserver.Options
		want string
	}{
		"no name":  {mcpserver.Options{}, "needs a name"},
		"__":       {mcpserver.Options{Name: "a__b"}, "must not hold __"},
		"twice":    {mcpserver.Options{Name: "a", Tools: []tool.Tool{good, good}}, `two tools named "a"`},
		"negative": {mcpserver.Options{Name: "a", PageSize: -1}, "negative"},
		"schema":   {mcpserver.Options{Name: "a", Tools: []tool.Tool{odd{}}}, "schema"},
	} {
		if s, err := mcpserver.New(c.o, mcpserver.Callbacks{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
}

type odd struct{ tool.Tool }

func (odd) Spec() tool.Spec {
	return tool.Spec{Name: "odd", Input: json.RawMessage(`{"type":"array"}`)}
}

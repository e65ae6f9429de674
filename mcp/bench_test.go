//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// A caller makes a call of the tool echo.
type caller func() error

func ours(b *testing.B, c mcp.Config) caller {
	b.Helper()
	ws := &workspace.Workspace{Root: b.TempDir()}
	all := mcp.New(map[string]mcp.Config{"s": c}, mcp.Options{Workspace: ws})
	b.Cleanup(func() {
		all.Close()
		ws.Close()
	})
	tools, err := all.Tools(b.Context())
	if err != nil || len(tools) != 1 {
		b.Fatalf("%d tools: %v", len(tools), err)
	}
	return func() error {
		_, err := tools[0].Run(b.Context(), tool.Call{Input: json.RawMessage(`{"text":"hello"}`)})
		return err
	}
}

func theirs(b *testing.B, transport sdk.Transport) caller {
	b.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(context.Background(), transport, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { session.Close() })
	if _, err := session.ListTools(b.Context(), nil); err != nil { // as ours does
		b.Fatal(err)
	}
	return func() error {
		_, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"text":"hello"}`)})
		return err
	}
}

// cpu is what this process, not its children, has used of the processor.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// A call by our client, as a run makes it, beside one by the client of the official
// SDK alone, each to a server of the official SDK. "both" makes them in turn, so
// that their medians are of the same time; over HTTP the server's allocations count.
func BenchmarkCall(b *testing.B) {
	server := network()
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()
	for _, kind := range []string{mcpnames.Stdio, mcpnames.HTTP} {
		begin := map[string]func(*testing.B) caller{
			"ours": func(b *testing.B) caller {
				if kind == mcpnames.HTTP {
					return ours(b, mcp.Config{URL: web.URL, AlwaysLoad: true})
				}
				return ours(b, with("sdk"))
			},
			"sdk": func(b *testing.B) caller {
				if kind == mcpnames.HTTP {
					return theirs(b, &sdk.StreamableClientTransport{Endpoint: web.URL})
				}
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), behaviourVar+"=sdk")
				return theirs(b, &sdk.CommandTransport{Command: cmd})
			},
		}
		for _, who := range [][]string{{"ours"}, {"sdk"}, {"ours", "sdk"}} {
			name := who[0]
			if len(who) > 1 {
				name = "both"
			}
			b.Run(kind+"/"+name, func(b *testing.B) {
				calls := make([]caller, len(who))
				took := make([][]time.Duration, len(who))
				for i, w := range who {
					calls[i] = begin[w](b)
				}
				b.ReportAllocs()
				before := cpu(b)
				for first := 0; b.Loop(); first++ { // who is first pays for what the other has left to do
					for n := range calls {
						i := (first + n) % len(calls)
						begun := time.Now()
						if err := calls[i](); err != nil {
							b.Fatal(err)
						}
						took[i] = append(took[i], time.Since(begun))
					}
				}
				b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
				for i, w := range who {
					slices.Sort(took[i])
					b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds()), w+"-p50-ns")
				}
			})
		}
	}
}

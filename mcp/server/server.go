// Package server offers tools to clients of the Model Context Protocol: over
// stdin and stdout or any other stream, over streamable HTTP, and within the program.
//
//	s, err := server.New(server.Options{Name: "weather", Tools: []tool.Tool{weather}})
//	…
//	err = s.Serve(ctx, os.Stdin, os.Stdout) // or http.ListenAndServe("127.0.0.1:8000", s)
//
// The tools are called as they are. Package agentserver serves an agent, or the tools of
// one under its permissions. Data from clients is not trusted: it is bounded and checked.
package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// Options configure a [Server]. Only Name is required.
type Options struct {
	Name         string      // of the server; it must not hold "__"
	Title        string      // for people
	Version      string      // "" is "0"
	Instructions string      // text for the clients' models
	Tools        []tool.Tool // that the server offers
	Dir          string      // [tool.Call].Dir of the calls
	PageSize     int         // of the list of tools; 0: 1,000
	// Patience is how long a client may take to answer a question. 0: 10 minutes.
	Patience time.Duration
	Log      *slog.Logger // nil: no logs

	// Of HTTP. Hosts are names by which the server is reached, without ports, beside
	// IP addresses and localhost; Origins are those of web pages elsewhere that may
	// call it, such as https://app.example.com. All others are refused.
	Hosts, Origins []string
	// Idle ends sessions without a request for so long. 0: 30 minutes.
	Idle time.Duration
	// MaxSessions bounds the sessions at a time. 0: 100.
	MaxSessions int

	// SDK holds the protocol's other options, such as handlers of completion and
	// subscriptions; the fields above override it. Extend, if not nil, adds resources,
	// prompts and the like before the first client connects.
	SDK    sdk.ServerOptions
	Extend func(*sdk.Server)
}

// A Server offers tools to clients. It is safe for concurrent use.
type Server interface {
	// ServeHTTP answers a request of streamable HTTP, under any path. It checks no
	// authorization: everyone who reaches it may call the tools.
	http.Handler
	// Serve is one session with the client that writes to in and reads from out: a line is
	// a message. When in ends, running calls have a second to end before they are cancelled;
	// then Serve returns nil. When ctx ends it returns ctx's error. If in is an [io.Closer]
	// it is closed then, so that no reader remains.
	Serve(ctx context.Context, in io.Reader, out io.Writer) error
	// SetTools replaces the tools, and clients are told. On an error nothing has changed.
	SetTools(tools []tool.Tool) error
	// Config returns a configuration with which [mcp.Servers] of the same program call the
	// present tools directly, without a protocol.
	Config() mcp.Config
	// Close ends all sessions and calls and waits for them. Later requests are refused.
	Close() error
}

// New returns a server whose tools are called directly, without any question or permission
// check.
func New(o Options) (Server, error) {
	s, err := mcpserver.New(mcpserver.Options(o), mcpserver.Callbacks{})
	if err != nil {
		return nil, err
	}
	return s, nil
}

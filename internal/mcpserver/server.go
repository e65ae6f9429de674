//lint:file-ignore SA1019 Logging is deprecated in the newest version of the protocol; clients of the others have it.

// Package mcpserver serves tools to clients of the Model Context Protocol. Packages
// mcp/server and mcp/agentserver are its public faces: server.Options has the fields of
// [Options].
package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// Options configure a [Server]; see server.Options.
type Options struct {
	Name         string
	Title        string
	Version      string
	Instructions string
	Tools        []tool.Tool
	Dir          string
	PageSize     int
	Patience     time.Duration
	Log          *slog.Logger

	Hosts, Origins []string
	Idle           time.Duration
	MaxSessions    int

	SDK    sdk.ServerOptions
	Extend func(*sdk.Server)
}

// Callbacks are what the owner of a [Server] does itself.
type Callbacks struct {
	// Call carries out the calls. Nil: the tools are called directly, without any question
	// or permission check.
	Call CallFunc
	// Ended, if not nil, is called when a session that had calls has ended.
	Ended func(session string)
}

// A CallFunc carries out a call for a client. A failure that the client's model should see
// is an error [tool.Result]; a Go error becomes one.
type CallFunc func(ctx context.Context, client *Client, call tool.Call) (*tool.Result, error)

const (
	defaultPatience = 10 * time.Minute
	defaultIdle     = 30 * time.Minute
	defaultSessions = 100
	// parting is the time that calls have to end after a client's input has ended.
	parting = time.Second
	// maxWaiting bounds the calls that wait for answers of clients without sessions.
	maxWaiting = 100
)

// A Server offers tools to clients. It is an [http.Handler] for streamable HTTP.
// It is safe for concurrent use.
type Server struct {
	options   Options
	callbacks Callbacks
	sdk       *sdk.Server
	http      struct{ sessions, calls http.Handler } // for clients of before 2026-07-28, and since then

	asksNobody bool // calls run as they come: there was no Callbacks.Call

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu       sync.Mutex
	tools    map[string]tool.Tool
	order    []tool.Tool
	sessions map[*sdk.ServerSession]*session
	shared   *session // of clients whose protocol has no sessions
	waiting  map[string]*pendingCall
	closed   bool
	running  sync.WaitGroup // calls and watched sessions
}

// New returns a server.
func New(o Options, c Callbacks) (*Server, error) {
	if err := mcpnames.Check(o.Name); err != nil {
		return nil, fmt.Errorf("making an MCP server: %w", err)
	}
	if o.PageSize < 0 || o.Patience < 0 || o.Idle < 0 || o.MaxSessions < 0 {
		return nil, errors.New("making an MCP server: PageSize, Patience, Idle and MaxSessions must not be negative")
	}
	o.Patience, o.Idle, o.MaxSessions = cmp.Or(o.Patience, defaultPatience), cmp.Or(o.Idle, defaultIdle), cmp.Or(o.MaxSessions, defaultSessions)
	o.Hosts, o.Origins = slices.Clone(o.Hosts), slices.Clone(o.Origins)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	asksNobody := c.Call == nil
	if asksNobody {
		c.Call = direct(o.Dir)
	}
	s := &Server{options: o, callbacks: c, asksNobody: asksNobody, tools: map[string]tool.Tool{}, sessions: map[*sdk.ServerSession]*session{}, waiting: map[string]*pendingCall{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.shared = newSession(s.ctx)
	inner := o.SDK
	inner.Instructions, inner.Logger, inner.PageSize = o.Instructions, o.Log, o.PageSize
	if inner.Capabilities == nil {
		inner.Capabilities = &sdk.ServerCapabilities{Logging: &sdk.LoggingCapabilities{}, Tools: &sdk.ToolCapabilities{ListChanged: true}}
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: o.Name, Title: o.Title, Version: cmp.Or(o.Version, "0")}, &inner)
	if err := s.SetTools(o.Tools); err != nil {
		s.cancel()
		return nil, err
	}
	if o.Extend != nil {
		o.Extend(s.sdk)
	}
	s.handlers()
	return s, nil
}

// SetTools replaces the tools, and clients are told. On an error nothing has changed.
func (s *Server) SetTools(tools []tool.Tool) error {
	byName := map[string]tool.Tool{}
	var offered []*sdk.Tool
	for _, t := range tools {
		o, err := offer(t)
		if err != nil {
			return fmt.Errorf("offering tools to MCP clients: %w", err)
		}
		if s.asksNobody && t.Spec().NeedsApproval != nil {
			return fmt.Errorf("offering tools to MCP clients: calls of %s need approval, but this server asks nobody; serve the tool with agentserver.Tools", o.Name)
		}
		if byName[o.Name] != nil {
			return fmt.Errorf("offering tools to MCP clients: there are two tools named %q", o.Name)
		}
		byName[o.Name] = t
		offered = append(offered, o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	for name := range s.tools {
		if byName[name] == nil {
			gone = append(gone, name)
		}
	}
	s.tools, s.order = byName, slices.Clone(tools)
	if gone != nil {
		s.sdk.RemoveTools(gone...)
	}
	for _, o := range offered {
		s.sdk.AddTool(o, s.call)
	}
	return nil
}

// Config returns a configuration with which [mcp.Servers] of the same program call the
// present tools directly, without a protocol.
func (s *Server) Config() mcp.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return mcp.Config{Type: mcpnames.InProcess, Tools: slices.Clone(s.order)}
}

// Serve is one session with the client that writes to in and reads from out: a line is a
// message. When in ends, running calls have a second to end before they are cancelled; then
// Serve returns nil. When ctx ends it returns ctx's error. If in is an [io.Closer] it is
// closed then, so that no reader remains.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.begin() {
		return errClosed
	}
	defer s.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	l := newLines(in, out)
	ss, err := s.sdk.Connect(context.WithoutCancel(ctx), l, nil)
	if err != nil {
		return fmt.Errorf("serving an MCP client: %w", err)
	}
	ses := s.of(ss)
	over := make(chan error, 1)
	go func() { over <- ss.Wait() }()
	select {
	case <-l.ended:
		timer := time.NewTimer(parting)
		defer timer.Stop()
		select {
		case err := <-over:
			return ignoreEnd(err)
		case <-timer.C:
		case <-ctx.Done():
		}
	case err := <-over:
		return ignoreEnd(err)
	case <-ctx.Done():
	}
	stopped := context.Cause(ctx)
	ses.cancel() // ends the calls, and Close waits for them
	_ = l.Close()
	_ = ss.Close() // the client's trouble is not ours
	<-over
	return stopped
}

// ignoreEnd is nil for the ordinary end of a session.
func ignoreEnd(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return fmt.Errorf("serving an MCP client: %w", err)
}

var errClosed = errors.New("the MCP server is closed")

// begin notes that something is running, unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

// Close ends all sessions and calls and waits for them. Later requests are refused.
func (s *Server) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	for ss := range s.sdk.Sessions() {
		_ = ss.Close() // the client's trouble is not ours
	}
	s.running.Wait()
	if !again {
		s.ended(s.shared)
	}
	return nil
}

func (s *Server) ended(ses *session) {
	if s.callbacks.Ended != nil && ses.calls.Load() > 0 {
		s.callbacks.Ended(ses.id)
	}
}

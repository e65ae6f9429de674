//lint:file-ignore SA1019 Logging is deprecated in the newest version of the protocol; clients of the others have it.

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

	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// Options configure a [Server]. Only Name is required.
type Options struct {
	Name         string // of the server; it must not hold "__", see [mcp.CheckName]
	Title        string // for people
	Version      string // "" is "0"
	Instructions string // text for the clients' models
	Tools        []tool.Tool
	// Call carries out the calls. Nil: the tools are called directly, without any question
	// or permission check.
	Call     CallFunc
	Dir      string // [tool.Call].Dir of direct calls
	PageSize int    // of the list of tools; 0: 1,000
	// Patience is how long a client may take to answer a question. 0: 10 minutes.
	Patience time.Duration
	// Ended, if not nil, is called when a session that had calls has ended.
	Ended func(session string)
	Log   *slog.Logger // nil: no logs

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
	options Options
	sdk     *sdk.Server
	http    struct{ sessions, calls http.Handler } // for clients of before 2026-07-28, and since then

	asksNobody bool // calls run as they come: Options had no Call

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
func New(o Options) (*Server, error) {
	if err := mcp.CheckName(o.Name); err != nil {
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
	asksNobody := o.Call == nil
	if asksNobody {
		o.Call = direct(o.Dir)
	}
	s := &Server{options: o, asksNobody: asksNobody, tools: map[string]tool.Tool{}, sessions: map[*sdk.ServerSession]*session{}, waiting: map[string]*pendingCall{}}
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
	return mcp.Config{Type: mcp.InProcess, Tools: slices.Clone(s.order)}
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
	if s.options.Ended != nil && ses.calls.Load() > 0 {
		s.options.Ended(ses.id)
	}
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpauth"
	"github.com/openagent-go/agent/internal/mcphost"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp/oauth"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// Options configure [Servers].
type Options struct {
	// Workspace is where Stdio servers are started; they need one. Closing it ends them.
	Workspace *workspace.Workspace
	// Wait is how long after Start a prompt waits for servers that are still
	// connecting. 0: it does not, but for those with AlwaysLoad.
	Wait time.Duration
	// Changed is called at each change of a server's status, in order for one server. It
	// must return soon and change no servers.
	Changed func(Status)
	// Updated is called when a subscribed resource has changed. It must return soon.
	Updated func(server, uri string)
	// Logins keeps the logins to servers on the network that want one. nil: they end
	// with the Servers.
	Logins oauth.Store
	// Login shows a person the page on which they log in to a server; see [oauth.Client.Login].
	// nil: there is no person. Servers that require a login are then "needs-auth" until a
	// login was stored in another way and they are reconnected.
	Login func(ctx context.Context, server, page string) (address string, err error)
	// LoginCommand is the command with which a person logs in, followed by the server's
	// name; the status "needs-auth" shows it.
	LoginCommand string
	// Host connects to servers of type sdk without Tools, which run in the program that drives
	// this one. It is for the command openagent.
	Host    mcphost.Dial
	Version string       // of the program, for the servers; "" is "0"
	Log     *slog.Logger // nil: no logs
}

func (o Options) version() string {
	if o.Version == "" {
		return "0"
	}
	return o.Version
}

func (o Options) log() *slog.Logger {
	if o.Log != nil {
		return o.Log
	}
	return slog.New(slog.DiscardHandler)
}

// A State says how it stands with a server:
//
//   - "pending": it is being connected; Error says why it was not before
//   - "connected": its tools can be called
//   - "failed": Error says why; Reconnect tries again
//   - "needs-auth": a person has to log in
//   - "disabled"
type State string

// A Status describes a server.
type Status struct {
	Name     string   `json:"name"`               // of the server
	Type     string   `json:"type"`               // stdio, http or sse
	State    State    `json:"status"`             // of the connection
	Error    string   `json:"error,omitempty"`    // why it failed; "": it did not
	Tools    []string `json:"tools"`              // as the model calls them, while it is connected
	Problems []string `json:"problems,omitempty"` // with its tools
	// Of a connected server: its own name, and the version of the protocol.
	ServerName    string `json:"serverName,omitempty"`
	ServerVersion string `json:"serverVersion,omitempty"` // as the server says
	Protocol      string `json:"protocol,omitempty"`      // the version that both sides speak
	// Instructions are the server's text for models: a foreign text, cut to 2 KB.
	Instructions string `json:"instructions,omitempty"`
}

// Servers keep the connections to servers, over all prompts until Close. They are
// a [tool.Set], safe for concurrent use.
type Servers struct {
	options   Options
	transport http.RoundTripper
	logins    mcpauth.Store

	version  atomic.Uint64
	changing sync.Mutex // held by who starts or ends servers
	mu       sync.Mutex
	servers  map[string]*server
	roots    []string  // nil: the workspace's
	started  time.Time // zero: they are not
	closed   bool
}

// New returns servers that are not connected yet. One whose configuration is
// wrong is "failed".
func New(configs map[string]Config, o Options) *Servers {
	all := &Servers{options: o, logins: mcpauth.Logins(o.Logins), transport: http.DefaultTransport.(*http.Transport).Clone(), servers: map[string]*server{}}
	for name, c := range configs {
		all.servers[name] = all.make(name, c)
	}
	return all
}

func (all *Servers) make(name string, c Config) *server {
	s := &server{all: all, name: name, config: c.clone(), state: mcpnames.Pending, moved: make(chan struct{}), tried: make(chan struct{}), done: make(chan struct{})}
	s.auth = s.config.client(all.logins, all.transport)
	close(s.done)
	if c.Disabled {
		s.state = mcpnames.Disabled
	} else if err := c.Check(name); err != nil {
		s.state, s.err = mcpnames.Failed, err
	}
	return s
}

// ErrNoServer is matched by the error for a name that no server has.
var ErrNoServer = errors.New("there is no such server")

var errClosed = errors.New("the servers are closed")

// Start connects all servers side by side and does not wait for them. Tools
// starts them as well.
func (all *Servers) Start() {
	all.changing.Lock()
	defer all.changing.Unlock()
	all.mu.Lock()
	first := all.started.IsZero() && !all.closed
	if first {
		all.started = time.Now()
	}
	all.mu.Unlock()
	if !first {
		return
	}
	for _, s := range all.sorted() {
		all.begin(s)
	}
}

// begin starts the life of a server that is Pending. The caller holds changing.
func (all *Servers) begin(s *server) {
	all.mu.Lock()
	state := s.state
	all.mu.Unlock()
	if state != mcpnames.Pending {
		return
	}
	if s.local() {
		s.connected(nil, &serverOffer{tools: s.direct()})
		close(s.tried)
		return
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	done := make(chan struct{})
	s.done = done
	tried := sync.OnceFunc(func() { close(s.tried) })
	go func() {
		defer close(done)
		s.live(ctx, tried)
	}()
}

// end ends the life of a server and waits for that. The caller holds changing.
func (s *server) end() {
	if s.cancel != nil {
		s.cancel()
	}
	<-s.done
}

func (all *Servers) sorted() []*server {
	all.mu.Lock()
	defer all.mu.Unlock()
	var list []*server
	for _, name := range slices.Sorted(maps.Keys(all.servers)) {
		list = append(list, all.servers[name])
	}
	return list
}

// Tools returns the tools of the connected servers, by server, and those of servers
// that were lost and are being reconnected. It waits as Options.Wait and
// AlwaysLoad say; a server that fails holds up nothing.
func (all *Servers) Tools(ctx context.Context) ([]tool.Tool, error) {
	all.Start()
	servers := all.sorted()
	all.mu.Lock()
	deadline := time.After(time.Until(all.started.Add(all.options.Wait)))
	all.mu.Unlock()
	for _, s := range servers {
		all.mu.Lock()
		pending, tried := s.state == mcpnames.Pending, s.tried
		all.mu.Unlock()
		if !pending {
			continue
		}
		late := deadline
		if s.config.AlwaysLoad {
			late = nil // its own time to start bounds it
		}
		select {
		case <-tried:
		case <-late:
			deadline = expired
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	var tools []tool.Tool
	for _, s := range servers {
		if s.serves() {
			tools = append(tools, s.tools...)
		}
	}
	return tools, nil
}

var expired = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// Status returns the status of each server, by name.
func (all *Servers) Status() []Status {
	servers := all.sorted()
	all.mu.Lock()
	defer all.mu.Unlock()
	list := make([]Status, 0, len(servers))
	for _, s := range servers {
		list = append(list, s.status())
	}
	return list
}

// status is called with mu held.
func (s *server) status() Status {
	st := Status{Name: s.name, Type: s.config.kind(), State: s.state, Tools: []string{}}
	if s.err != nil {
		st.Error = s.sanitize(s.err.Error())
	}
	if s.state != mcpnames.Connected {
		return st
	}
	st.Problems = slices.Clone(s.problems)
	for _, t := range s.tools {
		st.Tools = append(st.Tools, t.Spec().Name)
	}
	if s.session != nil {
		begun := s.session.client.InitializeResult()
		st.Protocol, st.Instructions = begun.ProtocolVersion, s.told
		if i := begun.ServerInfo; i != nil {
			st.ServerName, st.ServerVersion = line(i.Name), line(i.Version)
		}
	}
	return st
}

// Reconnect ends the connection to a server, if there is one, and connects
// again, also to one that is disabled. It returns when that has succeeded or failed,
// a person's login included.
func (all *Servers) Reconnect(ctx context.Context, name string) error {
	return all.renew(ctx, name, true)
}

// Toggle disables a server, which ends its connection, or connects it again.
func (all *Servers) Toggle(ctx context.Context, name string, enabled bool) error {
	return all.renew(ctx, name, enabled)
}

func (all *Servers) renew(ctx context.Context, name string, enabled bool) error {
	s, err := all.replace(name, func(c *Config) { c.Disabled = !enabled })
	if err != nil || !enabled {
		return err
	}
	select {
	case <-s.tried:
	case <-s.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.answered(ctx); err != nil {
		return err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.state != mcpnames.Connected {
		return fmt.Errorf("connecting the MCP server %s: %w", name, errors.New(s.status().Error))
	}
	return nil
}

// replace ends a server and puts one with a changed configuration in its place.
func (all *Servers) replace(name string, change func(*Config)) (*server, error) {
	all.changing.Lock()
	defer all.changing.Unlock()
	all.mu.Lock()
	old, closed := all.servers[name], all.closed
	all.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case old == nil:
		return nil, fmt.Errorf("%q: %w", text.Bytes(name, 100), ErrNoServer)
	}
	c := old.config
	change(&c)
	old.end()
	s := all.make(name, c)
	all.mu.Lock()
	s.subscriptions = old.subscriptions
	all.mu.Unlock()
	all.put(old, s)
	return s, nil
}

// put replaces a server, which has ended, and starts the new one. Calls that wait for the
// old one fail.
func (all *Servers) put(old, s *server) {
	if old != nil {
		old.become(mcpnames.Disabled, errors.New("the server was replaced or removed"), nil)
	}
	all.mu.Lock()
	all.servers[s.name] = s
	if all.started.IsZero() {
		all.started = time.Now()
	}
	status := s.status()
	all.mu.Unlock()
	if all.options.Changed != nil {
		all.options.Changed(status)
	}
	all.begin(s)
}

// A Change lists the effects of [Servers.Set], by name.
type Change struct {
	Added   []string          `json:"added"`   // new ones, and those with a new configuration
	Removed []string          `json:"removed"` // names of servers
	Errors  map[string]string `json:"errors"`  // of configurations that are wrong
}

// Set replaces all servers by configs. Servers whose configuration is the same stay
// connected. The others are ended first; then the new ones are connected in the background.
func (all *Servers) Set(configs map[string]Config) (Change, error) {
	all.changing.Lock()
	defer all.changing.Unlock()
	c := Change{Added: []string{}, Removed: []string{}, Errors: map[string]string{}}
	all.mu.Lock()
	closed, old := all.closed, maps.Clone(all.servers)
	all.mu.Unlock()
	if closed {
		return c, errClosed
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		s := old[name]
		wanted, ok := configs[name]
		if ok && wanted.same(s.config) {
			continue
		}
		s.end()
		if !ok {
			s.become(mcpnames.Disabled, errors.New("the server was removed"), nil)
			all.mu.Lock()
			delete(all.servers, name)
			all.mu.Unlock()
			c.Removed = append(c.Removed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if s := old[name]; s != nil && configs[name].same(s.config) {
			continue
		}
		s := all.make(name, configs[name])
		if s.err != nil {
			c.Errors[name] = s.err.Error()
		}
		all.put(old[name], s)
		c.Added = append(c.Added, name)
	}
	return c, nil
}

// Close ends all connections and processes and waits for them.
func (all *Servers) Close() error {
	all.changing.Lock()
	defer all.changing.Unlock()
	all.mu.Lock()
	all.closed = true
	all.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all.sorted() {
		wg.Go(func() {
			s.end()
			all.mu.Lock()
			known := s.state == mcpnames.Disabled || s.state == mcpnames.Failed
			all.mu.Unlock()
			if !known {
				s.become(mcpnames.Disabled, errClosed, nil)
			}
		})
	}
	wg.Wait()
	all.transport.(*http.Transport).CloseIdleConnections()
	return nil
}

var _ interface {
	toolrun.Instructor
	toolrun.Versioned
} = (*Servers)(nil)
var _ sdk.Transport = (*child)(nil)

package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/keys"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	protocol "github.com/openagent-go/agent/internal/acp"
	"github.com/openagent-go/agent/session"
)

// A server serves one client.
type server struct {
	h     *cli.IO
	flags *settings.Options
	conn  *protocol.Conn

	mu       sync.Mutex
	client   protocol.ClientCapabilities
	sessions map[string]*editorSession // those that are open
	queues   map[string]chan struct{}  // the last place of each
}

// A place is a place in the queue of the requests that change a session, in the order in which they
// came. A session that is loaded while it is being closed is loaded afterwards.
type place struct {
	s      *server
	id     string
	before chan struct{} // closed when the request before has left; nil: there is none
	left   chan struct{}
}

// enqueue takes a place in the queue of a session. The caller enters it once.
func (s *server) enqueue(id string) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &place{s, id, s.queues[id], make(chan struct{})}
	s.queues[id] = p.left
	return p
}

// enter waits for the end of the requests before. If ctx ends first, the place is given up.
func (p *place) enter(ctx context.Context) (leave func(), err error) {
	if p.before == nil {
		return p.leave, nil
	}
	select {
	case <-p.before:
		return p.leave, nil
	case <-ctx.Done():
		go func() {
			<-p.before
			p.leave()
		}()
		return nil, ctx.Err()
	}
}

func (p *place) leave() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.s.queues[p.id] == p.left {
		delete(p.s.queues, p.id)
	}
	close(p.left)
}

// A rest finishes a request.
type rest = func(context.Context) (any, error)

// accept begins a request, see [protocol.Accept].
func (s *server) accept(r protocol.Request) (rest, error) {
	switch r.Method {
	case "initialize":
		var in protocol.Initialize
		if err := r.Decode(&in); err != nil {
			return nil, err
		}
		return s.initialize(in), nil
	case "authenticate":
		var in struct {
			Method string `json:"methodId"`
		}
		if err := r.Decode(&in); err != nil {
			return nil, err
		}
		if in.Method != byTerminal && in.Method != byEnvironment {
			return nil, protocol.Errorf(protocol.InvalidParams, "authenticate: there is no methodId %q; choose %s or %s", cli.Clip(in.Method), byTerminal, byEnvironment)
		}
		return s.authenticate, nil
	case "logout":
		return s.logout, nil
	case "session/new", "session/load", "session/resume", "session/fork":
		var in protocol.Place
		if err := r.Decode(&in); err != nil {
			return nil, err
		}
		if r.Method == "session/new" || r.Method == "session/fork" {
			return func(ctx context.Context) (any, error) { return s.open(ctx, r.Method, in) }, nil
		}
		return s.inTurn(in.Session, func(ctx context.Context) (any, error) { return s.open(ctx, r.Method, in) }), nil
	case "session/list":
		var in listing
		if err := r.Decode(&in); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return s.list(ctx, in) }, nil
	case "session/prompt":
		var in protocol.Prompt
		if err := r.Decode(&in); err != nil {
			return nil, err
		}
		e, err := s.session(in.Session)
		if err != nil {
			return nil, err
		}
		return e.prompt(in.Blocks)
	}
	var in struct {
		Session string `json:"sessionId"`
		change
	}
	if !slices.Contains([]string{"session/cancel", "session/close", "session/delete", "session/set_mode", "session/set_config_option"}, r.Method) {
		return nil, protocol.Errorf(protocol.MethodNotFound, "there is no method %q", cli.Clip(r.Method))
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	switch r.Method {
	case "session/close":
		return s.inTurn(in.Session, func(context.Context) (any, error) { return struct{}{}, s.close(in.Session) }), nil
	case "session/delete":
		return s.inTurn(in.Session, func(ctx context.Context) (any, error) { return struct{}{}, s.delete(ctx, in.Session) }), nil
	}
	e, err := s.session(in.Session)
	if err != nil {
		return nil, err
	}
	if r.Method == "session/cancel" {
		e.cancel()
		return nil, nil
	}
	return s.inTurn(in.Session, func(ctx context.Context) (any, error) { return e.change(ctx, r.Method, in.change) }), nil
}

// inTurn carries out a request when those before it are done that change the same session.
func (s *server) inTurn(id string, do rest) rest {
	p := s.enqueue(id)
	return func(ctx context.Context) (any, error) {
		leave, err := p.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		return do(ctx)
	}
}

// initialize tells the client what this agent can do.
func (s *server) initialize(in protocol.Initialize) rest {
	s.mu.Lock()
	s.client = in.Capabilities
	s.mu.Unlock()
	return func(context.Context) (any, error) {
		nothing := struct{}{}
		return protocol.Initialized{Version: protocol.Version, Agent: protocol.Implementation{Name: "openagent", Title: "Open Agent", Version: cli.Version()},
			Auth: authMethods(in.Capabilities),
			Capabilities: protocol.AgentCapabilities{Load: true,
				Prompt:  map[string]bool{"image": true, "audio": false, "embeddedContext": true},
				MCP:     map[string]bool{"http": true, "sse": true},
				Session: map[string]struct{}{"list": nothing, "resume": nothing, "close": nothing, "delete": nothing, "fork": nothing, "additionalDirectories": nothing},
				Auth:    map[string]struct{}{"logout": nothing}}}, nil
	}
}

// Ids of the ways to log in.
const (
	byTerminal    = "login"
	byEnvironment = "environment"
)

// authMethods are the ways to log in. The one by a terminal is for clients that have one.
func authMethods(client protocol.ClientCapabilities) []protocol.AuthMethod {
	list := []protocol.AuthMethod{{ID: byEnvironment, Name: "API key of your provider",
		Description: "Set a variable such as ANTHROPIC_API_KEY in the settings of your editor, or run: openagent auth login"}}
	if !client.Auth.Terminal && !client.Meta.TerminalAuth {
		return list
	}
	m := protocol.AuthMethod{ID: byTerminal, Name: "Store an API key", Description: "Type the API key of your provider in a terminal. It is kept in the keyring of your system.",
		Type: "terminal", Args: []string{"login"}}
	if program, err := os.Executable(); err == nil && client.Meta.TerminalAuth {
		m.Meta = map[string]any{"terminal-auth": map[string]any{"label": m.Name, "command": program, "args": []string{"acp", "login"}}}
	}
	return append([]protocol.AuthMethod{m}, list...)
}

// provider returns the provider of the settings, outside of a project.
func (s *server) provider(ctx context.Context) (provider.Provider, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return provider.Provider{}, err
	}
	h := s.h.Fork()
	o, err := settings.Configure(ctx, h, s.flags, dir, false)
	if err != nil {
		return provider.Provider{}, err
	}
	return provider.Open(h, o)
}

// authenticate reports whether there is a key now.
func (s *server) authenticate(ctx context.Context) (any, error) {
	p, err := s.provider(ctx)
	if err != nil {
		return nil, err
	}
	if p.NeedsKey() {
		return nil, noKey(p.MissingKey())
	}
	return struct{}{}, nil
}

// logout removes the stored key.
func (s *server) logout(ctx context.Context) (any, error) {
	p, err := s.provider(ctx)
	if err != nil {
		return nil, err
	}
	store, err := keys.Open(s.h)
	if err != nil {
		return nil, err
	}
	_, err = store.Remove(ctx, p.Name.Value)
	return struct{}{}, err
}

// noKey returns the error of a request that needs a key.
func noKey(err error) error {
	return protocol.Errorf(protocol.AuthRequired, "%v", err)
}

// refusal turns errors into those of the protocol.
func refusal(err error) error {
	var known *protocol.Error
	var exit interface{ ExitCode() int }
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &exit) && exit.ExitCode() == cli.ExitKey:
		return noKey(err)
	case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrBadID):
		return protocol.Errorf(protocol.ResourceNotFound, "%v", err)
	}
	return protocol.Errorf(protocol.InternalError, "%v", err)
}

// session returns an open session.
func (s *server) session(id string) (*editorSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.sessions[id]; e != nil {
		return e, nil
	}
	return nil, protocol.Errorf(protocol.ResourceNotFound, "the session %q is not open; open it with session/load or session/resume", cli.Clip(id))
}

// take takes a session out of the open ones, nil if it is not one.
func (s *server) take(id string) *editorSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.sessions[id]
	delete(s.sessions, id)
	return e
}

// close closes a session. One that is not open is closed already.
func (s *server) close(id string) error {
	if e := s.take(id); e != nil {
		return refusal(e.close())
	}
	return nil
}

func (s *server) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.sessions {
		e.cancel()
	}
}

// closeAll closes all sessions at once.
func (s *server) closeAll() error {
	s.mu.Lock()
	all := s.sessions
	s.sessions = map[string]*editorSession{}
	s.mu.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	i := 0
	for _, e := range all {
		wg.Go(func(at *error) func() { return func() { *at = e.close() } }(&errs[i]))
		i++
	}
	wg.Wait()
	return errors.Join(errs...)
}

// folder checks the folder of a session.
func folder(name, path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", protocol.Errorf(protocol.InvalidParams, "%s: the path %q is not absolute", name, cli.Clip(path))
	}
	if err := settings.CheckDir(name, path); err != nil {
		return "", protocol.Errorf(protocol.InvalidParams, "%v", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	return filepath.Clean(path), nil
}

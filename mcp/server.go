package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpauth"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

const (
	retries    = 2 // after a connection failed or was lost
	firstWait  = time.Second
	longWait   = 10 * time.Second
	steady     = time.Minute // a connection that held for so long counts as lost for the first time
	settleTime = 100 * time.Millisecond
)

// A server is one of the [Servers]. One goroutine lives for it while it is wanted.
type server struct {
	all    *Servers
	name   string
	config Config

	// Guarded by all.mu.
	state         State
	err           error
	tools         []tool.Tool
	problems      []string
	prompts       []Prompt
	subscriptions []string // URIs
	told          string   // its text for models
	had           bool     // it was connected
	session       *session // nil unless connected
	moved         chan struct{}
	tried         chan struct{} // closed: there is a connection, or a first try has failed
	cancel        context.CancelFunc
	done          chan struct{} // closed: nothing of it is still running
	legacy        bool          // it is known not to take server/discover

	logs logRate
	serverLogin
}

// A serverLogin is how a person logs in to a server.
type serverLogin struct {
	auth   *mcpauth.Client // nil: no login
	asking bool            // a person is being asked to; guarded by all.mu
	asked  map[string]bool // scopes that a person was asked for; guarded by all.mu
}

// local reports whether the tools of the server are called directly.
func (s *server) local() bool {
	return s.config.kind() == mcpnames.InProcess && (s.config.Tools != nil || s.all.options.Host == nil)
}

// live connects, and connects again, until ctx ends or it is of no use.
func (s *server) live(ctx context.Context, tried func()) {
	defer tried()
	logins := 0 // since a connection held
	for try := 0; ; try++ {
		held, err := s.serve(ctx, tried)
		if ctx.Err() != nil {
			return
		}
		if held > steady {
			try, logins = 0, 0
		}
		switch {
		case errors.Is(err, errUnauthorized):
			if logins++; logins <= maxLogins {
				if err = s.authorize(ctx, err, tried); err == nil {
					try = -1
					continue
				}
			}
			if ctx.Err() == nil {
				s.needsAuth(err)
			}
			return
		case try >= retries || errors.Is(err, errNotStarted):
			s.become(mcpnames.Failed, err, nil)
			return
		}
		s.become(mcpnames.Pending, err, nil)
		tried()
		select {
		case <-time.After(min(firstWait<<try, longWait)):
		case <-ctx.Done():
			return
		}
	}
}

// errLate is the beginning of the error for a server that took too long to start.
var errLate = errors.New("the server did not start within")

// serve is one connection, from its beginning to its end.
func (s *server) serve(ctx context.Context, tried func()) (held time.Duration, err error) {
	ses, has, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer ses.close()
	since := time.Now()
	s.connected(ses, has)
	tried()
	known, settle := has.sum, debounce{}
	for {
		select {
		case <-ctx.Done():
			return time.Since(since), ctx.Err()
		case <-ses.live.Done():
			return time.Since(since), ses.lost()
		case <-ses.changed:
		}
		// Servers announce changes in bursts.
		select {
		case <-ctx.Done():
			return time.Since(since), ctx.Err()
		case <-time.After(settle.next(time.Now())):
		}
		select {
		case <-ses.changed:
		default:
		}
		announced := ses.announcements()
		has, err := s.listAgain(ctx, ses)
		settle.last = time.Now()
		switch {
		case err != nil: // those known stay
			s.all.options.log().Warn("an MCP server has changed its tools and does not list them", "server", s.name, "error", s.sanitize(err.Error()))
		case has.sum != known: // else no one needs the report
			known = has.sum
			s.connected(ses, has)
		}
		ses.followed(announced)
	}
}

func (s *server) listAgain(ctx context.Context, ses *session) (*serverOffer, error) {
	soon, cancel := context.WithTimeoutCause(ctx, s.config.start(), errSilent)
	defer cancel()
	return s.list(soon, ses)
}

// A serverOffer is the list of a server's features.
type serverOffer struct {
	tools    []tool.Tool
	prompts  []Prompt
	problems []string
	sum      [sha256.Size]byte // of the listed tools
}

// begin connects and reads the tools, within the time to start.
func (s *server) begin(ctx context.Context) (*session, *serverOffer, error) {
	soon, cancel := context.WithTimeoutCause(ctx, s.config.start(), fmt.Errorf("%w %v", errLate, s.config.start()))
	defer cancel()
	ses, err := connect(soon, s, s.legacy)
	if errors.Is(err, errProbe) {
		s.legacy = true
		ses, err = connect(soon, s, true)
	}
	if err != nil {
		return nil, nil, err
	}
	if c := ses.child; c != nil {
		s.legacy = ses.client.InitializeResult().ProtocolVersion < newest
	}
	has, err := s.list(soon, ses)
	if err != nil {
		if soon.Err() != nil {
			err = context.Cause(soon)
		}
		err = ses.explain(err)
		ses.close()
		return nil, nil, err
	}
	s.subscribe(soon, ses)
	s.setLogLevel(soon, ses)
	return ses, has, nil
}

// newest is the first version of the protocol that has server/discover.
const newest = "2026-07-28"

func (s *server) list(ctx context.Context, ses *session) (*serverOffer, error) {
	sum := newListing()
	listed, problem, err := ses.list(ctx, sum)
	if err != nil {
		return nil, err
	}
	has := new(serverOffer)
	has.tools, has.problems = s.adopt(listed)
	prompts, trouble := s.listPrompts(ctx, ses, sum)
	has.prompts, has.sum = prompts, sum.sum()
	for _, p := range []string{problem, trouble} {
		if p != "" {
			has.problems = append(has.problems, p)
		}
	}
	return has, nil
}

// call calls a tool. A call that the server cannot have seen, because its session
// was gone, is made once more; no other is.
func (s *server) call(ctx context.Context, name string, call tool.Call) (*tool.Result, error) {
	ses, err := s.ready(ctx, nil)
	if err != nil {
		return s.unreachable(ctx, err)
	}
	res, err := ses.call(ctx, name, call)
	if errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed) {
		ses.end(err)
		if ses, err = s.ready(ctx, ses); err != nil {
			return s.unreachable(ctx, err)
		}
		res, err = ses.call(ctx, name, call)
	}
	if refused := refusedBy(err); refused != nil {
		if ses, err = s.allowed(ctx, ses, refused); err != nil {
			return s.unreachable(ctx, err)
		}
		if res, err = ses.call(ctx, name, call); refusedBy(err) != nil {
			return s.unreachable(ctx, err)
		}
	}
	switch {
	case err == nil:
		ses.catchUp(ctx)
		return s.hide(result(res)), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errSilent):
		return tool.Errorf("the MCP server %s said nothing of the call for %v, so it was cancelled; whether it was carried out is not known", s.name, s.config.timeout()), tool.ErrTimeout
	case errors.Is(err, errLong):
		return tool.Errorf("the call took more than %v, so it was cancelled; whether it was carried out is not known", s.config.maxTime()), tool.ErrTimeout
	}
	if text := answer(err); text != "" {
		return tool.Errorf("the MCP server %s answered: %s", s.name, s.sanitize(text)), nil
	}
	select { // the call learns of the end before the session does
	case <-ses.live.Done():
		err = ses.lost()
	case <-time.After(finding):
	}
	return tool.Errorf("the MCP server %s did not answer the call, and whether it was carried out is not known: %s", s.name, s.sanitize(fmt.Sprint(err))), nil
}

func (s *server) unreachable(ctx context.Context, err error) (*tool.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return tool.Errorf("the MCP server %s is not connected: %s", s.name, s.sanitize(fmt.Sprint(err))), nil
}

// sanitize returns a text without the secrets of the configuration and without
// control characters of terminals.
func (s *server) sanitize(said string) string {
	return redact.New(s.secrets()).Text(text.Clean(text.Bytes(said, 8<<10)))
}

// ready returns a session that has not ended and is not the one given. It waits
// while there is hope of one.
func (s *server) ready(ctx context.Context, not *session) (*session, error) {
	for {
		s.all.mu.Lock()
		state, err, ses, moved, asking := s.state, s.err, s.session, s.moved, s.asking
		s.all.mu.Unlock()
		switch {
		case state == mcpnames.Connected && ses != not && ses.live.Err() == nil:
			return ses, nil
		case state == mcpnames.Connected, state == mcpnames.Pending, asking:
		case err != nil:
			return nil, err
		default:
			return nil, fmt.Errorf("it is %s", state)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *server) connected(ses *session, has *serverOffer) {
	s.all.mu.Lock()
	s.tools, s.prompts, s.problems = has.tools, has.prompts, has.problems
	if ses != nil {
		s.told = instructions(ses.client.InitializeResult().Instructions)
	}
	s.had = true
	s.all.version.Add(1)
	s.all.mu.Unlock()
	s.become(mcpnames.Connected, nil, ses)
}

// become changes the state and tells who wants to know.
func (s *server) become(state State, err error, ses *session) {
	s.all.mu.Lock()
	served := s.serves()
	s.state, s.err, s.session = state, err, ses
	if served && !s.serves() {
		s.all.version.Add(1)
	}
	close(s.moved)
	s.moved = make(chan struct{})
	status := s.status()
	s.all.mu.Unlock()
	if s.all.options.Changed != nil {
		s.all.options.Changed(status)
	}
}

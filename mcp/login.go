package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/mcpauth"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp/oauth"
	"github.com/openagent-go/agent/tool"
)

const (
	maxLogins = 2               // of a server that refuses its login too
	loginTime = 5 * time.Minute // that a person has
)

// logsIn reports whether programs log in to a server; others have headers.
func (c Config) logsIn() bool {
	if kind := c.kind(); kind != mcpnames.HTTP && kind != mcpnames.SSE {
		return false
	}
	for name := range c.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return true
}

func (c Config) checkLogin() error {
	if c.OAuth == nil {
		return nil
	}
	if !c.logsIn() {
		return errors.New("oauth is for servers of type http and sse without a header Authorization")
	}
	return mcpauth.Config(*c.OAuth).Check()
}

// client returns the client that logs in to a server, nil if there is none.
func (c Config) client(logins mcpauth.Store, base http.RoundTripper) *mcpauth.Client {
	if !c.logsIn() {
		return nil
	}
	client := &mcpauth.Client{Server: c.URL, Logins: logins, Transport: base}
	if c.OAuth != nil {
		client.Config = mcpauth.Config(*c.OAuth)
	}
	return client
}

// LoginClient returns the client that logs in to the server of a configuration and stores
// the login in logins. Servers with the same store use the login once they are reconnected.
// It fails for servers that take no login.
func (c Config) LoginClient(logins oauth.Store) (*oauth.Client, error) {
	if err := c.Check("server"); err != nil {
		return nil, err
	}
	if !c.logsIn() {
		return nil, errors.New("the server takes no login; only servers of type http or sse without a header Authorization do")
	}
	var login oauth.Config
	if c.OAuth != nil {
		login = *c.OAuth
	}
	return oauth.New(c.URL, login, logins), nil
}

// errUnauthorized is matched by the error for a server that wants to know who asks.
var errUnauthorized = errors.New("the server requires authorization")

// A refusal is the error for a request that a server refused because of its credentials:
// the server has done nothing of it.
type refusal struct {
	ask mcpauth.Challenge
	// forbidden: it knows who asks, and wants more scopes.
	forbidden bool
}

func (r *refusal) Error() string {
	if r.forbidden {
		return fmt.Sprintf("the server wants a login with more scopes: %s", strings.Join(r.ask.Scopes, " "))
	}
	return errUnauthorized.Error()
}

func (r *refusal) Is(target error) bool { return target == errUnauthorized }

func refusedBy(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// refuses reads a refusal in an answer; nil if there is none.
func refuses(resp *http.Response) *refusal {
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return &refusal{ask: mcpauth.ReadChallenge(resp.Header)}
	case http.StatusForbidden:
		if ask := mcpauth.ReadChallenge(resp.Header); ask.Error == "insufficient_scope" && len(ask.Scopes) > 0 {
			return &refusal{ask: ask, forbidden: true}
		}
	}
	return nil
}

// authorized makes a request with the login to the server, which is renewed once
// where the server takes it no more.
func (c *authTransport) authorized(r *http.Request) (*http.Response, error) {
	if c.auth == nil {
		return c.send(r, "")
	}
	token, err := c.auth.Token(r.Context())
	if err != nil {
		return nil, err
	}
	resp, err := c.send(r, token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	switch {
	case c.auth.Unattended():
		token, err = c.auth.Obtain(r.Context(), mcpauth.ReadChallenge(resp.Header), token)
	case token == "":
		return resp, nil
	default:
		token, err = c.auth.Renew(r.Context(), token)
	}
	if errors.Is(err, mcpauth.ErrLogin) {
		return resp, nil
	}
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if r.GetBody != nil {
		r = r.Clone(r.Context())
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return c.send(r, token)
}

// needsAuth gives a server the state "needs-auth" and names the remedy.
func (s *server) needsAuth(err error) {
	s.become(mcpnames.NeedsAuth, s.withRemedy(err), nil)
}

// withRemedy adds the remedy to an error of a server that asks for a login.
func (s *server) withRemedy(err error) error {
	switch command := s.all.options.LoginCommand; {
	case s.auth == nil:
		return fmt.Errorf("%w; set its headers", err)
	case s.auth.Unattended():
		return fmt.Errorf("%w; it rejects the client %s of its oauth settings", err, text.Bytes(s.config.OAuth.ClientID, 100))
	case command == "":
		return fmt.Errorf("%w; log in, or set its headers", err)
	default:
		return fmt.Errorf("%w; run %s %s, or set its headers", err, command, s.name)
	}
}

// authorize has a person log in to the server, which is "needs-auth" in the meantime. The
// error says why they have not.
func (s *server) authorize(ctx context.Context, cause error, tried func()) error {
	refused := refusedBy(cause)
	if s.auth == nil || s.auth.Unattended() || s.all.options.Login == nil || refused == nil {
		return cause
	}
	s.ask(true)
	s.needsAuth(cause)
	tried()
	defer s.ask(false)
	if err := s.login(ctx, refused.ask); err != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	s.become(mcpnames.Pending, nil, nil)
	return nil
}

// answered waits while a person is asked to log in, and then for the result.
func (s *server) answered(ctx context.Context) error {
	for asked := false; ; {
		s.all.mu.Lock()
		state, asking, moved := s.state, s.asking, s.moved
		s.all.mu.Unlock()
		asked = asked || asking
		if !asking && (!asked || state != mcpnames.Pending) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *server) ask(asking bool) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.asking = asking
}

func (s *server) login(ctx context.Context, ask mcpauth.Challenge) error {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	return s.auth.Login(ctx, ask, func(ctx context.Context, page string) (string, error) {
		return s.all.options.Login(ctx, s.name, page)
	})
}

// allowed returns a session for a call that was refused with another session. It asks the
// person, if there is one: for a login through the connection of the server, for more
// scopes here, once for each.
func (s *server) allowed(ctx context.Context, ses *session, refused *refusal) (*session, error) {
	if !refused.forbidden {
		ses.end(refused)
		if s.auth == nil || s.auth.Unattended() || s.all.options.Login == nil {
			return nil, s.withRemedy(refused)
		}
		return s.ready(ctx, ses)
	}
	if s.auth == nil {
		return nil, refused
	}
	missing, err := s.auth.Want(ctx, refused.ask.Scopes)
	if err != nil {
		return nil, err
	}
	if missing && s.all.options.Login == nil && !s.auth.Unattended() {
		return nil, s.withRemedy(refused)
	}
	if missing && s.first(refused.ask.Scopes) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(ses.live, cancel)()
		if err := s.login(ctx, refused.ask); err != nil {
			return nil, err
		}
		return ses, nil
	}
	if missing {
		return nil, refused
	}
	return ses, nil // another call has got them
}

// first reports whether this is the first question about these scopes.
func (s *server) first(scopes []string) bool {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	key := strings.Join(scopes, " ")
	if s.asked[key] {
		return false
	}
	if s.asked == nil {
		s.asked = map[string]bool{}
	}
	s.asked[key] = true
	return true
}

// secrets are the values of the configuration and the login that must not be shown.
func (s *server) secrets() []string {
	list := s.config.secrets()
	if s.auth != nil {
		list = append(list, s.auth.Secrets()...)
	}
	return list
}

// hide removes the login from a result: a server may send it back.
func (s *server) hide(r *tool.Result) *tool.Result {
	if s.auth == nil {
		return r
	}
	secrets := redact.New(s.auth.Secrets())
	for i, b := range r.Content {
		if t, ok := b.(llm.Text); ok {
			t.Text = secrets.Text(t.Text)
			r.Content[i] = t
		}
	}
	r.Details = secrets.JSON(r.Details)
	return r
}

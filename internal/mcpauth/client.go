// Package mcpauth logs this program in to servers of the Model Context Protocol on
// the network, as the protocol's part on authorisation has it (2025-11-25 and
// 2026-07-28): OAuth 2.1 with PKCE, and the discovery and registration around it. Package
// mcp/oauth is its public face.
//
// Data from servers is not trusted: it is bounded, and checked before it is used or shown.
// No error of this package holds a token, a secret or a code.
package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Config has the fields of oauth.Config, which describes them.
type Config struct {
	Grant             string
	ClientID          string
	ClientSecret      string
	ClientMetadataURL string
	Issuer            string
	Scopes            string
	CallbackPort      int
}

// Check returns the mistake that makes a configuration unusable.
func (c Config) Check() error {
	switch {
	case c.Grant != "" && c.Grant != AuthorizationCode && c.Grant != ClientCredentials:
		return fmt.Errorf("oauth: the grant %q is not known; set %s or %s", line(c.Grant), AuthorizationCode, ClientCredentials)
	case c.Grant == ClientCredentials && (c.ClientID == "" || c.ClientSecret == "" || c.Issuer == ""):
		return errors.New("oauth: the grant client_credentials needs clientId, clientSecret and issuer")
	case c.Grant == ClientCredentials && (c.ClientMetadataURL != "" || c.CallbackPort != 0):
		return errors.New("oauth: clientMetadataUrl and callbackPort are not for the grant client_credentials; leave them out")
	case c.ClientSecret != "" && c.ClientID == "":
		return errors.New("oauth: a clientSecret needs a clientId")
	case c.CallbackPort < 0 || c.CallbackPort > 65535:
		return errors.New("oauth: callbackPort must be from 1 to 65535, or 0 for any free port")
	}
	if c.ClientMetadataURL != "" {
		if u, err := url.Parse(c.ClientMetadataURL); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			return errors.New("oauth: a clientMetadataUrl must begin with https:// and have a path")
		}
	}
	if c.Issuer != "" {
		if err := secure(c.Issuer); err != nil {
			return fmt.Errorf("oauth: the issuer %w", err)
		}
	}
	return nil
}

// ErrLogin is matched by errors that only a login repairs.
var ErrLogin = errors.New("the server requires a login")

// A Client holds this program's login to one server. It is safe for concurrent
// use and must not be copied.
type Client struct {
	Server string // URL of the MCP server
	Config Config
	Logins Store
	// Program is the name under which the program registers. "" is openagent.
	Program string
	// Transport carries requests to authorisation servers; nil is
	// [http.DefaultTransport]. It does not reach private networks, unless the server
	// is in one.
	Transport http.RoundTripper

	once sync.Once
	busy chan struct{} // holds one while someone renews or logs in

	mu      sync.Mutex
	known   *Login // nil: there is none, or it was not looked up
	unsaved *Login // renewed, but the store did not take it
}

// key names the login in the store: by the server's URL, so that another server
// under the same name does not get it.
func (c *Client) key() string {
	key := c.Server + "\n" + c.Config.ClientID
	if c.Unattended() { // a person's login with the same client is another one
		key += "\n" + ClientCredentials
	}
	return key
}

// enter waits until no other goroutine renews or logs in.
func (c *Client) enter(ctx context.Context) (leave func(), err error) {
	c.once.Do(func() { c.busy = make(chan struct{}, 1) })
	select {
	case c.busy <- struct{}{}:
		return func() { <-c.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) current() *Login {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

func (c *Client) setCurrent(l *Login) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = l
}

// Secrets are the values that must not be shown.
func (c *Client) Secrets() []string {
	list := []string{c.Config.ClientSecret}
	if l := c.current(); l != nil {
		list = append(list, l.Access, l.Refresh, l.ClientSecret)
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// Token returns an access token for the server, and renews one that is about to expire. It
// is "" if there is no login, or one that has expired permanently.
func (c *Client) Token(ctx context.Context) (string, error) {
	l := c.current()
	if l == nil {
		var err error
		if l, err = c.Logins.Load(ctx, c.key()); err != nil && !c.Unattended() { // which gets another one
			return "", fmt.Errorf("reading the login: %w", err)
		}
		if l == nil || !l.valid() || c.Unattended() && !sameIssuer(l.Issuer, c.Config.Issuer) {
			return "", nil
		}
		c.setCurrent(l)
	}
	if !l.expired(time.Now()) {
		return l.Access, nil
	}
	token, err := c.Renew(ctx, l.Access)
	if errors.Is(err, ErrLogin) {
		return "", nil
	}
	return token, err
}

// Renew returns another access token than the given one, which the server has refused. The
// error matches [ErrLogin] if there is none.
func (c *Client) Renew(ctx context.Context, refused string) (string, error) {
	if c.Unattended() {
		return c.Obtain(ctx, Challenge{}, refused)
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	ctx, cancel := lasting(ctx)
	defer cancel()
	var renewed *Login
	gone := false
	err = c.Logins.Update(ctx, c.key(), func(l *Login) (*Login, error) {
		c.mu.Lock()
		if u := c.unsaved; u != nil && (l == nil || u.after == l.Refresh) {
			l = u
		}
		c.mu.Unlock()
		switch {
		case l == nil || !l.valid():
			gone = true
			return l, nil
		case l.Access != refused && !l.expired(time.Now()): // another process was first
			renewed = l
			return l, nil
		case l.Refresh == "":
			gone = true
			return l, nil
		}
		next, err := c.refresh(ctx, *l)
		if final(err) {
			gone = true
			return nil, nil // a refused token is useless
		}
		if err != nil {
			return nil, err
		}
		renewed = next
		c.mu.Lock()
		c.unsaved = next
		c.mu.Unlock()
		return next, nil
	})
	if err != nil {
		return "", fmt.Errorf("renewing the login: %w", err)
	}
	c.mu.Lock()
	c.unsaved, c.known = nil, renewed
	c.mu.Unlock()
	if gone {
		return "", fmt.Errorf("%w: the stored login has expired or was revoked", ErrLogin)
	}
	return renewed.Access, nil
}

// lasting is ctx with a little more time: a request that was cancelled after the
// authorisation server had acted on it would lose the login.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

const grace = time.Second

// Want remembers scopes that the server asks for, so that the next login asks for
// them too. It reports whether the login there is has not got them yet.
func (c *Client) Want(ctx context.Context, scopes []string) (bool, error) {
	missing := false
	err := c.Logins.Update(ctx, c.key(), func(l *Login) (*Login, error) {
		if l == nil {
			missing = true
			return nil, nil
		}
		next := *l
		next.Wanted = union(l.Wanted, scopes)
		missing = len(union(l.Scopes, scopes)) > len(l.Scopes)
		return &next, nil
	})
	if err != nil {
		if c.Unattended() && ctx.Err() == nil {
			return c.wantInMemory(scopes), nil
		}
		return missing, fmt.Errorf("storing the scopes that the server asks for: %w", err)
	}
	return missing, nil
}

// wantInMemory is [Client.Want] for a program that has no store.
func (c *Client) wantInMemory(scopes []string) (missing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return true
	}
	next := *c.known
	next.Wanted = union(next.Wanted, scopes)
	c.known = &next
	return len(union(next.Scopes, scopes)) > len(next.Scopes)
}

// Logout deletes the login. It reports whether there was one. It also asks the
// authorisation server to revoke the login, if the server has an endpoint for that (RFC
// 7009). If that fails, it returns the error, and the login is still deleted.
func (c *Client) Logout(ctx context.Context) (bool, error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	var was *Login
	err = c.Logins.Update(ctx, c.key(), func(l *Login) (*Login, error) {
		was = l
		return nil, nil
	})
	if err != nil {
		return false, fmt.Errorf("deleting the login: %w", err)
	}
	c.setCurrent(nil)
	if was == nil || !was.valid() {
		return false, nil
	}
	if err := c.revoke(ctx, *was); err != nil {
		return true, fmt.Errorf("revoking the login: %w", err)
	}
	return true, nil
}

// secure returns the reason why no secrets may be sent to a URL: it must be https, except
// on this machine.
func secure(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return errors.New("is not a URL")
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return errors.New("does not begin with https://")
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// union returns the scopes of both lists, each once, in their order.
func union(a, b []string) []string {
	var out []string
	for _, s := range slices.Concat(a, b) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

package mcpauth

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Values of [Config].Grant.
const (
	AuthorizationCode = "authorization_code"
	ClientCredentials = "client_credentials" // RFC 6749, 4.4
)

// Unattended reports whether the program logs in by itself, without a person.
func (c *Client) Unattended() bool { return c.Config.Grant == ClientCredentials }

// Obtain returns an access token for the client of the configuration, with the grant
// [ClientCredentials], and keeps it. It asks for a new token unless another process has
// got one since the one given, which the server has refused; "" means that there was none.
// If the store fails, the token is kept in memory only.
func (c *Client) Obtain(ctx context.Context, ask Challenge, refused string) (string, error) {
	if err := c.Config.Check(); err != nil {
		return "", err
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	got, err := c.obtainOnce(ctx, ask, refused)
	if err != nil {
		return "", fmt.Errorf("logging in as the client %s: %w", line(c.Config.ClientID), err)
	}
	c.setCurrent(got)
	return got.Access, nil
}

// obtainOnce returns the login of the store, or of this process, if it is still good, and
// asks for another one if not. An error is never the store's: it keeps a copy for other
// processes, without which this one can go on.
func (c *Client) obtainOnce(ctx context.Context, ask Challenge, refused string) (got *Login, err error) {
	good := func(l *Login) bool {
		return l != nil && l.valid() && sameIssuer(l.Issuer, c.Config.Issuer) && l.Access != refused && !l.expired(time.Now())
	}
	stored := c.Logins.Update(ctx, c.key(), func(l *Login) (*Login, error) {
		if good(l) {
			got = l
			return l, nil
		}
		got, err = c.obtain(ctx, ask, l)
		return got, err
	})
	switch {
	case got != nil || err != nil || stored == nil:
		return got, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if l := c.current(); good(l) {
		return l, nil
	}
	return c.obtain(ctx, ask, c.current())
}

// obtain asks the authorisation server for a token. Old may be nil.
func (c *Client) obtain(ctx context.Context, ask Challenge, old *Login) (*Login, error) {
	if ask.Metadata == "" && ask.Scopes == nil {
		ask = c.challenge(ctx)
	}
	at, err := c.discover(ctx, ask)
	if err != nil {
		return nil, err
	}
	l := at.login(c.Server)
	l.ClientID, l.ClientSecret = c.Config.ClientID, c.Config.ClientSecret
	l.Method = method(at.server.TokenEndpointAuthMethodsSupported, l.ClientSecret)
	l.Scopes = c.scopes(ask, at, old)
	form := url.Values{"grant_type": {ClientCredentials}}
	if len(l.Scopes) > 0 {
		form.Set("scope", strings.Join(l.Scopes, " "))
	}
	if err := c.requestTokens(ctx, l, form); err != nil {
		return nil, err
	}
	l.Refresh = "" // there is nothing that it could do better than the client's secret
	return l, nil
}

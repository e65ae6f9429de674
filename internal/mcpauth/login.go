package mcpauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A Person is shown the page on which they allow this program to use the server.
// The browser then comes back to this machine; where it cannot, the person may
// give the address that it was sent to, which is returned. "" waits for the
// browser. ctx ends once it was there, and the wait with ctx of [Client.Login].
type Person func(ctx context.Context, page string) (address string, err error)

// Login has a person log in, and stores the login. If the challenge is empty, Login asks
// the server for one. It asks for the scopes of the configuration, else of the challenge,
// else all that the server names; scopes of an earlier login, or wanted since, are added.
// With the grant [ClientCredentials] there is no person, who may be nil.
func (c *Client) Login(ctx context.Context, ask Challenge, person Person) error {
	if c.Unattended() {
		token, err := c.Token(ctx)
		if err == nil {
			_, err = c.Obtain(ctx, ask, token)
		}
		return err
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := c.login(ctx, ask, person); err != nil {
		return fmt.Errorf("logging in: %w", err)
	}
	return nil
}

func (c *Client) login(ctx context.Context, ask Challenge, person Person) error {
	if ask.Metadata == "" && ask.Scopes == nil {
		ask = c.challenge(ctx)
	}
	at, err := c.discover(ctx, ask)
	if err != nil {
		return err
	}
	back, err := listen(c.Config.CallbackPort)
	if err != nil {
		return err
	}
	defer back.close()
	l := at.login(c.Server)
	old, err := c.Logins.Load(ctx, c.key())
	if err != nil {
		return fmt.Errorf("reading the stored login: %w", err)
	}
	if err := c.identify(ctx, l, at.server, back.address); err != nil {
		return fmt.Errorf("registering this program: %w", err)
	}
	l.Scopes = c.scopes(ask, at, old)
	verifier, state := secret(), secret()
	page, err := at.page(l, back.address, state, verifier)
	if err != nil {
		return err
	}
	answer, err := back.wait(ctx, state, func(ctx context.Context) (string, error) { return person(ctx, page) })
	if err != nil {
		return err
	}
	if err := at.accepts(answer); err != nil {
		return err
	}
	err = c.requestTokens(ctx, l, url.Values{"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {back.address}, "code_verifier": {verifier}})
	if err != nil {
		return err
	}
	if err := c.Logins.Update(ctx, c.key(), func(*Login) (*Login, error) { return l, nil }); err != nil {
		return fmt.Errorf("storing the login: %w", err)
	}
	c.mu.Lock()
	c.known, c.unsaved = l, nil
	c.mu.Unlock()
	return nil
}

// scopes are those to ask for.
func (c *Client) scopes(ask Challenge, at *loginTarget, old *Login) []string {
	list := scopes(c.Config.Scopes)
	if c.Unattended() && len(list) > 0 {
		return list // there is no person to agree to more
	}
	if len(list) == 0 {
		list = ask.Scopes
	}
	if len(list) == 0 {
		list = at.scopes
	}
	list = union(list, ask.Scopes)
	if old != nil && old.Issuer == at.server.Issuer {
		list = union(union(list, old.Scopes), old.Wanted)
	}
	if !c.Unattended() && slices.Contains(at.server.ScopesSupported, "offline_access") { // or there is no refresh token
		list = union(list, []string{"offline_access"})
	}
	return list
}

// login returns the login for the target, without a client and tokens.
func (p *loginTarget) login(server string) *Login {
	l := &Login{Server: server, Resource: p.resource, Issuer: p.server.Issuer, TokenURL: p.server.TokenEndpoint, RevokeURL: p.server.RevocationEndpoint}
	if l.RevokeURL != "" && secure(l.RevokeURL) != nil {
		l.RevokeURL = ""
	}
	return l
}

// page is the address that a person is to open (RFC 6749, 4.1.1; RFC 7636; RFC 8707).
func (p *loginTarget) page(l *Login, callback, state, verifier string) (string, error) {
	u, err := url.Parse(p.server.AuthorizationEndpoint)
	if err != nil {
		return "", errors.New("the endpoint for logins is not a URL")
	}
	sum := sha256.Sum256([]byte(verifier))
	q := u.Query() // it may have its own
	for name, value := range map[string]string{"response_type": "code", "client_id": l.ClientID, "redirect_uri": callback, "state": state, "resource": l.Resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256", "scope": strings.Join(l.Scopes, " ")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if slices.Contains(l.Scopes, "offline_access") {
		q.Set("prompt", "consent") // OpenID Connect Core, 11
	}
	u.RawQuery, u.Fragment = q.Encode(), ""
	return u.String(), nil
}

// accepts checks the answer from the browser. An issuer that was not announced is refused
// even if it is right, like in the official SDK (RFC 9207, 2.4).
func (p *loginTarget) accepts(answer url.Values) error {
	announced := p.server.AuthorizationResponseIssParameterSupported
	switch iss := answer.Get("iss"); {
	case announced && iss == "":
		return errors.New("the answer does not name its authorisation server, so it may come from another one; log in again")
	case iss != "" && (iss != p.server.Issuer || !announced):
		return fmt.Errorf("the answer comes from the authorisation server %s, but %s was asked", line(iss), line(p.server.Issuer))
	}
	if code := answer.Get("error"); code != "" {
		return &answerError{code: line(code), text: line(answer.Get("error_description"))}
	}
	if answer.Get("code") == "" {
		return errors.New("the answer has no code")
	}
	return nil
}

// secret returns 256 random bits in 43 characters that are valid in URLs.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

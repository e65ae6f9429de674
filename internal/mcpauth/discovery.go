package mcpauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// A Challenge is the header WWW-Authenticate of a server that refuses a request. It names
// the scopes and the metadata of the server.
type Challenge struct {
	Metadata string   // URL of the server's own description, "" where it gave none
	Scopes   []string // "": it gave none
	Error    string   // as in insufficient_scope
}

const maxChallenge = 8 << 10 // bytes of a header that is read

// ReadChallenge reads the header of an answer. Unreadable parts count as missing.
func ReadChallenge(h http.Header) Challenge {
	var c Challenge
	for _, text := range h.Values("WWW-Authenticate") {
		if len(text) > maxChallenge {
			continue
		}
		list, err := oauthex.ParseWWWAuthenticate([]string{text})
		if err != nil {
			continue
		}
		for _, x := range list {
			if x.Scheme != "bearer" {
				continue
			}
			if c.Metadata == "" {
				c.Metadata = x.Params["resource_metadata"]
			}
			if c.Scopes == nil {
				c.Scopes = scopes(x.Params["scope"])
			}
			if c.Error == "" {
				c.Error = line(x.Params["error"])
			}
		}
	}
	return c
}

// challenge makes the server refuse a request, to read its challenge. Missing parts are
// looked up at their standard addresses.
func (c *Client) challenge(ctx context.Context) Challenge {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if secure(c.Server) != nil {
		return Challenge{}
	}
	h, err := c.client(ctx)
	if err != nil {
		return Challenge{}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Server, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return Challenge{}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := h.Do(r)
	if err != nil {
		return Challenge{}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return Challenge{}
	}
	return ReadChallenge(resp.Header)
}

// askTime bounds the wait for a challenge: who lets anybody in may answer with a
// stream that has no end.
const askTime = 5 * time.Second

const maxScopes = 100

// scopes reads a list of scopes (RFC 6749, 3.3). Invalid ones are skipped.
func scopes(text string) []string {
	var list []string
	for _, s := range strings.Fields(text) {
		odd := func(r rune) bool { return r < '!' || r > '~' || r == '"' || r == '\\' }
		if len(s) <= 200 && len(list) < maxScopes && !strings.ContainsFunc(s, odd) {
			list = append(list, s)
		}
	}
	return union(list, nil)
}

// A loginTarget is the authorisation server and the resource of a login.
type loginTarget struct {
	resource string
	scopes   []string // those the server knows
	server   *oauthex.AuthServerMeta
}

// discover finds the authorisation server of the MCP server (RFC 9728, RFC 8414,
// OpenID Connect Discovery).
func (c *Client) discover(ctx context.Context, ask Challenge) (*loginTarget, error) {
	if err := secure(c.Server); err != nil {
		return nil, fmt.Errorf("the server's URL %w, so no secret can be sent to it", err)
	}
	described, err := c.describe(ctx, ask)
	if err != nil {
		return nil, err
	}
	p := &loginTarget{resource: described.Resource, scopes: scopes(strings.Join(described.ScopesSupported, " "))}
	issuer := ""
	switch list := described.AuthorizationServers; {
	case len(list) == 0:
		return nil, errors.New("the server names no authorisation server")
	case c.Config.Issuer == "":
		issuer = list[0]
	default:
		i := slices.IndexFunc(list, func(s string) bool { return sameIssuer(s, c.Config.Issuer) })
		if i < 0 {
			return nil, fmt.Errorf("the server names the authorisation server %s, but the configuration has another issuer", line(list[0]))
		}
		issuer = list[i]
	}
	if err := secure(issuer); err != nil {
		return nil, fmt.Errorf("the authorisation server %s %w", line(issuer), err)
	}
	documents, err := c.documents(ctx)
	if err != nil {
		return nil, err
	}
	if p.server, err = auth.GetAuthServerMetadata(ctx, issuer, documents); err != nil {
		return nil, fmt.Errorf("reading the metadata of the authorisation server %s: %s", line(issuer), line(err.Error()))
	}
	switch m := p.server; {
	case m == nil:
		return nil, fmt.Errorf("the authorisation server %s publishes no metadata, so it is not known to protect logins by PKCE; set headers with a token instead", line(issuer))
	case secure(m.TokenEndpoint) != nil:
		return nil, fmt.Errorf("the authorisation server %s names no endpoint for tokens", line(issuer))
	case c.Unattended(): // no page is opened
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		return nil, fmt.Errorf("the authorisation server %s does not protect logins by PKCE with S256; set headers with a token instead", line(issuer))
	case secure(m.AuthorizationEndpoint) != nil:
		return nil, fmt.Errorf("the authorisation server %s names no endpoint for logins", line(issuer))
	}
	return p, nil
}

func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// describe fetches the server's description. A server of before 2025-06-18 has
// none, and is its own authorisation server.
func (c *Client) describe(ctx context.Context, ask Challenge) (*oauthex.ProtectedResourceMetadata, error) {
	server, err := url.Parse(c.Server)
	if err != nil {
		return nil, errors.New("the server's URL cannot be read")
	}
	at := func(path string) string {
		return (&url.URL{Scheme: server.Scheme, Host: server.Host, Path: path}).String()
	}
	const known = "/.well-known/oauth-protected-resource"
	places := []string{at(known + strings.TrimSuffix(server.Path, "/")), at(known)}
	if ask.Metadata != "" {
		places = append([]string{ask.Metadata}, places...)
	}
	for _, from := range union(places, nil) {
		m, err := c.fetch(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("fetching the server's metadata from %s: %w", line(from), err)
		}
		if m == nil {
			continue
		}
		if !covers(m.Resource, server) {
			return nil, fmt.Errorf("the metadata at %s describes %s, not this server", line(from), line(m.Resource))
		}
		return m, nil
	}
	origin := (&url.URL{Scheme: server.Scheme, Host: server.Host}).String()
	return &oauthex.ProtectedResourceMetadata{Resource: c.Server, AuthorizationServers: []string{origin}}, nil
}

// fetch returns nil if there is no metadata.
func (c *Client) fetch(ctx context.Context, from string) (*oauthex.ProtectedResourceMetadata, error) {
	if err := secure(from); err != nil {
		return nil, fmt.Errorf("the address %w", err)
	}
	h, err := c.client(ctx)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	r.Header.Set("Accept", "application/json")
	resp, err := h.Do(r)
	if err != nil {
		return nil, within(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return nil, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer has status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(resp.Body) // bounded
	if err != nil {
		return nil, err
	}
	m := new(oauthex.ProtectedResourceMetadata)
	if json.Unmarshal(data, m) != nil {
		return nil, errors.New("the answer is not valid JSON")
	}
	return m, nil
}

// covers reports whether a resource is the server, or all of its host or of a
// folder that the server is in: many describe themselves so.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Fragment != "" || !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) {
		return false
	}
	if r.RawQuery != "" && r.RawQuery != server.RawQuery {
		return false
	}
	folder := strings.TrimSuffix(r.EscapedPath(), "/") + "/"
	return strings.HasPrefix(strings.TrimSuffix(server.EscapedPath(), "/")+"/", folder)
}

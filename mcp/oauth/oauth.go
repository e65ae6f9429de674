// Package oauth logs this program in to servers of the Model Context Protocol on
// the network, as the protocol's part on authorisation has it (2025-11-25 and
// 2026-07-28): OAuth 2.1 with PKCE, and the discovery and registration around it.
//
// Package mcp logs in by itself. A [Client] logs in to one server before that:
//
//	c := oauth.New("https://mcp.example.com/mcp", oauth.Config{}, oauth.Dir(dir))
//	err := c.Login(ctx, func(ctx context.Context, page string) (string, error) {
//		fmt.Println("Open", page)
//		return "", nil // the answer comes from the browser
//	})
//	token, err := c.Token(ctx) // for the header Authorization
//
// Data from servers is not trusted: it is bounded, and checked before it is used or shown.
// No error of this package holds a token, a secret or a code.
package oauth

import (
	"context"

	"github.com/openagent-go/agent/internal/mcpauth"
)

// A Config is the part of a server's configuration about logins. The zero value suits
// servers at which programs can register themselves.
type Config struct {
	// Grant is how the program gets tokens: authorization_code, the default, by which a
	// person logs in, or client_credentials, by which the program itself does (RFC 6749, 4.4).
	Grant string `json:"grant,omitempty"`
	// ClientID and ClientSecret are of a client that was registered before, by hand.
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	// ClientMetadataURL is where a document describes this client (Client ID Metadata
	// Document). It is used where the authorisation server takes such, before all else.
	ClientMetadataURL string `json:"clientMetadataUrl,omitempty"`
	// Issuer is the authorisation server that is to be used, of those that the server
	// names; a client that was registered by hand belongs to one. "": the first.
	Issuer string `json:"issuer,omitempty"`
	// Scopes are the scopes to ask for, with spaces between; "": those that the server
	// names.
	Scopes string `json:"scopes,omitempty"`
	// CallbackPort is the port on 127.0.0.1 that the browser comes back to, for clients
	// that are registered with one. 0: a free one.
	CallbackPort int `json:"callbackPort,omitempty"`
}

// ErrLogin is matched by errors that only a login repairs.
var ErrLogin = mcpauth.ErrLogin

// A Client holds this program's login to one server. It is safe for concurrent use.
type Client struct{ inner *mcpauth.Client }

// New returns a client for the MCP server with this URL. logins keeps the login; nil: it ends
// with the Client.
func New(server string, c Config, logins Store) *Client {
	return &Client{&mcpauth.Client{Server: server, Config: mcpauth.Config(c), Logins: mcpauth.Logins(logins)}}
}

// Login has a person log in, and stores the login. show gets the page on which the person
// allows this program to use the server. The browser then comes back to this machine. Where
// it cannot, the person may give the address that it was sent to, which show returns; ""
// waits for the browser. The ctx of show ends once the browser was there. With the grant
// client_credentials there is no person, and show may be nil.
func (c *Client) Login(ctx context.Context, show func(ctx context.Context, page string) (address string, err error)) error {
	return c.inner.Login(ctx, mcpauth.Challenge{}, show)
}

// Token returns an access token for the server, and renews one that is about to expire. It
// is "" if there is no login, or one that has expired permanently.
func (c *Client) Token(ctx context.Context) (string, error) { return c.inner.Token(ctx) }

// Logout deletes the login. It reports whether there was one. It also asks the
// authorisation server to revoke the login, if the server has an endpoint for that (RFC
// 7009). If that fails, it returns the error, and the login is still deleted.
func (c *Client) Logout(ctx context.Context) (bool, error) { return c.inner.Logout(ctx) }

package mcpauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// How clients say who they are at the token end point (RFC 7591, 2).
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

// method picks one that the authorisation server takes; a list that is empty
// stands for basic (RFC 8414, 2).
func method(takes []string, secret string) string {
	switch {
	case secret == "":
		return methodNone
	case len(takes) > 0 && !slices.Contains(takes, methodBasic) && slices.Contains(takes, methodPost):
		return methodPost
	}
	return methodBasic
}

// identify gives a login the client that it is for: by its own document where the
// authorisation server takes that, then the one of the configuration, else one
// that is registered now (RFC 7591).
func (c *Client) identify(ctx context.Context, l *Login, m *oauthex.AuthServerMeta, callback string) error {
	takes := m.TokenEndpointAuthMethodsSupported
	if c.Config.ClientMetadataURL != "" && m.ClientIDMetadataDocumentSupported {
		l.ClientID, l.Method = c.Config.ClientMetadataURL, methodNone
		return nil
	}
	if c.Config.ClientID != "" {
		l.ClientID, l.ClientSecret = c.Config.ClientID, c.Config.ClientSecret
		l.Method = method(takes, l.ClientSecret)
		return nil
	}
	if m.RegistrationEndpoint == "" {
		return errors.New("the authorisation server does not register clients; register one there by hand, and set oauth.clientId")
	}
	name := c.Program
	if name == "" {
		name = "openagent"
	}
	wants := methodNone
	if len(takes) > 0 && !slices.Contains(takes, methodNone) {
		wants = method(takes, "to come")
	}
	body, err := json.Marshal(oauthex.ClientRegistrationMetadata{RedirectURIs: []string{callback}, TokenEndpointAuthMethod: wants,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, ClientName: name, ApplicationType: "native"})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.RegistrationEndpoint, strings.NewReader(string(body)))
	if err != nil {
		return errors.New("the endpoint for registration is not a URL")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	var got struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Method string `json:"token_endpoint_auth_method"`
	}
	if err := c.post(ctx, r, &got); err != nil {
		return err
	}
	if got.ID == "" {
		return errors.New("the authorisation server gave no client_id")
	}
	l.ClientID, l.ClientSecret, l.Method = got.ID, got.Secret, got.Method
	switch {
	case l.ClientSecret == "":
		l.Method = methodNone
	case l.Method != methodBasic && l.Method != methodPost:
		l.Method = method(takes, l.ClientSecret)
	}
	return nil
}

// form makes a request of a client that says who it is.
func form(ctx context.Context, l *Login, to string, values url.Values) (*http.Request, error) {
	if l.Method != methodBasic {
		values.Set("client_id", l.ClientID)
		if l.Method == methodPost {
			values.Set("client_secret", l.ClientSecret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(values.Encode()))
	if err != nil {
		return nil, errors.New("the address of the authorisation server is not a URL")
	}
	if l.Method == methodBasic {
		r.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// requestTokens asks for tokens and puts them into the login.
func (c *Client) requestTokens(ctx context.Context, l *Login, values url.Values) error {
	values.Set("resource", l.Resource)
	r, err := form(ctx, l, l.TokenURL, values)
	if err != nil {
		return err
	}
	var got struct {
		Access  string      `json:"access_token"`
		Refresh string      `json:"refresh_token"`
		Type    string      `json:"token_type"`
		Expires json.Number `json:"expires_in"`
		Scope   *string     `json:"scope"`
	}
	asked := time.Now()
	if err := c.post(ctx, r, &got, l.ClientSecret, l.Refresh, values.Get("code"), values.Get("code_verifier")); err != nil {
		return err
	}
	switch {
	case got.Access == "" || strings.ContainsFunc(got.Access, func(r rune) bool { return r < '!' || r > '~' }):
		return errors.New("the authorisation server gave no access token that can be sent")
	case !strings.EqualFold(got.Type, "bearer"):
		return errors.New("the authorisation server gave a token of an unknown type; only bearer is supported")
	}
	l.Access, l.Expires = got.Access, time.Time{}
	if seconds, err := got.Expires.Int64(); err == nil && seconds > 0 {
		l.Expires = asked.Add(time.Duration(min(seconds, 10*365*24*3600)) * time.Second).UTC().Round(0)
	}
	if got.Refresh != "" { // else the old one stays
		l.Refresh = got.Refresh
	}
	if got.Scope != nil {
		l.Scopes = scopes(*got.Scope)
	}
	return nil
}

// refresh returns a login with new tokens.
func (c *Client) refresh(ctx context.Context, l Login) (*Login, error) {
	l.after = l.Refresh
	err := c.requestTokens(ctx, &l, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}})
	return &l, err
}

// revoke withdraws a login (RFC 7009).
func (c *Client) revoke(ctx context.Context, l Login) error {
	if l.RevokeURL == "" {
		return nil
	}
	token := l.Refresh
	if token == "" {
		token = l.Access
	}
	r, err := form(ctx, &l, l.RevokeURL, url.Values{"token": {token}})
	if err != nil {
		return err
	}
	return c.post(ctx, r, nil, token, l.ClientSecret)
}

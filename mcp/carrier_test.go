package mcp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A server cannot have its headers sent without TLS, by a redirect to the same host.
func TestRedirectWithoutTLS(t *testing.T) {
	t.Parallel()
	base := transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" {
			t.Errorf("%s was asked with %q", r.URL, r.Header)
		}
		return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"http://mcp.example.com/mcp"}}, Body: http.NoBody, Request: r}, nil
	})
	at := &url.URL{Scheme: "https", Host: "mcp.example.com"}
	client := &http.Client{Transport: &authTransport{base: base, headers: map[string]string{"Authorization": "Bearer t0ken"}, scheme: at.Scheme, host: at.Host, stop: context.Background()}}
	resp, err := client.Post(at.String()+"/mcp", "application/json", strings.NewReader("{}"))
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, errElsewhere) {
		t.Errorf("%v", err)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openagent-go/agent/llm"
)

// A Place says where and how a client reaches a model.
type Place struct {
	Provider string // name of the provider in errors
	URL      string
	HTTP     *http.Client // nil: http.DefaultClient
	API      http.Header  // the API's headers
	Header   http.Header  // the user's headers, which replace others of the same name

	Key string      // fixed key; "": none
	Ask llm.KeyFunc // called for each request, instead of Key
	// KeyHeader is the header for the key; "": Authorization, as a bearer token.
	KeyHeader string
	// Entra: tokens of Microsoft Entra, which are JWTs, go to Authorization even if
	// KeyHeader is set.
	Entra bool
	// Wanted lists the environment variables that may hold a key, for an error message.
	// nil: no key is needed. This machine needs none either.
	Wanted []string
	// Authorize, unless nil, replaces all of these fields; see [Exchange].
	Authorize func(r *http.Request, again bool) error
	// Explain reads the body of an error; nil: [Explain].
	Explain func(status int, header http.Header, body []byte) (class llm.Class, kind, message string)

	// Time limits as in clients: negative means none, 0 the default. The default is 300 s,
	// and one hour for a whole stream.
	HeaderTimeout, IdleTimeout, TotalTimeout, BlockingTimeout time.Duration
}

// present adds a key to the headers of a request.
func (p *Place) present(h http.Header, key string) {
	if p.KeyHeader == "" || p.Entra && JWT(key) {
		h.Set("Authorization", "Bearer "+key)
		return
	}
	h.Set(p.KeyHeader, key)
}

// Exchange returns the request for a body. keys remembers the keys that Ask returns.
func (p *Place) Exchange(blocking bool, body [][]byte, keys *Keys) (*Exchange, error) {
	header := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {"openagent-go"},
	}
	if p.Key != "" {
		p.present(header, p.Key)
	}
	const short = 300 * time.Second
	x := &Exchange{
		Provider: p.Provider, HTTP: p.HTTP, URL: p.URL, Header: header, Body: body, Explain: p.Explain, Authorize: p.Authorize,
		Headers: Limit(p.HeaderTimeout, short), Idle: Limit(p.IdleTimeout, short), Total: Limit(p.TotalTimeout, time.Hour),
	}
	if blocking {
		header.Set("Accept", "application/json")
		x.Headers, x.Idle, x.Total = 0, 0, Limit(p.BlockingTimeout, short)
	}
	if x.Explain == nil {
		x.Explain = Explain
	}
	for _, more := range []http.Header{p.API, p.Header} {
		for name, values := range more {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	switch {
	case p.Authorize != nil:
	case p.Ask != nil:
		at := *p // copy the place only if the function keeps it
		x.Authorize = func(r *http.Request, again bool) error {
			key, err := keys.Ask(r.Context(), at.Provider, at.Ask, again)
			if err == nil {
				at.present(r.Header, key)
			}
			return err
		}
	case p.Wanted != nil && header.Get("Authorization") == "" && header.Get(cmp.Or(p.KeyHeader, "Api-Key")) == "" && !Loopback(Host(p.URL)):
		return nil, &llm.APIError{Class: llm.Auth, Provider: p.Provider, Message: "no API key: set " + strings.Join(p.Wanted, ", ") + ", Client.APIKey or Client.Key", RetryAfter: -1}
	}
	return x, nil
}

// Secrets returns the secrets of the place: its key, those in keys, and the credentials in
// its headers and URL.
func (p *Place) Secrets(keys *Keys) []string {
	list := append(Secrets(p.URL, p.Header), keys.Secrets()...)
	if p.Key != "" {
		list = append(list, p.Key)
	}
	return list
}

// Invalid returns the error of a request that is not sent to a provider.
//
//go:noinline // called from many places: every program stays smaller
func Invalid(provider, format string, args ...any) error {
	return &llm.APIError{Class: llm.Invalid, Provider: provider, Message: fmt.Sprintf(format, args...), RetryAfter: -1}
}

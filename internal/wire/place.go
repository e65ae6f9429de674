package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openagent-go/agent/llm"
)

// A Place is where a model is asked, as a client's settings say.
type Place struct {
	Provider string // in errors
	URL      string
	HTTP     *http.Client // nil: http.DefaultClient
	API      http.Header  // the API's headers
	Header   http.Header  // the user's headers, which replace others of the same name

	Key string      // one that does not change; "": none
	Ask llm.KeyFunc // asked for each request, in the place of Key
	// KeyHeader is where a key goes; "": as a bearer token into Authorization.
	KeyHeader string
	// Entra says that tokens of Microsoft Entra, which are JWTs, go there anyway.
	Entra bool
	// Wanted are the variables of the environment that may hold a key, for an error;
	// nil: none is needed. This machine needs none either.
	Wanted []string
	// Authorize, unless nil, is in the place of all of these; see [Exchange].
	Authorize func(r *http.Request, again bool) error
	// Explain reads the body of an error; nil: [Explain].
	Explain func(status int, header http.Header, body []byte) (class llm.Class, kind, message string)

	// Time limits in the form of clients: negative is none, 0 the default, which is 300 s
	// and for a whole stream an hour.
	HeaderTimeout, IdleTimeout, TotalTimeout, BlockingTimeout time.Duration
}

// present puts a key on a request.
func (p *Place) present(h http.Header, key string) {
	if p.KeyHeader == "" || p.Entra && JWT(key) {
		h.Set("Authorization", "Bearer "+key)
		return
	}
	h.Set(p.KeyHeader, key)
}

// Exchange returns the request for a body. The keys that Ask gives are kept in keys.
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
		at := *p // what the function holds on to is copied only where there is one
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

// Secrets returns the secrets of the place: its key, those that keys has, and the
// credentials in its headers and URL.
func (p *Place) Secrets(keys *Keys) []string {
	list := append(Secrets(p.URL, p.Header), keys.Secrets()...)
	if p.Key != "" {
		list = append(list, p.Key)
	}
	return list
}

// Invalid returns the error of a request that is not sent to a provider.
func Invalid(provider, format string, args ...any) error {
	return &llm.APIError{Class: llm.Invalid, Provider: provider, Message: fmt.Sprintf(format, args...), RetryAfter: -1}
}

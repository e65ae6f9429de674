package claude

import (
	"net/http"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A Platform is another provider that serves the Messages API in its own way. Packages
// llm/bedrock and llm/vertex each make one. Requests, replies and provider-specific blocks
// are the same, except for the fields below. So a conversation may move from one to the
// other. A model at a Platform ignores the client's APIKey, Key, BaseURL and their variables, and has
// no fast mode.
type Platform struct {
	Name string // name in errors and in llm.Info
	// Version is sent in the body as anthropic_version, instead of the model and the
	// header.
	Version string
	// Streaming: the body of a streamed request has the member "stream".
	Streaming bool
	// Betas moves the header Anthropic-Beta into the body.
	Betas bool
	// URL returns the address for requests to a model.
	URL func(model string, stream bool) (string, error)
	// Count returns how to count the tokens of a model's requests; nil: the platform cannot
	// count.
	Count func(model string) (Tally, error)
	// Base returns the catalogue's name of a model. Entries that the catalogue has under
	// Name and the model's own name come first.
	Base func(model string) string
	// Authorize adds credentials to a request that is otherwise complete. It can read the
	// body with GetBody. again: the provider refused the last credentials.
	Authorize func(r *http.Request, again bool) error
	// Explain reads the body of an error: its class, its type and its words; nil: the form
	// of the Messages API.
	Explain func(status int, header http.Header, body []byte) (class llm.Class, kind, message string)
	// Secrets returns the secrets, and the number of secrets fetched so far.
	Secrets func() (secrets []string, fetched int)
}

// entry returns the catalogue's data about a model at p.
func (p *Platform) entry(table *catalog.Table, name string) catalog.Entry {
	e, known := table.Lookup(p.Name, name)
	if !known {
		base := p.Base(name)
		if e, known = table.Lookup(provider, base); !known {
			e = guess(base)
		}
	}
	e.Provider = p.Name
	e.Formats = false // unknown for all platforms
	return e
}

// lead appends the start of the body, up to max_tokens.
func (m *model) lead(b []byte, model string) []byte {
	p := m.platform
	if p == nil {
		return wire.AppendString(append(b, `{"model":`...), model)
	}
	b = wire.AppendString(append(b, `{"anthropic_version":`...), p.Version)
	if !p.Betas {
		return b
	}
	var betas []string
	for _, value := range m.client.Header.Values("Anthropic-Beta") {
		for beta := range strings.SplitSeq(value, ",") {
			if beta = strings.TrimSpace(beta); beta != "" {
				betas = append(betas, beta)
			}
		}
	}
	return wire.AppendStrings(b, "anthropic_beta", betas)
}

// leadCounted is lead for a request to count tokens.
func (m *model) leadCounted(b []byte, model string) []byte {
	if m.platform == nil {
		return m.lead(b, model)
	}
	return wire.AppendString(append(m.lead(b, ""), `,"model":`...), model)
}

// place changes the place of a client to p.
func (p *Platform) place(at *wire.Place, model string, blocking bool) error {
	url, err := p.URL(model, !blocking)
	if err != nil {
		return &llm.APIError{Class: llm.Auth, Provider: p.Name, Message: err.Error(), RetryAfter: -1, Err: err}
	}
	at.Provider, at.URL, at.API, at.Explain = p.Name, url, nil, p.Explain
	at.Key, at.Ask, at.Wanted, at.Authorize = "", nil, nil, p.Authorize
	return nil
}

// strip removes the headers that the platform takes in the body.
func (p *Platform) strip(h http.Header) {
	h.Del("Anthropic-Version")
	if p.Betas {
		h.Del("Anthropic-Beta")
	}
}

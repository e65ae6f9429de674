package anthropic

import (
	"net/http"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A Platform is another place that serves the Messages API, in its own way:
// packages llm/bedrock and llm/vertex make one each. The requests and replies are
// the same but for what is named here, and so are blocks that only their provider
// understands: a conversation may go from one to the other. A Client with a
// Platform uses neither APIKey, Key and BaseURL nor their variables.
type Platform struct {
	Name string // in errors and in llm.Info
	// Version stands in the body as anthropic_version, in the place of the model
	// and of the header.
	Version string
	// Streaming puts "stream" into the body where a reply is to be streamed.
	Streaming bool
	// Betas moves the header Anthropic-Beta into the body.
	Betas bool
	// URL returns where requests for a model go.
	URL func(model string, stream bool) (string, error)
	// Count returns how the tokens of a model's requests are counted; nil: they are not.
	Count func(model string) (Tally, error)
	// Base returns the name by which the catalogue knows a model. Entries that the
	// catalogue has under Name and the model's own name come first.
	Base func(model string) string
	// Authorize puts credentials on a request that is complete, whose body GetBody
	// reads; again says that the last ones were refused.
	Authorize func(r *http.Request, again bool) error
	// Explain reads the body of an error: its class, its type and its words; nil:
	// as the Messages API writes it.
	Explain func(status int, header http.Header, body []byte) (class llm.Class, kind, message string)
	// Secrets returns the secrets, and how many of them were fetched so far.
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
	e.Formats = false // not known of any of them
	return e
}

// lead appends the start of the body, up to max_tokens.
func (c *Client) lead(b []byte, model string) []byte {
	p := c.Platform
	if p == nil {
		return wire.AppendString(append(b, `{"model":`...), model)
	}
	b = wire.AppendString(append(b, `{"anthropic_version":`...), p.Version)
	if !p.Betas {
		return b
	}
	var betas []string
	for _, value := range c.Header.Values("Anthropic-Beta") {
		for beta := range strings.SplitSeq(value, ",") {
			if beta = strings.TrimSpace(beta); beta != "" {
				betas = append(betas, beta)
			}
		}
	}
	return wire.AppendStrings(b, "anthropic_beta", betas)
}

// leadCounted is lead for a request that is only counted.
func (c *Client) leadCounted(b []byte, model string) []byte {
	if c.Platform == nil {
		return c.lead(b, model)
	}
	return wire.AppendString(append(c.lead(b, ""), `,"model":`...), model)
}

// place changes where a client asks to p.
func (p *Platform) place(at *wire.Place, model string, blocking bool) error {
	url, err := p.URL(model, !blocking)
	if err != nil {
		return &llm.APIError{Class: llm.Auth, Provider: p.Name, Message: err.Error(), RetryAfter: -1, Err: err}
	}
	at.Provider, at.URL, at.API, at.Explain = p.Name, url, nil, p.Explain
	at.Key, at.Ask, at.Wanted, at.Authorize = "", nil, nil, p.Authorize
	return nil
}

// strip takes out the headers that stand in the body there.
func (p *Platform) strip(h http.Header) {
	h.Del("Anthropic-Version")
	if p.Betas {
		h.Del("Anthropic-Beta")
	}
}

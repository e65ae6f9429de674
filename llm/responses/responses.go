// Package responses is a client of the OpenAI Responses API
// (https://platform.openai.com/docs/api-reference/responses), streamed and blocking, at
// OpenAI, Azure and compatible hosts. Nothing is stored at the provider: each request
// carries the whole conversation, with the model's reasoning as the provider encrypted it.
//
//	m := responses.Model("gpt-5.2") // key from OPENAI_API_KEY
package responses

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

const (
	// provider names this API in [llm.Info], in errors and in [llm.Verbatim].
	provider = "openai-responses"
	vendor   = "openai" // the catalogue's provider of the models
	// defaultBaseURL is used where neither Client nor OPENAI_BASE_URL names one.
	defaultBaseURL = "https://api.openai.com/v1"
)

// A Client connects to a Responses API. The zero Client is ready to use. Do not change its
// fields once a model of it is in use. It never retries.
type Client struct {
	APIKey  string         // "": OPENAI_API_KEY. A loopback BaseURL needs none
	Key     llm.KeyFunc    // called for each request, instead of APIKey
	BaseURL string         // "": OPENAI_BASE_URL, else https://api.openai.com/v1. /responses is appended, before a query
	HTTP    *http.Client   // nil: http.DefaultClient. Redirects to other hosts are never followed
	Header  http.Header    // sent too; they replace headers of the same name
	Catalog *catalog.Table // nil: catalog.Embedded()
	Limiter pace.Limiter   // a *limit.Limiter: limits the rate of requests, shared by the clients of a key; nil: no limit

	// BuiltIn are tools that the provider runs, in the form of its documentation:
	// {"type":"web_search"} … Blocks that only this API understands keep their work. Do not
	// list tools that the client would have to answer.
	BuiltIn []json.RawMessage
	// Summary asks for summaries of the reasoning: auto (the default), concise, detailed,
	// or none. Organisations that are not verified get no summaries.
	Summary string

	// Time limits. 0: the default; negative: none.
	HeaderTimeout   time.Duration // until a stream begins: 300 s
	IdleTimeout     time.Duration // between two pieces of a reply: 300 s, as models think in silence
	TotalTimeout    time.Duration // for a whole stream: 1 h
	BlockingTimeout time.Duration // for a whole request with Blocking set: 300 s
}

// Model returns the model of that name, reached through the zero Client.
func Model(name string) llm.Model { return new(Client).Model(name) }

// Model returns the model with the given name. It has a method Info, see [llm.InfoOf].
func (c *Client) Model(name string) llm.Model {
	entry, known := c.Catalog.Lookup(vendor, name)
	if !known {
		entry = guess(name)
	}
	base := c.base()
	entry.Formats = entry.Formats && hostOf(base).own
	return &model{client: c, Model: wire.Model{ID: name, Provider: provider, Entry: entry, Local: entry.Window == 0 && wire.Loopback(wire.Host(base))}}
}

type model struct {
	wire.Model // its entry's Formats holds for the host too
	client     *Client
	counting   wire.Counting
}

func (c *Client) base() string {
	return wire.First(c.BaseURL, os.Getenv("OPENAI_BASE_URL"), defaultBaseURL)
}

// Secrets returns the secrets of the client: its key, and the credentials in its headers
// and base URL.
func (m *model) Secrets() []string {
	base := m.client.base()
	at := m.client.place(base, hostOf(base))
	return at.Secrets(&m.Keys)
}

var (
	reasoner = regexp.MustCompile(`^(o\d|gpt-[5-9]|gpt-oss|codex)`)
	// formatter matches models that accept a schema for their answer.
	formatter = regexp.MustCompile(`^(gpt-4o|gpt-4\.|gpt-[5-9]|o[13-9]|codex)`)
)

// guess returns the features of a model that is not in the catalogue, from its name. It
// does not guess prices and sizes.
func guess(name string) catalog.Entry {
	e := catalog.Entry{Name: name, Provider: vendor}
	own := name[strings.LastIndexByte(name, '/')+1:]
	e.Formats = formatter.MatchString(own)
	if reasoner.MatchString(own) && !strings.Contains(own, "-chat") {
		e.Thinking, e.NoSamplers = llmconst.ThinkingEffort, true
	}
	return e
}

// A host describes how the API differs at a host.
type host struct {
	own   bool // OpenAI itself, or Azure
	azure bool
}

func hostOf(base string) host {
	name := wire.Host(base)
	under := func(domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }
	switch {
	case under("api.openai.com"):
		return host{own: true}
	case under("openai.azure.com"), under("cognitiveservices.azure.com"), under("services.ai.azure.com"):
		return host{own: true, azure: true}
	}
	return host{}
}

// Stream implements [llm.Model].
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return wire.Stream(ctx, m.client.Limiter, m.ID, req, func() (*wire.Exchange, wire.Decoder, error) {
		base := m.client.base()
		host := hostOf(base)
		body, err := m.encode(req, host)
		if err != nil {
			return nil, nil, err
		}
		at := m.client.place(base, host)
		x, err := at.Exchange(req.Blocking, body, &m.Keys)
		return x, newDecoder(), err
	})
}

var keys = []string{"OPENAI_API_KEY"}

// place returns the place of the client's requests.
func (c *Client) place(base string, at host) wire.Place {
	p := wire.Place{
		Provider: provider, URL: wire.Join(base, "/responses"), HTTP: c.HTTP, Header: c.Header,
		Ask: c.Key, Entra: true, Wanted: keys,
		HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout, TotalTimeout: c.TotalTimeout, BlockingTimeout: c.BlockingTimeout,
	}
	if at.azure {
		p.KeyHeader = "Api-Key"
	}
	if c.Key == nil {
		p.Key = wire.First(c.APIKey, os.Getenv(keys[0]))
	}
	return p
}

func invalid(format string, args ...any) error { return wire.Invalid(provider, format, args...) }

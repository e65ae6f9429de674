// Package responses speaks the OpenAI Responses API
// (https://platform.openai.com/docs/api-reference/responses), streamed and
// blocking, at OpenAI, Azure and the hosts that are compatible with it. Nothing
// is stored at the provider: each request carries the whole conversation, with
// the model's reasoning as the provider encrypted it.
package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/limit"
)

const (
	// Provider names this API in [llm.Info], in errors and in [llm.Verbatim].
	Provider = "openai-responses"
	vendor   = "openai" // whose models the catalogue lists
	// DefaultBaseURL is used where neither Client nor OPENAI_BASE_URL names one.
	DefaultBaseURL = "https://api.openai.com/v1"
)

// A Client reaches a Responses API. The zero Client is ready to use. Its fields
// must not change once a model of it is in use. It never retries.
type Client struct {
	APIKey  string         // "": OPENAI_API_KEY. A loopback BaseURL needs none
	Key     llm.KeyFunc    // asked for each request, in the place of APIKey
	BaseURL string         // "": OPENAI_BASE_URL, else DefaultBaseURL. /responses is appended, before a query
	HTTP    *http.Client   // nil: http.DefaultClient. Redirects to other hosts are never followed
	Header  http.Header    // sent in addition, in the place of headers of the same name
	Catalog *catalog.Table // nil: catalog.Embedded()
	Limiter *limit.Limiter // what requests wait for, shared by the clients of a key; nil: nothing

	// BuiltIn are tools that the provider runs, as its documentation writes them:
	// {"type":"web_search"} … What they did is kept in blocks that only this API
	// understands. Tools that the client would have to answer have no place here.
	BuiltIn []json.RawMessage
	// Summary asks for summaries of the reasoning: auto (the default), concise,
	// detailed, or none, as organisations that are not verified get no summaries.
	Summary string

	// Time limits. 0: the default; negative: none.
	HeaderTimeout   time.Duration // until a stream begins: 300 s
	IdleTimeout     time.Duration // between two pieces of a reply: 300 s, as models think in silence
	TotalTimeout    time.Duration // for a whole stream: 1 h
	BlockingTimeout time.Duration // for a whole request with Blocking set: 300 s
}

// Model returns the model of that name, reached through the zero Client.
func Model(name string) llm.Model { return new(Client).Model(name) }

// Model returns the model of that name. It implements [llm.Informed].
func (c *Client) Model(name string) llm.Model {
	entry, known := c.Catalog.Lookup(vendor, name)
	if !known {
		entry = guess(name)
	}
	m := &model{client: c, name: name, entry: entry}
	m.entry.Formats = entry.Formats && hostOf(m.base()).own
	m.local = entry.Window == 0 && wire.Loopback(wire.Host(m.base()))
	return m
}

type model struct {
	client *Client
	name   string
	entry  catalog.Entry // its Formats holds for the host too
	keys   wire.Keys     // those that Client.Key gave
	local  bool          // it is served on this machine, and its window is not known

	counting wire.Counting
}

func (m *model) Name() string { return m.name }

func (m *model) Info() llm.Info {
	info := m.entry.Info()
	info.Provider = Provider
	if m.local {
		info.Window, info.Assumed = llm.AssumedLocalWindow, true
	}
	return info
}

// Describe implements [llm.Described].
func (m *model) Describe() llm.ModelInfo {
	i := m.entry.ModelInfo()
	i.Value, i.Provider = m.name, Provider
	i.Window, i.Assumed = m.Info().Room()
	return i
}

func (m *model) base() string {
	return wire.First(m.client.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL)
}

// Secrets returns what must not be seen of the client: its key, and what its
// headers and base URL hold of credentials.
func (m *model) Secrets() []string {
	list := wire.Secrets(m.base(), m.client.Header)
	list = append(list, m.keys.Secrets()...)
	if key := m.client.key(); key != "" {
		list = append(list, key)
	}
	return list
}

// Fetched returns how many keys Client.Key gave so far: once it has grown,
// Secrets holds more.
func (m *model) Fetched() int { return m.keys.Count() }

var (
	reasoner = regexp.MustCompile(`^(o\d|gpt-[5-9]|gpt-oss|codex)`)
	// formatter is of models that take a schema for their answer.
	formatter = regexp.MustCompile(`^(gpt-4o|gpt-4\.|gpt-[5-9]|o[13-9]|codex)`)
)

// guess returns what a model that is not in the catalogue accepts, as far as
// its name says. Prices and sizes it does not guess.
func guess(name string) catalog.Entry {
	e := catalog.Entry{Name: name, Provider: vendor}
	own := name[strings.LastIndexByte(name, '/')+1:]
	e.Formats = formatter.MatchString(own)
	if reasoner.MatchString(own) && !strings.Contains(own, "-chat") {
		e.Thinking, e.NoSamplers = catalog.ThinkingEffort, true
	}
	return e
}

// A host is what the place that is asked wants different.
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

// present puts a key on a request.
func (h host) present(header http.Header, key string) {
	if h.azure && !wire.JWT(key) {
		header.Set("Api-Key", key)
		return
	}
	header.Set("Authorization", "Bearer "+key) // tokens of Microsoft Entra are JWTs
}

// Stream implements [llm.Model].
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := m.run(ctx, req, func(d llm.Delta) bool { return yield(d, nil) }); err != nil {
			yield(llm.Delta{}, err)
		}
	}
}

// run carries out a request. It returns nil when the reply is complete or emit
// wants no more.
func (m *model) run(ctx context.Context, req *llm.Request, emit func(llm.Delta) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	base := m.base()
	at := hostOf(base)
	body, err := m.encode(req, at)
	if err != nil {
		return err
	}
	exchange, err := m.exchange(base, at, req.Blocking, body)
	if err != nil {
		return err
	}
	exchange.Bound(m.client.Limiter, m.name, req)
	return exchange.Run(ctx, m.name, req.Blocking, emit, newDecoder())
}

// key returns the key that does not change, "" if there is none or Key gives them.
func (c *Client) key() string {
	if c.Key != nil {
		return ""
	}
	return wire.First(c.APIKey, os.Getenv("OPENAI_API_KEY"))
}

// exchange returns the request for body.
func (m *model) exchange(base string, at host, blocking bool, body [][]byte) (*wire.Exchange, error) {
	c := m.client
	header := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {"openagent-go"},
	}
	if key := c.key(); key != "" {
		at.present(header, key)
	}
	x := &wire.Exchange{
		Provider: Provider, HTTP: c.HTTP, URL: wire.Join(base, "/responses"), Header: header, Body: body, Explain: wire.Explain,
		Headers: wire.Limit(c.HeaderTimeout, 300*time.Second), Idle: wire.Limit(c.IdleTimeout, 300*time.Second), Total: wire.Limit(c.TotalTimeout, time.Hour),
	}
	if blocking {
		header.Set("Accept", "application/json")
		x.Headers, x.Idle, x.Total = 0, 0, wire.Limit(c.BlockingTimeout, 300*time.Second)
	}
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if c.Key != nil {
		x.Authorize = func(r *http.Request, again bool) error {
			key, err := m.keys.Ask(r.Context(), Provider, c.Key, again)
			if err == nil {
				at.present(r.Header, key)
			}
			return err
		}
		return x, nil
	}
	if header.Get("Authorization") == "" && header.Get("Api-Key") == "" && !wire.Loopback(wire.Host(base)) {
		return nil, &llm.APIError{Class: llm.Auth, Provider: Provider, Message: "no API key: set OPENAI_API_KEY, Client.APIKey or Client.Key", RetryAfter: -1}
	}
	return x, nil
}

func invalid(format string, args ...any) error {
	return &llm.APIError{Class: llm.Invalid, Provider: Provider, Message: fmt.Sprintf(format, args...), RetryAfter: -1}
}

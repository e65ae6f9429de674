// Package anthropic speaks the Anthropic Messages API
// (https://platform.claude.com/docs/en/api/messages), streamed and blocking.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/limit"
)

const (
	provider = "anthropic"
	// DefaultBaseURL is used where neither Client nor ANTHROPIC_BASE_URL names one.
	DefaultBaseURL = "https://api.anthropic.com"
	apiVersion     = "2023-06-01"
)

// A Client reaches the Messages API. The zero Client is ready to use. Its fields
// must not change once a model of it is in use. It never retries.
type Client struct {
	APIKey  string         // "": ANTHROPIC_API_KEY. A loopback BaseURL needs none
	Key     llm.KeyFunc    // asked for each request, in the place of APIKey
	BaseURL string         // "": ANTHROPIC_BASE_URL, else DefaultBaseURL. /v1/messages is appended
	HTTP    *http.Client   // nil: http.DefaultClient. Redirects to other hosts are never followed
	Header  http.Header    // sent in addition, in the place of headers of the same name
	Catalog *catalog.Table // nil: catalog.Embedded()
	// Platform is where the API is served, in the place of BaseURL; nil: by Anthropic.
	Platform *Platform
	Limiter  *limit.Limiter // what requests wait for, shared by the clients of a key; nil: nothing

	// Time limits. 0: the default; negative: none.
	HeaderTimeout   time.Duration // until a stream begins: 300 s
	IdleTimeout     time.Duration // between two pieces of a reply: 120 s
	TotalTimeout    time.Duration // for a whole stream: 1 h
	BlockingTimeout time.Duration // for a whole request with Blocking set: 300 s
}

// Model returns the model of that name, reached through the zero Client.
func Model(name string) llm.Model { return new(Client).Model(name) }

// Model returns the model of that name. It implements [llm.Informed].
func (c *Client) Model(name string) llm.Model {
	if c.Platform != nil {
		return &model{client: c, name: name, entry: c.Platform.entry(c.Catalog, name)}
	}
	entry, known := c.Catalog.Lookup(provider, name)
	if !known {
		entry = guess(name)
	}
	m := &model{client: c, name: name, entry: entry}
	m.local = entry.Window == 0 && wire.Loopback(wire.Host(wire.First(c.BaseURL, os.Getenv("ANTHROPIC_BASE_URL"), DefaultBaseURL)))
	return m
}

type model struct {
	client *Client
	name   string
	entry  catalog.Entry
	local  bool      // it is served on this machine, and its window is not known
	keys   wire.Keys // those that Client.Key gave

	counting wire.Counting
}

func (m *model) Name() string { return m.name }

func (m *model) Info() llm.Info {
	i := m.entry.Info()
	if m.local {
		i.Window, i.Assumed = llm.AssumedLocalWindow, true
	}
	return i
}

// Describe implements [llm.Described].
func (m *model) Describe() llm.ModelInfo {
	i := m.entry.ModelInfo()
	i.Value = m.name
	i.Window, i.Assumed = m.Info().Room()
	return i
}

// Secrets returns what must not be seen of the client: its key, and what its
// headers and base URL hold of credentials.
func (m *model) Secrets() []string {
	if p := m.client.Platform; p != nil {
		secrets, _ := p.Secrets()
		return append(secrets, wire.Secrets("", m.client.Header)...)
	}
	base := wire.First(m.client.BaseURL, os.Getenv("ANTHROPIC_BASE_URL"), DefaultBaseURL)
	list := wire.Secrets(base, m.client.Header)
	list = append(list, m.keys.Secrets()...)
	if key := m.client.key(); key != "" {
		list = append(list, key)
	}
	return list
}

// Fetched returns how many keys Client.Key gave so far: once it has grown,
// Secrets holds more.
func (m *model) Fetched() int {
	if p := m.client.Platform; p != nil {
		_, n := p.Secrets()
		return n
	}
	return m.keys.Count()
}

var claude = regexp.MustCompile(`claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2}))?(?:\D|$)`)

// guess returns what a Claude model that is not in the catalogue accepts, by its
// generation. Prices and sizes it does not guess.
func guess(name string) catalog.Entry {
	e := catalog.Entry{Name: name, Provider: provider, Thinking: catalog.ThinkingBudget}
	match := claude.FindStringSubmatch(name)
	if match == nil {
		return e
	}
	major, _ := strconv.Atoi(match[2])
	minor, _ := strconv.Atoi(match[3])
	version := major*100 + minor
	family := match[1]
	if family == "fable" || family == "mythos" || family != "haiku" && version >= 406 || version >= 500 {
		e.Thinking = catalog.ThinkingAdaptive
	}
	e.NoSamplers = family == "fable" || family == "mythos" || family == "opus" && version >= 407 || version >= 500
	e.Formats = version >= 405
	e.NoForcedTool = family == "fable" || family == "mythos" || version >= 505
	return e
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
	body, err := m.encode(req)
	if err != nil {
		return err
	}
	exchange, err := m.exchange(req.Blocking, body)
	if err != nil {
		return err
	}
	exchange.Bound(m.client.Limiter, m.name, req)
	return exchange.Run(ctx, m.name, req.Blocking, emit, &decoder{})
}

// key returns the key that does not change, "" if there is none or Key gives them.
func (c *Client) key() string {
	if c.Key != nil || c.Platform != nil {
		return ""
	}
	return wire.First(c.APIKey, os.Getenv("ANTHROPIC_API_KEY"))
}

// exchange returns the request for body.
func (m *model) exchange(blocking bool, body [][]byte) (*wire.Exchange, error) {
	c := m.client
	base := wire.First(c.BaseURL, os.Getenv("ANTHROPIC_BASE_URL"), DefaultBaseURL)
	key := c.key()
	header := http.Header{
		"Content-Type":      {"application/json"},
		"Accept":            {"text/event-stream"},
		"Anthropic-Version": {apiVersion},
		"User-Agent":        {"openagent-go"},
	}
	if key != "" {
		header.Set("X-Api-Key", key)
	}
	x := &wire.Exchange{
		Provider: provider, HTTP: c.HTTP, URL: strings.TrimRight(base, "/") + "/v1/messages", Header: header, Body: body, Explain: wire.Explain,
		Headers: wire.Limit(c.HeaderTimeout, 300*time.Second), Idle: wire.Limit(c.IdleTimeout, 120*time.Second), Total: wire.Limit(c.TotalTimeout, time.Hour),
	}
	if blocking {
		header.Set("Accept", "application/json")
		x.Headers, x.Idle, x.Total = 0, 0, wire.Limit(c.BlockingTimeout, 300*time.Second)
	}
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if c.Platform != nil {
		return x, c.platform(x, m.name, blocking)
	}
	if c.Key != nil {
		x.Authorize = func(r *http.Request, again bool) error {
			key, err := m.keys.Ask(r.Context(), provider, c.Key, again)
			if err == nil {
				r.Header.Set("X-Api-Key", key)
			}
			return err
		}
		return x, nil
	}
	if header.Get("X-Api-Key") == "" && header.Get("Authorization") == "" && !wire.Loopback(wire.Host(base)) {
		return nil, &llm.APIError{Class: llm.Auth, Provider: provider, Message: "no API key: set ANTHROPIC_API_KEY, Client.APIKey or Client.Key", RetryAfter: -1}
	}
	return x, nil
}

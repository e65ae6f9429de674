// Package claude speaks the Anthropic Messages API
// (https://platform.claude.com/docs/en/api/messages), streamed and blocking. Packages
// llm/anthropic, llm/bedrock and llm/vertex are built on it.
package claude

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

const (
	provider = "anthropic"
	// DefaultBaseURL is used where neither Client nor ANTHROPIC_BASE_URL names one.
	DefaultBaseURL = "https://api.anthropic.com"
	apiVersion     = "2023-06-01"
)

// A Client has the fields of anthropic.Client, which describes them.
type Client struct {
	APIKey  string
	Key     llm.KeyFunc
	BaseURL string
	HTTP    *http.Client
	Header  http.Header
	Catalog *catalog.Table
	Limiter pace.Limiter
	Fast    bool

	HeaderTimeout   time.Duration
	IdleTimeout     time.Duration
	TotalTimeout    time.Duration
	BlockingTimeout time.Duration
}

// ModelAt returns the model with the given name as p serves it.
func (c *Client) ModelAt(p *Platform, name string) llm.Model {
	return &model{client: c, platform: p, Model: wire.Model{ID: name, Entry: p.entry(c.Catalog, name)}}
}

// Model returns the model with the given name. It has a method Info, see [llm.InfoOf].
func (c *Client) Model(name string) llm.Model {
	entry, known := c.Catalog.Lookup(provider, name)
	if !known {
		entry = guess(name)
	}
	if c.Fast && entry.Fast {
		entry.Price = entry.FastPrice()
	}
	local := entry.Window == 0 && wire.Loopback(wire.Host(c.base()))
	return &model{client: c, Model: wire.Model{ID: name, Entry: entry, Local: local}}
}

type model struct {
	wire.Model
	client   *Client
	platform *Platform // the provider that serves the API, instead of BaseURL; nil: Anthropic
	counting wire.Counting
}

func (c *Client) base() string {
	return wire.First(c.BaseURL, os.Getenv("ANTHROPIC_BASE_URL"), DefaultBaseURL)
}

// Secrets returns the secrets of the client: its key, and the credentials in its headers
// and base URL.
func (m *model) Secrets() []string {
	if p := m.platform; p != nil {
		secrets, _ := p.Secrets()
		return append(secrets, wire.Secrets("", m.client.Header)...)
	}
	at := m.client.place()
	return at.Secrets(&m.Keys)
}

// Fetched returns the number of keys that Client.Key returned so far. When it grows,
// Secrets returns more.
func (m *model) Fetched() int {
	if p := m.platform; p != nil {
		_, n := p.Secrets()
		return n
	}
	return m.Model.Fetched()
}

var claude = regexp.MustCompile(`claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2}))?(?:\D|$)`)

// guess returns the features of a Claude model that is not in the catalogue, from its
// generation. It does not guess prices and sizes.
func guess(name string) catalog.Entry {
	e := catalog.Entry{Name: name, Provider: provider, Thinking: llmconst.ThinkingBudget}
	match := claude.FindStringSubmatch(name)
	if match == nil {
		return e
	}
	major, _ := strconv.Atoi(match[2])
	minor, _ := strconv.Atoi(match[3])
	version := major*100 + minor
	family := match[1]
	if family == "fable" || family == "mythos" || family != "haiku" && version >= 406 || version >= 500 {
		e.Thinking = llmconst.ThinkingAdaptive
	}
	e.NoSamplers = family == "fable" || family == "mythos" || family == "opus" && version >= 407 || version >= 500
	e.Formats = version >= 405
	e.NoForcedTool = family == "fable" || family == "mythos" || version >= 505
	return e
}

// Stream implements [llm.Model].
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return wire.Stream(ctx, m.client.Limiter, m.ID, req, func() (*wire.Exchange, wire.Decoder, error) {
		body, err := m.encode(req)
		if err != nil {
			return nil, nil, err
		}
		x, err := m.exchange(req.Blocking, body)
		return x, &decoder{}, err
	})
}

var (
	keys      = []string{"ANTHROPIC_API_KEY"}
	apiHeader = http.Header{"Anthropic-Version": {apiVersion}}
)

// place returns the place of a client without a [Platform].
func (c *Client) place() wire.Place {
	at := wire.Place{
		Provider: provider, URL: wire.Join(c.base(), "/v1/messages"), HTTP: c.HTTP, API: apiHeader, Header: c.Header,
		Ask: c.Key, KeyHeader: "X-Api-Key", Wanted: keys,
		HeaderTimeout: c.HeaderTimeout, IdleTimeout: cmp.Or(c.IdleTimeout, 120*time.Second), TotalTimeout: c.TotalTimeout, BlockingTimeout: c.BlockingTimeout,
	}
	if c.Key == nil {
		at.Key = wire.First(c.APIKey, os.Getenv(keys[0]))
	}
	return at
}

// exchange returns the request for body.
func (m *model) exchange(blocking bool, body [][]byte) (*wire.Exchange, error) {
	at := m.client.place()
	p := m.platform
	if p == nil {
		x, err := at.Exchange(blocking, body, &m.Keys)
		if err == nil && m.fast() {
			x.Header.Set("Anthropic-Beta", withBeta(x.Header.Values("Anthropic-Beta"), fastBeta))
		}
		return x, err
	}
	if err := p.place(&at, m.ID, blocking); err != nil {
		return nil, err
	}
	x, err := at.Exchange(blocking, body, nil)
	if err == nil {
		p.strip(x.Header)
	}
	return x, err
}

// fastBeta marks requests for the fast mode
// (https://platform.claude.com/docs/en/build-with-claude/fast-mode).
const fastBeta = "fast-mode-2026-02-01"

// fast reports whether requests ask for the fast mode.
func (m *model) fast() bool { return m.client.Fast && m.Entry.Fast && m.platform == nil }

// withBeta adds a beta to the values of a header.
func withBeta(values []string, beta string) string {
	list := strings.Join(values, ",")
	switch {
	case list == "":
		return beta
	case strings.Contains(list, beta):
		return list
	}
	return list + "," + beta
}

// Package openai speaks the OpenAI Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat) and what the many hosts
// that are compatible with it make of it, streamed and blocking.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/limit"
)

const (
	provider = "openai"
	// DefaultBaseURL is used where neither Client nor OPENAI_BASE_URL names one.
	DefaultBaseURL = "https://api.openai.com/v1"
)

// A Client reaches a Chat Completions API. The zero Client is ready to use. Its
// fields must not change once a model of it is in use. It never retries.
type Client struct {
	APIKey  string         // "": the profile's variables, else OPENAI_API_KEY. A loopback BaseURL needs none
	Key     llm.KeyFunc    // asked for each request, in the place of APIKey
	BaseURL string         // "": that of Profile, else OPENAI_BASE_URL, else DefaultBaseURL. /chat/completions is appended, before a query
	Profile *Profile       // what the host wants; nil: by BaseURL
	HTTP    *http.Client   // nil: http.DefaultClient. Redirects to other hosts are never followed
	Header  http.Header    // sent in addition, in the place of headers of the same name
	Catalog *catalog.Table // nil: catalog.Embedded()
	Limiter *limit.Limiter // what requests wait for, shared by the clients of a key; nil: nothing

	// Time limits. 0: the default; negative: none.
	HeaderTimeout   time.Duration // until a stream begins: 300 s
	IdleTimeout     time.Duration // between two pieces of a reply: 300 s, as some hosts are silent while a model thinks
	TotalTimeout    time.Duration // for a whole stream: 1 h
	BlockingTimeout time.Duration // for a whole request with Blocking set: 300 s
}

// Model returns the model of that name, reached through the zero Client.
func Model(name string) llm.Model { return new(Client).Model(name) }

// Model returns the model of that name. It implements [llm.Informed].
func (c *Client) Model(name string) llm.Model {
	entry, known := c.Catalog.Lookup(provider, name)
	if !known {
		entry = guess(name)
	}
	base, profile := c.where()
	entry.Formats = entry.Formats && profile.Formats
	ask := profile.target(name).ask
	m := &model{client: c, name: name, entry: entry, inside: (ask == AskObject || ask == AskGoogle) && entry.Thinking != catalog.ThinkingNone}
	m.local = entry.Window == 0 && wire.Loopback(wire.Host(base))
	return m
}

type model struct {
	client *Client
	name   string
	entry  catalog.Entry // its Formats holds for the host too
	local  bool          // it is served on this machine, and its window is not known
	inside bool          // a thinking budget counts as output there
	keys   wire.Keys     // those that Client.Key gave
}

func (m *model) Name() string { return m.name }

func (m *model) Info() llm.Info {
	i := m.entry.Info()
	i.ThinksInside = m.inside
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
	base, profile := m.client.where()
	list := wire.Secrets(base, m.client.Header)
	list = append(list, m.keys.Secrets()...)
	if key := m.client.key(profile); key != "" {
		list = append(list, key)
	}
	return list
}

// Fetched returns how many keys Client.Key gave so far: once it has grown,
// Secrets holds more.
func (m *model) Fetched() int { return m.keys.Count() }

// key returns the key that does not change, "" if there is none or Key gives them.
func (c *Client) key(profile *Profile) string {
	if c.Key != nil {
		return ""
	}
	if c.Profile != nil && c.Profile.Keyless {
		return wire.First(c.APIKey, profile.key()) // OpenAI's is not for it
	}
	return wire.First(c.APIKey, profile.key(), os.Getenv("OPENAI_API_KEY"))
}

// where returns the base URL and the profile of its host.
func (c *Client) where() (string, *Profile) {
	if c.Profile != nil {
		return wire.First(c.BaseURL, c.Profile.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL), c.Profile
	}
	base := wire.First(c.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL)
	return base, profileAt(base)
}

var (
	reasoner = regexp.MustCompile(`^(o\d|gpt-[5-9])`)
	// formatter is of models that take a schema for their answer where their host does.
	formatter = regexp.MustCompile(`^(gpt-4o|gpt-4\.|gpt-[5-9]|o[13-9]|grok-[3-9]|claude-[a-z]+-(4[.-][5-9]|[5-9])|claude-(fable|mythos))`)
)

// guess returns what a model that is not in the catalogue accepts, as far as
// its name says. Prices and sizes it does not guess.
func guess(name string) catalog.Entry {
	e := catalog.Entry{Name: name, Provider: provider}
	own := name[strings.LastIndexByte(name, '/')+1:]
	e.Formats = formatter.MatchString(own)
	if reasoner.MatchString(own) && !strings.Contains(own, "-chat") {
		e.Thinking, e.NoSamplers, e.MaxCompletionTokens = catalog.ThinkingEffort, true, true
	}
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
	base, profile := m.client.where()
	body, err := m.encode(req, profile.target(m.name))
	if err != nil {
		return err
	}
	exchange, err := m.exchange(base, profile, req.Blocking, body)
	if err != nil {
		return err
	}
	exchange.Bound(m.client.Limiter, m.name, req)
	return exchange.Run(ctx, m.name, req.Blocking, emit, &decoder{})
}

// present puts a key on a request. Tokens of Microsoft Entra, which are JWTs, have
// their place in another header than the keys of Azure.
func (p *Profile) present(h http.Header, key string) {
	if p.KeyHeader == "" || wire.JWT(key) {
		h.Set("Authorization", "Bearer "+key)
		return
	}
	h.Set(p.KeyHeader, key)
}

// exchange returns the request for body.
func (m *model) exchange(base string, host *Profile, blocking bool, body [][]byte) (*wire.Exchange, error) {
	c := m.client
	header := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {"openagent-go"},
	}
	if key := c.key(host); key != "" {
		host.present(header, key)
	}
	x := &wire.Exchange{
		Provider: provider, HTTP: c.HTTP, URL: wire.Join(base, "/chat/completions"), Header: header, Body: body, Explain: wire.Explain,
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
			key, err := m.keys.Ask(r.Context(), provider, c.Key, again)
			if err == nil {
				host.present(r.Header, key)
			}
			return err
		}
		return x, nil
	}
	if header.Get("Authorization") == "" && header.Get(cmp.Or(host.KeyHeader, "Api-Key")) == "" && !host.Keyless && !wire.Loopback(wire.Host(base)) {
		names := strings.Join(append(slices.Clone(host.Keys), "OPENAI_API_KEY"), ", ")
		if slices.Contains(host.Keys, "OPENAI_API_KEY") {
			names = strings.Join(host.Keys, ", ")
		}
		return nil, &llm.APIError{Class: llm.Auth, Provider: provider, Message: "no API key: set " + names + ", Client.APIKey or Client.Key", RetryAfter: -1}
	}
	return x, nil
}

func invalid(format string, args ...any) error {
	return &llm.APIError{Class: llm.Invalid, Provider: provider, Message: fmt.Sprintf(format, args...), RetryAfter: -1}
}

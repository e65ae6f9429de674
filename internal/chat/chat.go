// Package chat speaks the OpenAI Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat), streamed and blocking. A
// [Profile] describes how a compatible host differs. Packages llm/openai and llm/azure are
// built on it.
package chat

import (
	"context"
	"iter"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

const (
	provider = "openai"
	// DefaultBaseURL is used where neither Client nor OPENAI_BASE_URL names one.
	DefaultBaseURL = "https://api.openai.com/v1"
)

// A Client has the fields of openai.Client, which describes them. Its Profile is whole.
type Client struct {
	APIKey  string
	Key     llm.KeyFunc
	BaseURL string
	Profile *Profile // nil: chosen by BaseURL
	HTTP    *http.Client
	Header  http.Header
	Catalog *catalog.Table
	Limiter pace.Limiter

	HeaderTimeout   time.Duration
	IdleTimeout     time.Duration
	TotalTimeout    time.Duration
	BlockingTimeout time.Duration
}

// Model returns the model with the given name. It has a method Info, see [llm.InfoOf].
func (c *Client) Model(name string) llm.Model {
	base, profile := c.where()
	entry := profile.entry(c.Catalog, name)
	entry.Formats = entry.Formats && profile.Formats
	ask := profile.target(name).ask
	return &model{client: c, Model: wire.Model{ID: name, Entry: entry, Local: entry.Window == 0 && wire.Loopback(wire.Host(base))},
		inside: (ask == AskObject || ask == AskGoogle) && entry.Thinking != llmconst.ThinkingNone}
}

type model struct {
	wire.Model // its entry's Formats holds for the host too
	client     *Client
	inside     bool // a thinking budget counts as output at this host
}

func (m *model) Info() llm.Info {
	i := m.Model.Info()
	i.ThinksInside = m.inside
	return i
}

// Describe describes the model, see [modelinfo.Of].
func (m *model) Describe() modelinfo.Info {
	i := m.Model.Describe()
	_, profile := m.client.where()
	i.PlainTools = profile.target(m.ID).plainTools
	return i
}

// Secrets returns the secrets of the client: its key, and the credentials in its headers
// and base URL.
func (m *model) Secrets() []string {
	base, profile := m.client.where()
	at := m.client.place(base, profile)
	return at.Secrets(&m.Keys)
}

// key returns the fixed key, "" if there is none or Key provides it.
func (c *Client) key(profile *Profile) string {
	if c.Key != nil {
		return ""
	}
	if c.Profile != nil && c.Profile.Keyless {
		return wire.First(c.APIKey, profile.key()) // OpenAI's key is not for this host
	}
	return wire.First(c.APIKey, profile.key(), os.Getenv("OPENAI_API_KEY"))
}

// where returns the base URL and the profile of its host.
func (c *Client) where() (string, *Profile) {
	if c.Profile != nil {
		return wire.First(c.BaseURL, c.Profile.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL), c.Profile
	}
	base := Base(c.BaseURL)
	return base, ProfileAt(base)
}

// Base returns the base URL of a client without a profile.
func Base(given string) string {
	return wire.First(given, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL)
}

var (
	reasoner = regexp.MustCompile(`^(o\d|gpt-[5-9])`)
	// formatter matches models that accept a schema for their answer, if their host does.
	formatter = regexp.MustCompile(`^(gpt-4o|gpt-4\.|gpt-[5-9]|o[13-9]|grok-[3-9]|claude-[a-z]+-(4[.-][5-9]|[5-9])|claude-(fable|mythos))`)
)

// guess returns the features of a model that is not in the catalogue, from its name. It
// does not guess prices and sizes.
func guess(name string) catalog.Entry {
	e := catalog.Entry{Name: name, Provider: provider}
	own := name[strings.LastIndexByte(name, '/')+1:]
	e.Formats = formatter.MatchString(own)
	if reasoner.MatchString(own) && !strings.Contains(own, "-chat") {
		e.Thinking, e.NoSamplers, e.MaxCompletionTokens = llmconst.ThinkingEffort, true, true
	}
	return e
}

// Stream implements [llm.Model].
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return wire.Stream(ctx, m.client.Limiter, m.ID, req, func() (*wire.Exchange, wire.Decoder, error) {
		base, profile := m.client.where()
		body, err := m.encode(req, profile.target(m.ID))
		if err != nil {
			return nil, nil, err
		}
		at := m.client.place(base, profile)
		x, err := at.Exchange(req.Blocking, body, &m.Keys)
		return x, &decoder{}, err
	})
}

// place returns the place of the client's requests.
func (c *Client) place(base string, host *Profile) wire.Place {
	at := wire.Place{
		Provider: provider, URL: wire.Join(base, "/chat/completions"), HTTP: c.HTTP, Header: c.Header,
		Key: c.key(host), Ask: c.Key, KeyHeader: host.KeyHeader, Entra: true,
		HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout, TotalTimeout: c.TotalTimeout, BlockingTimeout: c.BlockingTimeout,
	}
	if at.Key == "" && !host.Keyless {
		at.Wanted = host.Keys
		if !slices.Contains(host.Keys, "OPENAI_API_KEY") {
			at.Wanted = append(slices.Clone(host.Keys), "OPENAI_API_KEY")
		}
	}
	return at
}

func invalid(format string, args ...any) error { return wire.Invalid(provider, format, args...) }

// Package openai speaks the OpenAI Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat) and what the many hosts
// that are compatible with it make of it, streamed and blocking.
package openai

import (
	"context"
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
	provider = "openai"
	// DefaultBaseURL is used where neither Client nor OPENAI_BASE_URL names one.
	DefaultBaseURL = "https://api.openai.com/v1"
)

// A Client reaches a Chat Completions API. The zero Client is ready to use. Its
// fields must not change once a model of it is in use. It never retries.
type Client struct {
	APIKey  string         // "": OPENAI_API_KEY. A loopback BaseURL needs none
	BaseURL string         // "": OPENAI_BASE_URL, else DefaultBaseURL. /chat/completions is appended
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
	base := wire.First(c.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL)
	entry.Formats = entry.Formats && dialectOf(base, name).formats
	m := &model{client: c, name: name, entry: entry}
	m.local = entry.Window == 0 && wire.Loopback(wire.Host(base))
	return m
}

type model struct {
	client *Client
	name   string
	entry  catalog.Entry // its Formats holds for the host too
	local  bool          // it is served on this machine, and its window is not known
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
	base := wire.First(m.client.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL)
	list := wire.Secrets(base, m.client.Header)
	if key := wire.First(m.client.APIKey, os.Getenv("OPENAI_API_KEY")); key != "" {
		list = append(list, key)
	}
	return list
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

// A dialect is what a host wants different.
type dialect struct {
	echo       echo
	completion bool // max_completion_tokens for max_tokens
	strict     bool // OpenAI itself, or Azure
	azure      bool
	openrouter bool
	reasoning  bool // a "reasoning" object for reasoning_effort
	xai        bool
	formats    bool // takes json_schema in response_format, also beside tools
}

// An echo is the way in which a host wants its model's reasoning back.
type echo uint8

const (
	noEcho      echo = iota
	textEcho         // reasoning_content beside tool calls
	alwaysEcho       // the same, "" where there is none
	detailsEcho      // reasoning_details
)

func dialectOf(base, name string) dialect {
	host := wire.Host(base)
	under := func(domains ...string) bool {
		for _, d := range domains {
			if host == d || strings.HasSuffix(host, "."+d) {
				return true
			}
		}
		return false
	}
	var d dialect
	switch {
	case host == "api.openai.com" || under("api.openai.com"):
		d.strict, d.completion, d.formats = true, true, true
	case under("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"):
		d.strict, d.completion, d.azure, d.formats = true, true, true, true
	case under("openrouter.ai"):
		d.echo, d.reasoning, d.openrouter, d.formats = detailsEcho, true, true, true
	case under("ai-gateway.vercel.sh"):
		d.echo, d.reasoning = detailsEcho, true
	case under("moonshot.ai", "moonshot.cn", "kimi.com", "deepseek.com"):
		d.echo = alwaysEcho
	case under("x.ai"):
		d.echo, d.xai, d.formats = textEcho, true, true
	case under("z.ai", "bigmodel.cn", "avian.io"):
		d.echo = textEcho
	case wire.Loopback(host):
		d.echo = textEcho
		if low := strings.ToLower(name); strings.Contains(low, "kimi") || strings.Contains(low, "deepseek") {
			d.echo = alwaysEcho
		}
	}
	return d
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
	base := wire.First(m.client.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL)
	host := dialectOf(base, m.name)
	body, err := m.encode(req, host)
	if err != nil {
		return err
	}
	exchange, err := m.client.exchange(base, host, req.Blocking, body)
	if err != nil {
		return err
	}
	exchange.Bound(m.client.Limiter, m.name, req)
	reply, err := exchange.Do(ctx)
	if err != nil {
		return err
	}
	d := newDecoder(reply, emit, m.name)
	defer func() { reply.Used(d.res.Usage); reply.Close(d.complete) }()
	if err := reply.Page(); err != nil {
		return err
	}
	if req.Blocking || reply.First() == '{' {
		return d.blocking()
	}
	return d.stream()
}

// exchange returns the request for body.
func (c *Client) exchange(base string, host dialect, blocking bool, body [][]byte) (*wire.Exchange, error) {
	header := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {"openagent-go"},
	}
	if key := wire.First(c.APIKey, os.Getenv("OPENAI_API_KEY")); key != "" {
		if host.azure {
			header.Set("Api-Key", key)
		} else {
			header.Set("Authorization", "Bearer "+key)
		}
	}
	x := &wire.Exchange{
		Provider: provider, HTTP: c.HTTP, URL: strings.TrimRight(base, "/") + "/chat/completions", Header: header, Body: body, Explain: wire.Explain,
		Headers: wire.Limit(c.HeaderTimeout, 300*time.Second), Idle: wire.Limit(c.IdleTimeout, 300*time.Second), Total: wire.Limit(c.TotalTimeout, time.Hour),
	}
	if blocking {
		header.Set("Accept", "application/json")
		x.Headers, x.Idle, x.Total = 0, 0, wire.Limit(c.BlockingTimeout, 300*time.Second)
	}
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if header.Get("Authorization") == "" && header.Get("Api-Key") == "" && !wire.Loopback(wire.Host(base)) {
		return nil, &llm.APIError{Class: llm.Auth, Provider: provider, Message: "no API key: set OPENAI_API_KEY or Client.APIKey", RetryAfter: -1}
	}
	return x, nil
}

func invalid(format string, args ...any) error {
	return &llm.APIError{Class: llm.Invalid, Provider: provider, Message: fmt.Sprintf(format, args...), RetryAfter: -1}
}

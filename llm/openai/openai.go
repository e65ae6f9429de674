// Package openai is a client of the OpenAI Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat), streamed and blocking. It knows how
// many compatible hosts differ. A [Profile] describes another host.
//
//	m := openai.Model("gpt-5.2") // key from OPENAI_API_KEY
//	local := (&openai.Client{BaseURL: "http://localhost:11434/v1"}).Model("llama3.3:70b")
package openai

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A Client connects to a Chat Completions API. The zero Client is ready to use. Do not
// change its fields once a model of it is in use. It never retries.
type Client struct {
	APIKey  string         // "": the host's variables, else OPENAI_API_KEY. A loopback BaseURL needs none
	Key     llm.KeyFunc    // called for each request, instead of APIKey
	BaseURL string         // "": that of Profile.Like, else OPENAI_BASE_URL, else https://api.openai.com/v1. /chat/completions is appended, before a query
	Profile *Profile       // how the host differs from others; nil: chosen by BaseURL
	HTTP    *http.Client   // nil: http.DefaultClient. Redirects to other hosts are never followed
	Header  http.Header    // sent too; they replace headers of the same name
	Catalog *catalog.Table // nil: catalog.Embedded()
	Limiter pace.Limiter   // a *limit.Limiter: limits the rate of requests, shared by the clients of a key; nil: no limit

	// Time limits. 0: the default; negative: none.
	HeaderTimeout   time.Duration // until a stream begins: 300 s
	IdleTimeout     time.Duration // between two pieces of a reply: 300 s, as some hosts are silent while a model thinks
	TotalTimeout    time.Duration // for a whole stream: 1 h
	BlockingTimeout time.Duration // for a whole request with Blocking set: 300 s
}

// Model returns the model of that name, reached through the zero Client.
func Model(name string) llm.Model { return new(Client).Model(name) }

// Model returns the model with the given name. It has a method Info, see [llm.InfoOf]. With an
// unknown Profile.Like every request fails with class [llm.Invalid].
func (c *Client) Model(name string) llm.Model {
	inner := &chat.Client{
		APIKey: c.APIKey, Key: c.Key, BaseURL: c.BaseURL, HTTP: c.HTTP, Header: c.Header, Catalog: c.Catalog, Limiter: c.Limiter,
		HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout, TotalTimeout: c.TotalTimeout, BlockingTimeout: c.BlockingTimeout,
	}
	if c.Profile != nil {
		p, err := c.Profile.whole(c.BaseURL)
		if err != nil {
			return broken{name, err}
		}
		inner.Profile = p
	}
	return inner.Model(name)
}

// broken is a model that cannot be reached.
type broken struct {
	name string
	err  error
}

func (b broken) Name() string { return b.name }

func (b broken) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, b.err) }
}

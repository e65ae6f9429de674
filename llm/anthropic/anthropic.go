// Package anthropic is a client of the Anthropic Messages API
// (https://platform.claude.com/docs/en/api/messages), streamed and blocking.
//
//	m := anthropic.Model("claude-sonnet-4-6") // key from ANTHROPIC_API_KEY
package anthropic

import (
	"net/http"
	"time"

	"github.com/openagent-go/agent/internal/claude"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A Client connects to the Messages API. The zero Client is ready to use. Do not change its
// fields once a model of it is in use. It never retries.
type Client struct {
	APIKey  string         // "": ANTHROPIC_API_KEY. A loopback BaseURL needs none
	Key     llm.KeyFunc    // called for each request, instead of APIKey
	BaseURL string         // "": ANTHROPIC_BASE_URL, else https://api.anthropic.com. /v1/messages is appended
	HTTP    *http.Client   // nil: http.DefaultClient. Redirects to other hosts are never followed
	Header  http.Header    // sent too; they replace headers of the same name
	Catalog *catalog.Table // nil: catalog.Embedded()
	Limiter pace.Limiter   // a *limit.Limiter: limits the rate of requests, shared by the clients of a key; nil: no limit
	// Fast asks for the fast mode of models that have one in their catalogue entry. Answers
	// are written faster and cost more. The mode has its own rate limits and prompt cache.
	// Bedrock and Vertex do not have it.
	Fast bool

	// Time limits. 0: the default; negative: none.
	HeaderTimeout   time.Duration // until a stream begins: 300 s
	IdleTimeout     time.Duration // between two pieces of a reply: 120 s
	TotalTimeout    time.Duration // for a whole stream: 1 h
	BlockingTimeout time.Duration // for a whole request with Blocking set: 300 s
}

// Model returns the model of that name, reached through the zero Client.
func Model(name string) llm.Model { return new(Client).Model(name) }

// Model returns the model with the given name. It has a method Info, see [llm.InfoOf], and
// [llm.Counter].
func (c *Client) Model(name string) llm.Model {
	inner := claude.Client(*c)
	return inner.Model(name)
}

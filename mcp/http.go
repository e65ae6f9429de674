package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpauth"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/text"
)

// maxDepth bounds how deep the JSON of a server may be nested: the SDK's decoder
// has no limit, and a stack that overflows ends the program.
const maxDepth = 1000

// maxValues bounds the values in a message: decoded, the smallest take a hundred
// times the room that they take in JSON.
const maxValues = 500_000

var errValues = fmt.Errorf("the answer has more than %d values; ask for less", maxValues)

// manyValues reports whether a JSON text has more than maxValues values.
func manyValues(text []byte) bool {
	var n nesting
	for _, c := range text {
		n.add(c)
	}
	return n.values > maxValues
}

// An authTransport makes the requests to a server: with the headers of its configuration,
// to its host only, with TLS if its URL has it. It bounds the answers.
type authTransport struct {
	base    http.RoundTripper
	headers map[string]string
	scheme  string
	host    string
	stop    context.Context // ends all requests
	auth    *mcpauth.Client // nil: no login
	refused atomic.Pointer[refusal]
}

// errElsewhere ends requests that a server sends to another host, or out of TLS.
var errElsewhere = errors.New("the server redirects to another host, or from https to http")

func (c *authTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != c.host || c.scheme == "https" && r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%w: %s", errElsewhere, text.Bytes(r.URL.Scheme+"://"+r.URL.Host, 200))
	}
	resp, err := c.authorized(r)
	if err != nil {
		return nil, err
	}
	if refused := refuses(resp); refused != nil {
		resp.Body.Close()
		c.refused.Store(refused)
		return nil, refused
	}
	return resp, nil
}

// send makes one request, with an access token if there is one.
func (c *authTransport) send(r *http.Request, token string) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	undo := context.AfterFunc(c.stop, cancel)
	end := func() {
		undo()
		cancel()
	}
	r = r.Clone(ctx)
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	refused := markSent(ctx)
	resp, err := c.base.RoundTrip(r)
	if err != nil {
		end()
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusUnauthorized {
		refused() // it has not looked at the call
	}
	b := &body{ReadCloser: resp.Body, end: end}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if b.events = kind == "text/event-stream"; !b.events {
		b.left = maxMessage
	}
	resp.Body = b
	return resp, nil
}

// A body is that of an answer. One that is too large or too deep cannot be read
// to its end. A stream of events may be of any length; the SDK bounds each.
type body struct {
	io.ReadCloser
	end    func()
	events bool
	left   int

	nesting
	line [len(dataField)]byte // the beginning of a stream's line
	read int                  // how much of it is there
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		if b.events && !b.data(c) {
			continue
		}
		if b.add(c); b.depth > maxDepth {
			return 0, fmt.Errorf("the answer is nested more than %d deep", maxDepth)
		}
		if b.values > maxValues {
			return 0, errValues
		}
	}
	if b.left -= n; !b.events && b.left < 0 {
		return 0, fmt.Errorf("the answer is larger than %d MB", maxMessage>>20)
	}
	return n, err
}

// data reports whether a byte of a stream is one of a message. All that is
// between two empty lines is one message.
func (b *body) data(c byte) bool {
	switch {
	case c == '\n':
		if b.read == 0 || b.read == 1 && b.line[0] == '\r' {
			b.nesting = nesting{}
		}
		b.read = 0
	case b.read < len(b.line):
		b.line[b.read] = c
		b.read++
	default:
		return string(b.line[:]) == dataField
	}
	return false
}

const dataField = "data:"

// nesting is how deep a place in a JSON text is, and how many values are before it.
type nesting struct {
	depth, values   int
	quoted, escaped bool
}

func (n *nesting) add(c byte) {
	switch {
	case n.escaped:
		n.escaped = false
	case n.quoted:
		n.escaped, n.quoted = c == '\\', c != '"'
	case c == '"':
		n.quoted = true
	case c == '{', c == '[':
		n.depth++
		n.values++
	case c == ',':
		n.values++
	case c == '}', c == ']':
		n.depth--
	}
}

func (b *body) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// remote returns the transport to a server on the network, and its HTTP transport.
func remote(stop context.Context, c Config, base http.RoundTripper, auth *mcpauth.Client) (sdk.Transport, *authTransport, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, nil, err
	}
	headers := c.Headers
	if c.kind() == mcpnames.ClaudeAIProxy {
		headers = map[string]string{"X-ClaudeAI-Server-ID": c.ID}
		for name, value := range c.Headers {
			headers[name] = value
		}
	}
	carries := &authTransport{base: base, headers: headers, scheme: u.Scheme, host: u.Host, stop: stop, auth: auth}
	client := &http.Client{Transport: carries}
	if c.kind() == mcpnames.SSE {
		return &sdk.SSEClientTransport{Endpoint: c.URL, HTTPClient: client, MaxEventSize: maxMessage}, carries, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, MaxEventSize: maxMessage}, carries, nil
}

// Package search has clients of search engines for the tool WebSearch: Brave, Tavily, Exa,
// SearXNG and DuckDuckGo.
//
//	engine := search.FromEnv() // nil if no variable of an engine is set
//	engine = search.Brave(search.Options{Key: key})
package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/openagent-go/agent/internal/web"
	"github.com/openagent-go/agent/internal/wire"
)

// A Query describes a search.
type Query struct {
	Text    string   // what is searched for
	Count   int      // of results wanted; 0: 8; at most 20
	Allowed []string // domains: only results from these and the domains below them; nil: from any
	Blocked []string // domains: no results from these and the domains below them
}

// A Hit is a result of a search. Its texts are plain, a line each.
type Hit struct {
	Title   string `json:"title"`             // of the page
	URL     string `json:"url"`               // http or https
	Snippet string `json:"snippet,omitempty"` // a part of the page; may be empty
	Date    string `json:"date,omitempty"`    // as the engine gives it
}

// A Client searches with one engine. It is safe for concurrent use and does not repeat
// failed requests. Its errors are that of ctx, or say which engine failed and why, without
// keys. The result of the tool WebSearch has the JSON of an error that is a json.Marshaler
// as its details: for the engines here engine, reason, status and retryAfterSeconds.
type Client interface {
	Search(ctx context.Context, q Query) ([]Hit, error) // returns what an engine finds
}

// Options are what clients have in common.
type Options struct {
	Key     string       // of the engine's API
	BaseURL string       // "": that of the engine
	HTTP    *http.Client // nil: http.DefaultClient
}

// A failure is an error that an engine reports. It never contains keys.
type failure struct {
	Engine     string        // its name
	Reason     string        // tells the program how to react
	Status     int           // of HTTP; 0 where there was no answer
	RetryAfter time.Duration // 0 if it was not said
	Message    string        // the engine's words
}

// Values of Reason.
const (
	noKey       = "no key"       // none was configured
	keyRefused  = "key refused"  // it is wrong or not entitled
	rateLimited = "rate limited" // or the quota is used up
	blocked     = "blocked"      // the engine takes the request for a robot's
	badAnswer   = "bad answer"   // it cannot be read, or is any other status
	unreachable = "unreachable"  // there was no answer
)

// MarshalJSON returns the details of the tool's result.
func (e *failure) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Engine     string  `json:"engine"`
		Reason     string  `json:"reason"`
		Status     int     `json:"status,omitempty"`
		RetryAfter float64 `json:"retryAfterSeconds,omitempty"`
	}{e.Engine, e.Reason, e.Status, e.RetryAfter.Seconds()})
}

// Error implements error.
func (e *failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "searching with %s: ", e.Engine)
	switch e.Reason {
	case noKey:
		b.WriteString("no key is configured")
	case keyRefused:
		b.WriteString("the key is refused")
	case rateLimited:
		b.WriteString("too many requests, or the quota is used up")
		if e.RetryAfter > 0 {
			fmt.Fprintf(&b, "; the next in %v", e.RetryAfter.Round(time.Second))
		}
	case blocked:
		b.WriteString("the request was taken for a robot's and refused")
	case badAnswer:
		b.WriteString("the answer is not usable")
	case unreachable:
		b.WriteString("no answer")
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// FromEnv returns a client of the first engine that the environment names by
// BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY or SEARXNG_URL, nil for none.
func FromEnv() Client {
	get := func(name string) string { return strings.TrimSpace(os.Getenv(name)) }
	if key := get("BRAVE_API_KEY"); key != "" {
		return &brave{Key: key}
	}
	if key := get("TAVILY_API_KEY"); key != "" {
		return &tavily{Key: key}
	}
	if key := get("EXA_API_KEY"); key != "" {
		return &exa{Key: key}
	}
	if base := get("SEARXNG_URL"); base != "" {
		return &searXNG{BaseURL: base}
	}
	return nil
}

const (
	defaultCount = 8
	searchTime   = 30 * time.Second
	maxAnswer    = 4 << 20 // bytes
	maxTitle     = 300     // bytes of each text of a hit
	maxSnippet   = 1000
	maxDate      = 40
	maxAddress   = 2000
	maxMessage   = 300
	maxOperands  = 8 // domains that are put into the text of a query
)

func (q Query) count() int {
	if q.Count <= 0 {
		return defaultCount
	}
	return min(q.Count, web.MaxHits)
}

// operators returns the text of the query with its domains as the operator "site:", which
// most engines understand. Results are filtered anyway.
func (q Query) operators() string {
	text := q.Text
	var sites []string
	for _, d := range q.Allowed[:min(len(q.Allowed), maxOperands)] {
		sites = append(sites, "site:"+domain(d))
	}
	if len(q.Allowed) <= maxOperands && len(sites) > 0 {
		text += " " + strings.Join(sites, " OR ")
	}
	for _, d := range q.Blocked[:min(len(q.Blocked), maxOperands)] {
		text += " -site:" + domain(d)
	}
	return text
}

// domain returns the name in a domain as a person or a model writes it:
// "https://Example.com/", "*.example.com" or "example.com".
func domain(d string) string {
	d = strings.ToLower(strings.TrimSpace(d))
	if _, rest, ok := strings.Cut(d, "://"); ok {
		d = rest
	}
	if i := strings.IndexAny(d, "/?#: \t\r\n"); i >= 0 {
		d = d[:i]
	}
	return strings.Trim(strings.TrimPrefix(d, "*."), ".")
}

func domains(list []string) []string {
	var out []string
	for _, d := range list {
		if d = domain(d); d != "" {
			out = append(out, d)
		}
	}
	return out
}

// within reports whether host is one of the domains or below one.
func within(host string, list []string) bool {
	return slices.ContainsFunc(list, func(d string) bool {
		d = domain(d)
		return d != "" && (host == d || strings.HasSuffix(host, "."+d))
	})
}

// Filter returns the results of found that the query wants, as a Client returns them: with
// usable addresses, within the domains, without repetitions, no more than wanted, their
// texts bounded and without HTML and control characters.
func (q Query) Filter(found []Hit) []Hit {
	var out []Hit
	seen := map[string]bool{}
	for _, h := range found {
		u, err := web.Parse(h.URL)
		if err != nil || len(h.URL) > maxAddress || seen[u.String()] || within(u.Hostname(), q.Blocked) ||
			len(q.Allowed) > 0 && !within(u.Hostname(), q.Allowed) {
			continue
		}
		seen[u.String()] = true
		h.URL = u.String()
		h.Title = wire.First(plain(h.Title, maxTitle), h.URL)
		h.Snippet = plain(h.Snippet, maxSnippet)
		h.Date = plain(h.Date, maxDate)
		if out = append(out, h); len(out) == q.count() {
			break
		}
	}
	return out
}

// plain returns a text that may have HTML in it as one line.
func plain(text string, limit int) string {
	text = text[:min(len(text), 64<<10)]
	if !strings.ContainsAny(text, "<&") {
		return web.Line(text, limit)
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return web.Line(b.String(), limit)
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}

// A call is one request to an engine.
type call struct {
	engine string
	client *http.Client
	base   string // "" for byDefault
	path   string
	key    string // is replaced in every error
	refuse func(status int, body []byte) (reason, message string)
}

// endpoint returns the address of the call with parameters.
func (c call) endpoint(byDefault string, params url.Values) (string, error) {
	u, err := url.Parse(wire.First(c.base, byDefault))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", &failure{Engine: c.engine, Reason: unreachable, Message: "the base URL is not usable"}
	}
	u = u.JoinPath(c.path)
	u.RawQuery = params.Encode()
	return u.String(), nil
}

// do sends a request and returns the body of a successful answer.
func (c call) do(ctx context.Context, method, address string, header http.Header, body string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, method, address, strings.NewReader(body))
	if err != nil {
		return nil, &failure{Engine: c.engine, Reason: unreachable, Message: "the base URL is not usable"}
	}
	req.Header = header
	req.Header.Set("User-Agent", "openagent-go")
	client := http.Client{}
	if c.client != nil {
		client = *c.client
	}
	// A redirect would carry query and key elsewhere.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Jar = nil
	resp, err := client.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(ctx, err)
	case resp.StatusCode != http.StatusOK:
		return nil, c.refusal(resp, data)
	case len(data) > maxAnswer:
		return nil, &failure{Engine: c.engine, Reason: badAnswer, Status: resp.StatusCode, Message: fmt.Sprintf("the answer is longer than %d MB", maxAnswer>>20)}
	}
	return data, nil
}

func (c call) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("searching with %s: %w", c.engine, ctx.Err())
	}
	e := &failure{Engine: c.engine, Reason: unreachable}
	var wrapped *url.Error // its text has the query in it
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = fmt.Sprintf("none within %v", searchTime)
	case errors.As(err, &wrapped):
		e.Message = c.words(wrapped.Err.Error())
	default:
		e.Message = c.words(err.Error())
	}
	return e
}

// refusal reads an answer that is not a success.
func (c call) refusal(resp *http.Response, body []byte) error {
	e := &failure{Engine: c.engine, Reason: badAnswer, Status: resp.StatusCode}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Reason = keyRefused
	case http.StatusTooManyRequests, http.StatusPaymentRequired:
		e.Reason = rateLimited
	}
	if c.refuse != nil {
		reason, message := c.refuse(resp.StatusCode, body)
		if reason != "" {
			e.Reason = reason
		}
		e.Message = c.words(message)
	}
	if e.Reason == rateLimited {
		e.RetryAfter = retryAfter(resp.Header)
	}
	return e
}

// words makes an engine's message fit to be shown.
func (c call) words(message string) string {
	if c.key != "" {
		message = strings.ReplaceAll(message, c.key, "***")
	}
	return plain(message, maxMessage)
}

func (c call) decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &failure{Engine: c.engine, Reason: badAnswer, Status: http.StatusOK, Message: "it is not the JSON expected"}
	}
	return nil
}

// retryAfter reads how long to wait: Retry-After in seconds or as a date, else
// the longest window of X-RateLimit-Reset whose X-RateLimit-Remaining is 0 (lists
// of seconds, as Brave sends them).
func retryAfter(h http.Header) time.Duration {
	if v := h.Get("Retry-After"); v != "" {
		if d, err := time.ParseDuration(v + "s"); err == nil {
			return min(max(d, 0), maxWait)
		}
		if at, err := http.ParseTime(v); err == nil {
			return min(max(time.Until(at), 0), maxWait)
		}
	}
	left := strings.Split(h.Get("X-RateLimit-Remaining"), ",")
	var wait time.Duration
	for i, v := range strings.Split(h.Get("X-RateLimit-Reset"), ",") {
		if i >= len(left) || strings.TrimSpace(left[i]) != "0" {
			continue
		}
		if d, err := time.ParseDuration(strings.TrimSpace(v) + "s"); err == nil {
			wait = max(wait, min(d, maxWait))
		}
	}
	return wait
}

const maxWait = 31 * 24 * time.Hour

// needKey returns the error for a client without a key.
func needKey(engine, key string) error {
	if strings.TrimSpace(key) == "" {
		return &failure{Engine: engine, Reason: noKey}
	}
	return nil
}

// header returns the headers that every request of JSON has, and one more.
func header(name, value string) http.Header {
	h := http.Header{"Accept": {"application/json"}}
	if name != "" {
		h.Set(name, value)
	}
	return h
}

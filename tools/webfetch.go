package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/openagent-go/agent/internal/web"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed webfetch.md
var webFetchText string

const (
	fetchTime    = 30 * time.Second
	fetchAgent   = "openagent-go"
	fetchAccepts = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5"
	maxPage      = 10 << 20 // bytes of a page that are read, after decompression
	maxRefusal   = 256 << 10
	maxHops      = 10
	keepPages    = 15 * time.Minute
	cachedPages  = 50 << 20 // bytes
)

// Web says how pages are fetched. The zero value is usable.
type Web struct {
	// HTTP is the client whose Transport makes the requests; its other fields are not
	// used. Nil: the default transport with the proxies of the environment. Of an
	// [*http.Transport] the dial functions are not used, because addresses are judged
	// when a connection is made. For another transport, and for a proxy, which look
	// names up by themselves, they are judged before the request.
	HTTP *http.Client
	// AllowPrivate lets pages of this machine (loopback) and of private networks be
	// fetched. Link-local addresses, multicast and the metadata services of clouds
	// are refused all the same.
	AllowPrivate bool
	Timeout      time.Duration // for a call, redirects included. 0: 30 s; negative: that of the tool
}

type fetchInput struct {
	URL    string `json:"url"`
	Prompt string `json:"prompt,omitempty"`
}

// WebFetch returns the tool that shows pages of the web. Its results have the
// question of the call as their Digest. Pages are kept for 15 minutes, 50 MB of
// them, by the tool returned.
func WebFetch(w Web) tool.Tool {
	f := newFetcher(w)
	return tool.New(tool.Spec{
		Name: "WebFetch", Title: "Fetch a web page", Description: webFetchText,
		ReadOnly: true, NonDestructive: true, Idempotent: true, OpenWorld: true,
	}, func(ctx context.Context, _ tool.Call, in fetchInput) (*tool.Result, error) {
		u, err := web.Parse(in.URL)
		if err != nil {
			return nil, &tool.InputError{Tool: "WebFetch", Problems: []string{err.Error()}}
		}
		return f.result(ctx, u, in.Prompt)
	}).OnClassify(func(_ tool.Call, in fetchInput) tool.Traits {
		target := in.URL
		if u, err := web.Parse(in.URL); err == nil {
			target = u.String() // rules see the host of the request, whatever its spelling
		}
		return tool.Traits{
			ReadOnly: true,
			Touches:  []string{target},
			Access:   []permission.Access{{Kind: permission.FetchURL, Target: target}},
		}
	})
}

// A fetcher fetches pages and keeps them.
type fetcher struct {
	client  http.Client
	timeout time.Duration
	pages   web.Cache[*fetched]
}

func newFetcher(w Web) *fetcher {
	var base http.RoundTripper
	if w.HTTP != nil {
		base = w.HTTP.Transport
	}
	guard := &web.Guard{Private: w.AllowPrivate}
	f := &fetcher{timeout: wire.Limit(w.Timeout, fetchTime)}
	f.client.Transport = guard.Transport(base)
	f.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	f.pages.Keep, f.pages.Size = keepPages, cachedPages
	return f
}

// A fetched page is the answer for a URL.
type fetched struct {
	final       *url.URL
	status      int
	contentType string
	bytes       int // as they were read
	truncated   bool
	moved       *url.URL // another host that the page is at
	title, text string
	media       llm.Blocks // an image or a document, instead of text
	refusal     string     // why it cannot be shown
}

func (p *fetched) size() int {
	n := 1024 + len(p.text)
	for _, b := range p.media {
		switch b := b.(type) {
		case llm.Image:
			n += len(b.Data)
		case llm.Document:
			n += len(b.Data)
		}
	}
	return n
}

func (f *fetcher) result(ctx context.Context, u *url.URL, prompt string) (*tool.Result, error) {
	if p, ok := f.pages.Get(u.String()); ok {
		return p.result(u, prompt, true), nil
	}
	tool.Progress(ctx, tool.Status{Text: "Fetching " + u.String()})
	limited := ctx
	if f.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	p, err := f.fetch(limited, u)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("fetching %s: %w", u, ctx.Err())
	case err != nil && limited.Err() != nil:
		return tool.Errorf("%s was not fetched: no complete answer within %v", u, f.timeout), tool.ErrTimeout
	case err != nil:
		return tool.Errorf("%s was not fetched: %s", u, explainFetch(err)), nil
	}
	if p.status/100 == 2 && p.refusal == "" {
		f.pages.Put(u.String(), p, p.size())
	}
	return p.result(u, prompt, false), nil
}

// explainFetch words the error of a request for the model.
func explainFetch(err error) string {
	var refused *web.RefusedError
	if errors.As(err, &refused) {
		if refused.Private {
			return refused.Error() + ", and the configuration does not allow those"
		}
		return refused.Error()
	}
	var wrapped *url.Error // its text repeats the URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return web.Line(err.Error(), 500)
}

// fetch asks for a page and for those that it redirects to on the same host.
func (f *fetcher) fetch(ctx context.Context, u *url.URL) (*fetched, error) {
	for range maxHops + 1 {
		p, next, err := f.hop(ctx, u)
		if err != nil || next == nil {
			return p, err
		}
		u = next
	}
	return nil, fmt.Errorf("more than %d redirects", maxHops)
}

// hop asks for one page; next is where it redirects to.
func (f *fetcher) hop(ctx context.Context, u *url.URL) (p *fetched, next *url.URL, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("User-Agent", fetchAgent)
	req.Header.Set("Accept", fetchAccepts)
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if next, err = redirect(u, resp); err != nil {
		return nil, nil, err
	}
	switch {
	case next == nil:
		p, err = readPage(ctx, u, resp)
		return p, nil, err
	case !sameSite(u, next):
		return &fetched{final: u, status: resp.StatusCode, moved: next}, nil, nil
	}
	return nil, next, nil
}

// redirect returns where an answer sends its reader, nil for nowhere.
func redirect(from *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	to, err := from.Parse(location)
	if err == nil {
		to, err = web.Normal(to)
	}
	if err != nil {
		return nil, fmt.Errorf("it redirects to an address that is not fetched: %w", err)
	}
	return to, nil
}

// sameSite reports whether a redirect is followed: to the same server, or from
// http to https on the same host.
func sameSite(from, to *url.URL) bool {
	if from.Scheme == to.Scheme {
		return from.Host == to.Host
	}
	return to.Scheme == "https" && from.Port() == "" && to.Port() == "" && from.Host == to.Host
}

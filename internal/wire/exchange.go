package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/internal/tokens"
	"github.com/openagent-go/agent/llm"
)

const (
	// MaxReply is the most bytes read of one reply, decompressed. A stream of small events
	// is many times as long as its content.
	MaxReply = 64 << 20
	// maxWhole is the most bytes read of a reply that is not streamed.
	maxWhole = 32 << 20
	// maxErrorBody is the most bytes read of the body of an error.
	maxErrorBody = 64 << 10
	// maxMessage is the most bytes of the provider's words in an error.
	maxMessage = 2000
	// drainTime is how long Close waits for the end of a complete reply, so that its
	// connection can be reused.
	drainTime = 20 * time.Millisecond
)

// An Exchange is one POST of JSON to a provider. Durations of 0 or less mean no limit.
type Exchange struct {
	Provider string
	HTTP     *http.Client // nil: http.DefaultClient
	URL      string
	Header   http.Header
	Body     [][]byte      // sent one after the other
	Headers  time.Duration // until the reply's header arrives
	Idle     time.Duration // between two pieces of the reply
	Total    time.Duration // for all of it
	// Explain reads the body of an error. It returns the provider's type and words. class
	// is "" unless they say more than the status.
	Explain func(status int, header http.Header, body []byte) (class llm.Class, kind, message string)
	// Authorize, unless nil, adds the credentials to a request that is otherwise complete.
	// It can read the body with GetBody. If the provider refuses the credentials, it is
	// called once more with again set, to get new ones. Its time limit is that of a header.
	Authorize func(req *http.Request, again bool) error

	limiter pace.Limiter
	call    pace.Call
}

// bound makes the exchange wait for a limiter before it is sent. Time limits do not run
// during that wait. A nil limiter does nothing.
func (x *Exchange) bound(l pace.Limiter, model string, req *llm.Request) {
	if l == nil {
		return
	}
	in, size := req.Estimate(), 0
	if len(req.Tools) > 0 {
		in += tokens.ClaudeTools
	}
	for _, piece := range x.Body {
		size += len(piece)
	}
	x.limiter, x.call = l, pace.Call{Host: Host(x.URL), Model: model, Input: in, Most: size/2 + tokens.ClaudeTools, Output: req.MaxTokens}
}

// ErrSame is returned by Exchange.Authorize if it has no other credentials.
var ErrSame = errors.New("there are no other credentials")

// A lapse is the reason why an exchange ended before the caller wanted it to.
type lapse struct{ text string }

func (l *lapse) Error() string { return l.text }

// Do sends the request and returns the reply once its header reports success. Its errors
// are those of [Reply.Fail]. It follows redirects only within the same host, so no other
// host gets the key or the prompt.
func (x *Exchange) Do(parent context.Context) (*Reply, error) {
	r, err := x.do(parent, false)
	if api := (*llm.APIError)(nil); x.Authorize != nil && errors.As(err, &api) && api.Class == llm.Auth && api.Status != 0 && api.Status != http.StatusProxyAuthRequired {
		other, err2 := x.do(parent, true)
		if !errors.Is(err2, ErrSame) {
			return other, err2
		}
	}
	return r, err
}

func (x *Exchange) do(parent context.Context, again bool) (*Reply, error) {
	var permit pace.Permit
	if x.limiter != nil {
		var err error
		if permit, err = x.limiter.Wait(parent, x.call); err != nil {
			return nil, x.refused(err)
		}
	}
	r := &Reply{x: x, parent: parent, secrets: Secrets(x.URL, x.Header), permit: permit}
	r.ctx, r.cancel = context.WithCancelCause(parent)
	r.after(x.Total, "no complete reply within %v")
	req, err := r.request(again)
	if err != nil {
		r.Close(false)
		return nil, err
	}
	headers := r.after(x.Headers, "no reply within %v")
	if err := r.send(req); err != nil {
		r.Close(false)
		return nil, err
	}
	if headers != nil {
		headers.Stop()
	}
	return r, nil
}

// request returns the request, with its credentials.
func (r *Reply) request(again bool) (*http.Request, error) {
	x := r.x
	size := int64(0)
	for _, piece := range x.Body {
		size += int64(len(piece))
	}
	req, err := http.NewRequestWithContext(r.ctx, http.MethodPost, x.URL, &pieces{all: x.Body})
	if err != nil {
		return nil, &llm.APIError{Class: llm.Invalid, Provider: x.Provider, RetryAfter: -1,
			Message: "the base URL is not usable: " + Mask(innermost(err).Error(), r.secrets)}
	}
	req.Header = x.Header
	req.ContentLength = size
	req.GetBody = func() (io.ReadCloser, error) { return &pieces{all: x.Body}, nil }
	if x.Authorize == nil {
		return req, nil
	}
	limit := r.after(x.Headers, "no credentials within %v")
	err = x.Authorize(req, again)
	if limit != nil {
		limit.Stop()
	}
	r.secrets = append(r.secrets, Secrets(x.URL, req.Header)...)
	if err != nil {
		return nil, r.unauthorized(err)
	}
	return req, nil
}

func (r *Reply) send(req *http.Request) error {
	x := r.x
	client := http.Client{}
	if x.HTTP != nil {
		client = *x.HTTP
	}
	client.CheckRedirect = sameHost
	resp, err := client.Do(req)
	if err != nil {
		return r.Fail(err, llm.Network)
	}
	r.body, r.Header = resp.Body, resp.Header
	if r.permit != nil {
		r.permit.Answered(resp.StatusCode, resp.Header, r.retryAfter())
	}
	r.RequestID = requestID(resp.Header)
	if x.Idle > 0 {
		r.idle = r.after(x.Idle, "no data for %v")
	}
	r.buffer = bufio.NewReaderSize(countingReader{r}, 4<<10)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		r.used = &llm.Usage{} // nothing
		return r.refusal(resp)
	}
	// The transport decompresses what it asked for itself, and removes the header.
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return r.Error(llmconst.Protocol, "the reply is encoded in a way that was not asked for: "+coding)
	}
	return nil
}

// sameHost lets a POST follow up to three redirects to the same host.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	same := req.URL.Host == from.Host && req.URL.Scheme == from.Scheme ||
		req.URL.Hostname() == from.Hostname() && from.Scheme == "http" && req.URL.Scheme == "https"
	if !same || req.Method != http.MethodPost || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// pieces reads byte slices one after the other without joining them.
type pieces struct {
	all   [][]byte
	at, n int // all[:at] and all[at][:n] are read
}

func (p *pieces) Read(b []byte) (int, error) {
	total := 0
	for p.at < len(p.all) && total < len(b) {
		n := copy(b[total:], p.all[p.at][p.n:])
		total, p.n = total+n, p.n+n
		if p.n == len(p.all[p.at]) {
			p.at, p.n = p.at+1, 0
		}
	}
	if total == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return total, nil
}

func (p *pieces) Close() error { return nil }

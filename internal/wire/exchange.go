package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/limit"
)

const (
	// MaxReply bounds the bytes that are read of one reply.
	MaxReply = 64 << 20
	// maxErrorBody bounds what is read of the body of an error.
	maxErrorBody = 64 << 10
	// maxMessage bounds the provider's words in an error.
	maxMessage = 2000
	// drainTime is how long closing waits for the end of a reply that is complete,
	// so that its connection can be used again.
	drainTime = 20 * time.Millisecond
)

// An Exchange is one POST of JSON to a provider. Durations of 0 or less mean no limit.
type Exchange struct {
	Provider string
	HTTP     *http.Client // nil: http.DefaultClient
	URL      string
	Header   http.Header
	Body     [][]byte      // sent one after the other
	Headers  time.Duration // until the reply's header is there
	Idle     time.Duration // between two pieces of the reply
	Total    time.Duration // for all of it
	// Explain reads the body of an error: type and words of the provider, and the
	// class where these say more than the status; else "".
	Explain func(status int, header http.Header, body []byte) (class llm.Class, kind, message string)
	// Authorize, unless nil, puts the credentials on a request that is complete
	// without them; its body can be read by GetBody. When the provider refuses them
	// it is called once more, with again set, for fresh ones. The time that it takes
	// is bounded as that of a header is.
	Authorize func(req *http.Request, again bool) error

	limiter *limit.Limiter
	call    limit.Call
}

// bound has the exchange wait for a limiter before it is sent, for as long as that
// takes: no time limit counts meanwhile. A nil limiter binds nothing.
func (x *Exchange) bound(l *limit.Limiter, model string, req *llm.Request) {
	if l == nil {
		return
	}
	in, size := req.Estimate(), 0
	if len(req.Tools) > 0 {
		in += llm.ClaudeToolsTokens
	}
	for _, piece := range x.Body {
		size += len(piece)
	}
	x.limiter, x.call = l, limit.Call{Host: Host(x.URL), Model: model, Input: in, Most: size/2 + llm.ClaudeToolsTokens, Output: req.MaxTokens}
}

// A Reply is a successful answer. It must be closed.
type Reply struct {
	Header http.Header
	// RequestID is the provider's id of the request.
	RequestID string

	x         *Exchange
	parent    context.Context
	ctx       context.Context
	cancel    context.CancelCauseFunc
	timers    []*time.Timer
	idle      *time.Timer
	body      io.ReadCloser
	buffer    *bufio.Reader
	mediaType string
	read      int64
	secrets   []string
	permit    limit.Permit
	used      *llm.Usage // nil: not known
}

// ErrSame is what an Exchange's Authorize returns when it is asked for other
// credentials and has none.
var ErrSame = errors.New("there are no other credentials")

// A lapse is the reason why an exchange ended before the caller wanted it to.
type lapse struct{ text string }

func (l *lapse) Error() string { return l.text }

// Do sends the request and returns the reply once its header says success. Its
// errors are those of [Reply.Fail]. It follows redirects within the same host
// only, so that neither key nor prompt reach another one.
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
	permit, err := x.limiter.Wait(parent, x.call)
	if err != nil {
		return nil, x.refused(err)
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

// refused names the provider in a limiter's error.
func (x *Exchange) refused(err error) error {
	var api *llm.APIError
	if errors.As(err, &api) {
		e := *api
		e.Provider = x.Provider
		return &e
	}
	return err
}

// spent says what the request has used, as far as it is known, for the limiter. It is
// called before Close.
func (r *Reply) spent(u llm.Usage) {
	if r.x.limiter != nil && u != (llm.Usage{}) {
		r.used = &u
	}
}

// after ends the exchange when d is over.
func (r *Reply) after(d time.Duration, format string) *time.Timer {
	if d <= 0 {
		return nil
	}
	t := time.AfterFunc(d, func() { r.cancel(&lapse{fmt.Sprintf(format, d)}) })
	r.timers = append(r.timers, t)
	return t
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

// unauthorized says what it means that there are no credentials.
func (r *Reply) unauthorized(err error) error {
	var l *lapse
	if ended := r.parent.Err(); ended != nil {
		return ended
	}
	if errors.As(context.Cause(r.ctx), &l) {
		return r.Error(llm.Timeout, l.text)
	}
	if errors.Is(err, ErrSame) {
		return err
	}
	if api := (*llm.APIError)(nil); errors.As(err, &api) {
		e := *api
		e.Provider, e.Message = r.x.Provider, clean(e.Message, r.secrets)
		return &e
	}
	e := r.Error(llm.Auth, err.Error())
	e.Err = masked(err, r.secrets)
	return e
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
	if x.limiter != nil {
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
	// The transport undoes the compression that it asks for, and takes the header away.
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return r.Error(llm.Protocol, "the reply is encoded in a way that was not asked for: "+coding)
	}
	return nil
}

// sameHost lets a POST follow a redirect to the same host, at most thrice.
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

// countingReader reads the body under the idle timer and up to MaxReply.
type countingReader struct{ r *Reply }

func (c countingReader) Read(p []byte) (int, error) {
	r := c.r
	if r.read >= MaxReply {
		return 0, &llm.APIError{Class: llm.Protocol, Message: fmt.Sprintf("the reply is larger than %d MB", MaxReply>>20)}
	}
	if r.idle != nil {
		r.idle.Reset(r.x.Idle)
	}
	n, err := r.body.Read(p[:min(int64(len(p)), MaxReply-r.read)])
	if r.idle != nil {
		r.idle.Stop()
	}
	r.read += int64(n)
	return n, err
}

// Read reads the body.
func (r *Reply) Read(p []byte) (int, error) { return r.buffer.Read(p) }

// SetIdle changes how long Read waits for the next piece.
func (r *Reply) SetIdle(d time.Duration) {
	if d > 0 && (r.x.Idle <= 0 || d < r.x.Idle) {
		x := *r.x
		x.Idle = d
		r.x = &x
		if r.idle == nil {
			r.idle = r.after(d, "no data for %v")
		}
	}
}

// First waits for the first byte that is not white space and returns it
// without reading it; 0 if there is none.
func (r *Reply) First() byte {
	for n := 1; n <= 4<<10; n++ {
		head, err := r.buffer.Peek(n)
		if len(head) < n {
			return 0
		}
		if c := head[n-1]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		if err != nil {
			return 0
		}
	}
	return 0
}

// Cancelled reports whether the caller's context has ended.
func (r *Reply) Cancelled() bool { return r.parent.Err() != nil }

// media returns the type of the reply's content.
func (r *Reply) media() string {
	if r.mediaType == "" {
		r.mediaType, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
	}
	return r.mediaType
}

// Page returns an error if the reply is a web page, as captive portals and
// proxies send it with status 200.
func (r *Reply) Page() error {
	media := r.media()
	if media == "text/html" || media == "application/xhtml+xml" || r.First() == '<' {
		return r.Error(llm.Protocol, "a web page instead of a reply: is there a proxy or portal in between?")
	}
	return nil
}

// Error returns an APIError of this exchange.
func (r *Reply) Error(class llm.Class, message string) *llm.APIError {
	return &llm.APIError{Class: class, Provider: r.x.Provider, Message: clean(message, r.secrets), RequestID: r.RequestID, RetryAfter: -1}
}

// Fail says what err, met while sending or reading, means to the caller: ctx's
// own error if that ended, else an [*llm.APIError], of the class given when err
// itself does not say.
func (r *Reply) Fail(err error, class llm.Class) error {
	if ended := r.parent.Err(); ended != nil {
		return ended
	}
	var l *lapse
	if errors.As(context.Cause(r.ctx), &l) {
		return r.Error(llm.Timeout, l.text)
	}
	var api *llm.APIError
	if errors.As(err, &api) {
		e := *api
		e.Provider, e.RequestID, e.RetryAfter = r.x.Provider, r.RequestID, -1
		return &e
	}
	err = innermost(err)
	e := r.Error(class, err.Error())
	e.Err = masked(err, r.secrets)
	var timeout net.Error
	switch {
	case isTLS(err) || r.body == nil && isAlert(err) || strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		e.Class = llm.TLS
	case strings.Contains(err.Error(), "Proxy Authentication Required"):
		e.Class = llm.Auth
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Class = llm.Timeout
	}
	return e
}

// innermost strips the layers that repeat the URL, which may hold credentials.
func innermost(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}

func isTLS(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// isAlert reports whether err is what one side of a TLS connection has against
// the other. Before a reply it is about the handshake; later the line may be bad.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// refusal makes an error of a reply whose status is not a success.
func (r *Reply) refusal(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(r, maxErrorBody))
	if ended := r.parent.Err(); err != nil && ended != nil {
		return ended
	}
	e := r.Error(ClassOf(resp.StatusCode), "")
	e.Status = resp.StatusCode
	e.RetryAfter = r.retryAfter()
	switch text := strings.TrimSpace(string(body)); {
	case resp.StatusCode < 400:
		e.Message = "redirected to another place: the base URL is wrong"
		if u, err := resp.Location(); err == nil {
			e.Message = clean(fmt.Sprintf("redirected to %s://%s: the base URL is wrong", u.Scheme, u.Host), r.secrets)
		}
	case strings.HasPrefix(text, "<"):
		e.Message = "a web page instead of an error: " + http.StatusText(resp.StatusCode)
	case text == "":
		e.Message = http.StatusText(resp.StatusCode)
	default:
		class, kind, message := r.x.Explain(resp.StatusCode, resp.Header, body)
		if class != "" {
			e.Class = class
		}
		if class == llm.ServerError && resp.StatusCode < 500 {
			e.Status = 0 // it is about the answer, not the request
		}
		if message == "" {
			message = text
		}
		e.Type, e.Message = clean(kind, r.secrets), clean(message, r.secrets)
		if e.RetryAfter < 0 {
			e.RetryAfter = retryDelay(body)
		}
	}
	return e
}

// retryDelay returns the time in a google.rpc.RetryInfo, -1 if there is none:
// Google has no header for it.
func retryDelay(body []byte) time.Duration {
	_, rest, _ := bytes.Cut(body, []byte(`"retryDelay"`))
	_, rest, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return -1
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	d, err := time.ParseDuration(string(value))
	if err != nil || d < 0 {
		return -1
	}
	return d
}

// ClassOf returns the class of an HTTP status.
func ClassOf(status int) llm.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return llm.Auth
	case http.StatusPaymentRequired:
		return llm.Billing
	case http.StatusForbidden:
		return llm.Forbidden
	case http.StatusNotFound:
		return llm.NotFound
	case http.StatusRequestTimeout:
		return llm.Timeout
	case http.StatusRequestEntityTooLarge:
		return llm.TooLarge
	case http.StatusTooManyRequests:
		return llm.RateLimit
	case http.StatusServiceUnavailable, 529:
		return llm.Overloaded
	}
	if status >= 500 {
		return llm.ServerError
	}
	return llm.Invalid
}

// clean masks s, cuts it and takes the control characters out.
func clean(s string, secrets []string) string {
	s = Mask(s, secrets)
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + " …"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")))
}

// requestID returns the id under which the provider can find the request.
func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "Apim-Request-Id", "X-Amzn-Requestid", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return clean(id[:min(len(id), 200)], nil)
		}
	}
	return ""
}

// retryAfter returns how long the provider asks to wait, negative if it does not.
func (r *Reply) retryAfter() time.Duration {
	if d, ok := seconds(r.Header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := strings.TrimSpace(r.Header.Get("Retry-After"))
	if d, ok := seconds(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return -1
}

// seconds reads a number of units. An absurd one is a hundred years.
func seconds(s string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		return 0, false
	}
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(min(f*float64(unit), float64(most))), true
}

// Close ends the exchange. Where the reply is known to be complete, it waits a
// moment for its end so that the connection can be used again.
func (r *Reply) Close(complete bool) {
	if r.body != nil {
		if complete {
			r.SetIdle(drainTime)
			_, _ = io.CopyN(io.Discard, r, 16<<10)
		}
		_ = r.body.Close()
	}
	for _, t := range r.timers {
		t.Stop()
	}
	r.cancel(nil)
	r.permit.Done(r.used)
}

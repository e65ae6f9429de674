package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
)

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
	permit    pace.Permit // nil: no limiter
	used      *llm.Usage  // nil: not known
}

// spent reports the usage of the request to the limiter, as far as it is known. Call it
// before Close.
func (r *Reply) spent(u llm.Usage) {
	if r.x.limiter != nil && u != (llm.Usage{}) {
		r.used = &u
	}
}

// after returns a timer that ends the exchange when d is over.
func (r *Reply) after(d time.Duration, format string) *time.Timer {
	if d <= 0 {
		return nil
	}
	t := time.AfterFunc(d, func() { r.cancel(&lapse{fmt.Sprintf(format, d)}) })
	r.timers = append(r.timers, t)
	return t
}

// countingReader reads the body with the idle timer running, up to MaxReply.
type countingReader struct{ r *Reply }

func (c countingReader) Read(p []byte) (int, error) {
	r := c.r
	if r.read >= MaxReply {
		return 0, &llm.APIError{Class: llmconst.Oversized, Message: fmt.Sprintf("the reply is larger than %d MB", MaxReply>>20)}
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

// First waits for the first byte that is not white space, and returns it without consuming
// it. It returns 0 if there is none.
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

// Page returns an error if the reply is a web page. Captive portals and proxies send one
// with status 200.
func (r *Reply) Page() error {
	media := r.media()
	if media == "text/html" || media == "application/xhtml+xml" || r.First() == '<' {
		return r.Error(llmconst.Protocol, "a web page instead of a reply: is there a proxy or portal in between?")
	}
	return nil
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

// seconds reads a number of units as a duration, limited to a hundred years.
func seconds(s string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		return 0, false
	}
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(min(f*float64(unit), float64(most))), true
}

// Close ends the exchange. If the reply is known to be complete, it waits a moment for its
// end, so that the connection can be reused.
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
	if r.permit != nil {
		r.permit.Done(r.used)
	}
}

// Package pace is between the clients of models and the limiter of their requests, which is
// in package llm/limit. A program that uses no limiter does not link one.
package pace

import (
	"context"
	"net/http"
	"time"

	"github.com/openagent-go/agent/llm"
)

// A Limiter decides when a client sends a request.
type Limiter interface {
	// Wait waits until a call may be sent.
	Wait(ctx context.Context, c Call) (Permit, error)
}

// A Permit is the leave to send a request.
type Permit interface {
	// Answered must be called with the header of the reply.
	Answered(status int, h http.Header, retryAfter time.Duration)
	// Done must be called at the end of the reply. Nil: the usage is unknown.
	Done(u *llm.Usage)
}

// A Call is a request that is to be sent.
type Call struct {
	Host   string // of the provider
	Model  string
	Input  int // tokens, estimated
	Most   int // largest possible input tokens: used until an answer's usage has shown how good the estimates are; 0: Input
	Output int // most tokens of the answer
}

// Waiting describes the wait of a request.
type Waiting struct {
	Host, Model string
	Reason      Reason
	Ahead       int           // requests that are served first
	Least       time.Duration // that it will take, as far as it is known
}

// A Reason is the reason for a wait.
type Reason string

const (
	ForRequests Reason = "requests"      // of the minute are used up
	ForInput    Reason = "input_tokens"  // likewise
	ForOutput   Reason = "output_tokens" // likewise
	ForTokens   Reason = "tokens"        // likewise
	ForHold     Reason = "retry_after"   // the provider has refused one, and said how long
	ForPlace    Reason = "concurrent"    // as many as may are under way
	ForLimits   Reason = "first_reply"   // nothing is known of the limits yet
)

// A NoticeFunc is called when a request must wait. It returns a function that is called
// when the wait is over.
type NoticeFunc func(context.Context, Waiting) (done func())

type noticeKey struct{}

// NoticeKey is the key of the [NoticeFunc] among a context's values.
var NoticeKey any = noticeKey{}

// WithNotice returns a context whose requests tell fn when they have to wait.
func WithNotice(ctx context.Context, fn NoticeFunc) context.Context {
	return context.WithValue(ctx, NoticeKey, fn)
}

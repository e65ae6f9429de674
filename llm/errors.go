package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
)

// A Class is the kind of failure of an [APIError], independent of the provider's words.
// Clients of this module have more classes than the constants: protocol, not_found,
// too_large, billing, oversized_answer, tls and unavailable.
type Class string

const (
	RateLimit   Class = "rate_limit"       // 429
	Overloaded  Class = "overloaded"       // 529, 503
	ServerError Class = "server_error"     // 500, 502, 504
	Network     Class = "network"          // no connection, or it broke
	Timeout     Class = "timeout"          // no progress in time
	Truncated   Class = "truncated"        // the stream ended without a final event
	Auth        Class = "authentication"   // 401
	Forbidden   Class = "permission"       // 403
	Invalid     Class = "invalid_request"  // 400 and other 4xx
	TooLong     Class = "context_overflow" // the prompt exceeds the context window
	OverQuota   Class = "over_quota"       // the call does not fit the caller's own quota
)

// Sentinels for errors.Is on an [*APIError].
var (
	ErrRateLimited = errors.New("rate limited")
	ErrUnavailable = errors.New("model unavailable")       // network, overload, server failure
	ErrAuth        = errors.New("credentials refused")     // 401, 403
	ErrOverflow    = errors.New("context window exceeded") // prompt too long
	ErrTruncated   = errors.New("reply truncated")
	ErrOversized   = errors.New("answer too large") // above 12 MB, or 2,000 texts, thoughts and calls
)

// An APIError is a failed call to a model.
type APIError struct {
	Class      Class         // what went wrong; it decides whether the call is tried again
	Provider   string        // anthropic, openai …
	Status     int           // HTTP status, 0 if there was none
	Type       string        // the provider's error type or code
	Message    string        // the provider's words, keys masked
	RequestID  string        //
	RetryAfter time.Duration // as the provider asked; negative or 0: it did not say, and the agent chooses the pause
	Err        error         // the cause, if any
}

// Error names provider, status, type, words and request.
func (e *APIError) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	if e.Class == OverQuota && e.Message != "" {
		return e.Message // the words of the quota say all
	}
	b.WriteString(string(e.Class))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" [request " + e.RequestID + "]")
	}
	return b.String()
}

// Unwrap returns Err.
func (e *APIError) Unwrap() error { return e.Err }

// Is matches the sentinels of this package.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrRateLimited:
		return e.Class == RateLimit
	case ErrUnavailable:
		switch e.Class {
		case Network, Timeout, Overloaded, ServerError, llmconst.Unavailable:
			return true
		}
	case ErrAuth:
		return e.Class == Auth || e.Class == Forbidden
	case ErrOverflow:
		return e.Class == TooLong
	case ErrTruncated:
		return e.Class == Truncated
	case ErrOversized:
		return e.Class == llmconst.Oversized
	}
	return false
}

// Retryable reports whether the same request may succeed later.
func (e *APIError) Retryable() bool {
	switch e.Class {
	case RateLimit, Overloaded, ServerError, Network, Timeout, Truncated, llmconst.Protocol:
		return true
	}
	return false
}

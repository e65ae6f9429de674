package llmtest

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/openagent-go/agent/internal/httptape"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// fault is the providers' answer with a status. Source: wire rule A54 and OpenAI's
// documentation of error codes.
type fault struct {
	class      llm.Class
	kind       string // Anthropic's error type
	openaiKind string
	code       string // OpenAI's error code
	message    string
}

const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
)

var faults = map[int]fault{
	400: {llm.Invalid, invalidRequest, invalidRequest, "", "The request is invalid."},
	401: {llm.Auth, "authentication_error", invalidRequest, "invalid_api_key", "invalid x-api-key"},
	402: {llmconst.Billing, "billing_error", "insufficient_quota", "insufficient_quota", "Your credit balance is too low to access the API."},
	403: {llm.Forbidden, "permission_error", invalidRequest, "", "Your API key does not have permission to use the specified resource."},
	404: {llmconst.NotFound, "not_found_error", invalidRequest, "model_not_found", "The requested resource could not be found."},
	411: {llm.Invalid, invalidRequest, invalidRequest, "", "Content-Length is required."},
	413: {llmconst.TooLarge, "request_too_large", invalidRequest, "", "Request exceeds the maximum allowed number of bytes."},
	429: {llm.RateLimit, "rate_limit_error", "requests", "rate_limit_exceeded", "This request would exceed your rate limit."},
	500: {llm.ServerError, "api_error", serverError, "", "Internal server error"},
	503: {llm.Overloaded, "overloaded_error", serverError, "", "Service unavailable"},
	529: {llm.Overloaded, "overloaded_error", serverError, "", "Overloaded"},
}

// faultOf returns the fault of a status, also of one that is not in the table.
func faultOf(status int) fault {
	if f, ok := faults[status]; ok {
		return f
	}
	f := faults[400]
	if status >= 500 {
		f = faults[500]
	}
	f.message = http.StatusText(status)
	return f
}

// classStatus is the status of a class. Those that are missing have none: no reply comes.
var classStatus = map[llm.Class]int{
	llm.RateLimit: 429, llm.Overloaded: 529, llm.ServerError: 500, llm.Auth: 401, llm.Forbidden: 403, llmconst.NotFound: 404,
	llm.Invalid: 400, llmconst.TooLarge: 413, llm.TooLong: 400, llmconst.Billing: 402, llmconst.Unavailable: 503, llmconst.Protocol: 500,
}

const (
	tooLongMessage = "prompt is too long: 214431 tokens > 200000 maximum"
	tooLongCode    = "context_length_exceeded"
)

// A refusal is a failure as the wire shows it.
type refusal struct {
	status  int    // 0: no reply comes
	kind    string // default: the provider's for the status
	code    string // likewise
	param   string
	message string
	header  http.Header
	rules   []string
}

// fails reports whether the step is a failure and not an answer.
func (s Step) fails() bool {
	return (s.Err != nil || s.Status >= 400) && s.Raw == nil && (s.Cut != cutError || s.CutAfter <= 0)
}

// refusal returns the step's failure for the wire, from Status and Err.
func (s Step) refusal() refusal {
	r := refusal{status: s.Status, header: s.Header.Clone()}
	if r.header == nil {
		r.header = http.Header{}
	}
	var e *llm.APIError
	if errors.As(s.Err, &e) {
		r.status = cmp.Or(s.Status, e.Status, classStatus[e.Class])
		r.kind, r.message = e.Type, e.Message
		var wrong *httptape.MismatchError
		if errors.As(e.Err, &wrong) {
			r.message = wrong.Error() // says that it is no provider that refuses
		}
		if e.Class == llm.TooLong {
			r.message, r.code = cmp.Or(r.message, tooLongMessage), tooLongCode
		}
		if e.RetryAfter > 0 && r.header.Get("Retry-After") == "" {
			r.header.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
		}
	} else if s.Err != nil {
		other := http.StatusBadRequest
		if s.CutAfter > 0 { // in a stream it is the provider that fails
			other = http.StatusInternalServerError
		}
		r.status, r.message = cmp.Or(s.Status, other), s.Err.Error()
	}
	return r
}

// failure returns the step's failure in process: Err, or the error that a client makes of
// Status.
func (s Step) failure() error {
	if s.Err != nil {
		return s.Err
	}
	f := faultOf(s.Status)
	e := &llm.APIError{Class: f.class, Provider: provider, Status: s.Status, Type: f.kind, Message: f.message, RetryAfter: -1}
	if n, err := strconv.Atoi(s.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	return e
}

// cutFailure returns the error of a [Model] at the cut of a step.
func (s Step) cutFailure() error {
	e := &llm.APIError{Class: llm.Truncated, Provider: provider, Message: "the stream ended without a final event", RetryAfter: -1}
	switch {
	case s.CutAfter < 0 || s.Cut == cutReset:
		e.Class, e.Message = llm.Network, "connection reset"
	case s.Cut == cutError && s.Err != nil:
		return s.Err
	case s.Cut == cutError:
		return Step{Status: cmp.Or(s.Status, 529)}.failure()
	case s.Cut == cutGarbage:
		e.Class, e.Message = llmconst.Protocol, "an event is not JSON"
	}
	return e
}

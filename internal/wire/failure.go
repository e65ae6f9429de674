package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

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

// unauthorized returns the error for missing credentials.
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

// Error returns an APIError of this exchange.
//
//go:noinline // called from many places: every program stays smaller
func (r *Reply) Error(class llm.Class, message string) *llm.APIError {
	return &llm.APIError{Class: class, Provider: r.x.Provider, Message: clean(message, r.secrets), RequestID: r.RequestID, RetryAfter: -1}
}

// Fail turns an error of sending or reading into the caller's error. If ctx has ended, it
// returns ctx's own error. Otherwise it returns an [*llm.APIError], of the given class
// unless err has its own.
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
		e.Class = llmconst.TLS
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

// isAlert reports whether err is a TLS alert. Before a reply, it is about the handshake.
// Later, the connection may be faulty.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// refusal returns the error for a reply whose status is not a success.
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

// retryDelay returns the time in a google.rpc.RetryInfo, -1 if there is none: Google has no
// header for it.
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
//
//go:noinline // called from many places: every program stays smaller
func ClassOf(status int) llm.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return llm.Auth
	case http.StatusPaymentRequired:
		return llmconst.Billing
	case http.StatusForbidden:
		return llm.Forbidden
	case http.StatusNotFound:
		return llmconst.NotFound
	case http.StatusRequestTimeout:
		return llm.Timeout
	case http.StatusRequestEntityTooLarge:
		return llmconst.TooLarge
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

// clean masks secrets in s, shortens it and makes it one line that is safe for a terminal.
func clean(s string, secrets []string) string {
	s = strings.NewReplacer("\n", " ", "\t", " ").Replace(Mask(s, secrets))
	return strings.TrimSpace(text.Bytes(terminal.Text(s), maxMessage))
}

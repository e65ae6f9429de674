package mcpauth

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/web"
)

const (
	maxAnswer   = 1 << 20 // bytes
	requestTime = 20 * time.Second
)

// client makes requests to authorisation servers. They do not reach private
// networks, unless the MCP server is in one.
func (c *Client) client(ctx context.Context) (*http.Client, error) {
	u, err := url.Parse(c.Server)
	if err != nil {
		return nil, errors.New("the server's URL cannot be read")
	}
	var refused *web.RefusedError
	private := errors.As((&web.Guard{}).Judge(ctx, u.Hostname()), &refused) && refused.Private
	guard := &web.Guard{Private: private}
	return &http.Client{Transport: bounded{guard.Transport(c.Transport)}, Timeout: requestTime,
		// Posted data holds secrets. Only requests for documents follow redirects, by the
		// SDK's own rules.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// documents is client for requests that may be redirected: the SDK sets its rules if there
// are none.
func (c *Client) documents(ctx context.Context) (*http.Client, error) {
	h, err := c.client(ctx)
	if err != nil {
		return nil, err
	}
	h.CheckRedirect = nil
	return h, nil
}

// bounded reads answers to their end before anybody else sees them: decoders of
// the SDK have no limit of depth, that of Valid is 10,000 levels.
type bounded struct{ base http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxAnswer:
		return nil, fmt.Errorf("the answer is larger than %d KB", maxAnswer>>10)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" && !json.Valid(data) {
		return nil, errors.New("the answer is not JSON, or nested too deep")
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// An answerError is the error that an authorisation server answers with (RFC 6749,
// 5.2; RFC 7591, 3.2.2).
type answerError struct {
	status int
	code   string // as in invalid_grant; "" where it gave none
	text   string
}

func (e *answerError) Error() string {
	switch {
	case e.code == "":
		return fmt.Sprintf("the authorisation server answered with status %d", e.status)
	case e.text == "":
		return "the authorisation server answered " + e.code
	}
	return fmt.Sprintf("the authorisation server answered %s: %s", e.code, e.text)
}

// final reports whether an error says that a login is of no use any more.
func final(err error) bool {
	var e *answerError
	return errors.As(err, &e) && (e.code == "invalid_grant" || e.code == "invalid_client" || e.code == "unauthorized_client")
}

// post sends a request with secrets and reads the answer into out. Values in hide are
// removed from errors.
func (c *Client) post(ctx context.Context, r *http.Request, out any, hide ...string) error {
	h, err := c.client(ctx)
	if err != nil {
		return err
	}
	if err := secure(r.URL.String()); err != nil {
		return fmt.Errorf("%s %w", line(r.URL.Host), err)
	}
	resp, err := h.Do(r)
	if err != nil {
		return within(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body) // bounded
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := &answerError{status: resp.StatusCode}
		var said struct {
			Code string `json:"error"`
			Text string `json:"error_description"`
		}
		if json.Unmarshal(data, &said) == nil {
			basic, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Basic ")
			hide = append(hide, basic)
			e.code, e.text = line(without(said.Code, hide)), line(without(said.Text, hide))
		}
		return e
	}
	if out == nil {
		return nil
	}
	if json.Unmarshal(data, out) != nil { // the error might quote the answer
		return errors.New("the authorisation server's answer cannot be read")
	}
	return nil
}

// within returns the cause of a failed request, without its URL.
func within(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// line is a foreign text on one line, cut.
func line(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || !unicode.IsPrint(r) }), " ")
	return text.Runes(s, 300)
}

// without returns s with *** in the place of the secrets, also where they are escaped
// for a URL or encoded in base64.
func without(s string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			coded := base64.StdEncoding.EncodeToString([]byte(secret))
			s = strings.NewReplacer(secret, "***", url.QueryEscape(secret), "***", coded, "***").Replace(s)
		}
	}
	return s
}

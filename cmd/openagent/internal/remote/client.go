// Package remote is a client of the API of openagent serve: see docs/serve.md.
//
//	c := &remote.Client{URL: "http://127.0.0.1:4777", Token: token}
//	err := c.Watch(ctx, id, 0, func(u remote.Update) { … })
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A Client sends requests to one server. Fill in the fields. It is safe for concurrent use.
type Client struct {
	URL   string // without a slash at the end
	Token string
	// Trusted returns an error if the address may belong to another program now: the token is not
	// sent then. Nil: it never does.
	Trusted func() error

	newer atomic.Bool // the server has sent an event that this program does not know
}

// Newer reports whether the server has sent something that this program does not know.
func (c *Client) Newer() bool { return c.newer.Load() }

const (
	maxAnswer    = 64 << 20  // bytes of an answer
	maxExport    = 256 << 20 // bytes of an export
	requestLimit = time.Minute
)

// An Error is the answer to a request that the server has refused.
type Error struct {
	Status              int
	Code, Message, Hint string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// IsCode reports whether the server has refused a request for a reason.
func IsCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// errForeign is the error of an answer that no server of this API gives.
var errForeign = errors.New("the answer is not one of openagent serve; check the address, and that both are of the same version")

// transport does not follow a redirect, which could carry the token elsewhere.
var transport = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// request sends a request. The caller closes the body of the answer.
func (c *Client) request(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	if c.Trusted != nil {
		if err := c.Trusted(); err != nil {
			return nil, err
		}
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := transport.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("%s does not answer: %w", c.URL, err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	var failure struct{ Error *Error }
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: reading the answer: %w", c.URL, err)
	}
	known := json.Unmarshal(b, &failure) == nil && failure.Error != nil && failure.Error.Code != ""
	switch {
	case known:
	case res.StatusCode >= http.StatusInternalServerError: // a proxy whose server is away
		return nil, fmt.Errorf("%s answers with status %d", c.URL, res.StatusCode)
	default:
		return nil, fmt.Errorf("%s answers with status %d: %w", c.URL, res.StatusCode, errForeign)
	}
	failure.Error.Status = res.StatusCode
	return nil, failure.Error
}

// ask sends a request and reads the answer into out.
func (c *Client) ask(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	res, err := c.request(ctx, method, path, in, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := c.body(res, maxAnswer)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") || out != nil && json.Unmarshal(b, out) != nil {
		return fmt.Errorf("%s %s: %w", method, c.URL+path, errForeign)
	}
	return nil
}

// body reads an answer of at most so many bytes.
func (c *Client) body(res *http.Response, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: reading the answer: %w", c.URL, err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("%s: the answer is larger than %d MB", c.URL, limit>>20)
	}
	return b, nil
}

// Check returns an error if the server does not work, or has another API.
func (c *Client) Check(ctx context.Context) error {
	var health struct {
		OK  bool
		API int
	}
	if err := c.ask(ctx, http.MethodGet, "/v1/health", nil, &health); err != nil {
		return err
	}
	if health.API != 1 {
		return fmt.Errorf("%s has version %d of the API, and this program needs version 1; use the same version of openagent for both", c.URL, health.API)
	}
	return nil
}

// An Info describes a session.
type Info struct {
	session.Info
	Here bool   `json:"here"` // the server has it open
	Mode string `json:"mode"` // if it is open there
}

// Sessions lists the sessions, the one changed last first.
func (c *Client) Sessions(ctx context.Context) ([]Info, error) {
	var list struct{ Sessions []Info }
	err := c.ask(ctx, http.MethodGet, "/v1/sessions?limit=500", nil, &list)
	return list.Sessions, err
}

// Session describes one session.
func (c *Client) Session(ctx context.Context, id string) (Info, error) {
	var i Info
	err := c.ask(ctx, http.MethodGet, at(id, ""), nil, &i)
	return i, err
}

func at(id, what string) string { return "/v1/sessions/" + url.PathEscape(id) + what }

// A Message for a session.
type Message struct {
	ID       string     `json:"id"`
	Text     string     `json:"text"`
	Blocks   llm.Blocks `json:"blocks,omitempty"` // images
	Delivery string     `json:"delivery"`         // prompt, steer or follow_up
	Model    string     `json:"model,omitempty"`
}

// Send sends a message. It can be sent again: the server knows its id.
func (c *Client) Send(ctx context.Context, id string, m Message) error {
	return c.ask(ctx, http.MethodPost, at(id, "/messages"), m, nil)
}

// Interrupt stops the run. It returns the ids of messages that the model will not see.
func (c *Client) Interrupt(ctx context.Context, id string) ([]string, error) {
	var out struct{ Cleared []string }
	err := c.ask(ctx, http.MethodPost, at(id, "/interrupt"), struct{}{}, &out)
	return out.Cleared, err
}

// Resume continues a run that has no end.
func (c *Client) Resume(ctx context.Context, id string) error {
	return c.ask(ctx, http.MethodPost, at(id, "/resume"), struct{}{}, nil)
}

// Compact summarises the conversation.
func (c *Client) Compact(ctx context.Context, id, instructions string) error {
	return c.ask(ctx, http.MethodPost, at(id, "/compact"), map[string]string{"instructions": instructions}, nil)
}

// A FileChange is a change that a rewind makes.
type FileChange struct{ Path, Kind, Diff string }

// Rewind brings the conversation, the files, or both back to what they were after a fact. A dry run
// only says which files would change.
func (c *Client) Rewind(ctx context.Context, id string, fact int64, what string, dry bool) ([]FileChange, error) {
	var out struct{ Changes []FileChange }
	err := c.ask(ctx, http.MethodPost, at(id, "/rewind"), map[string]any{"fact": fact, "what": what, "dry_run": dry}, &out)
	return out.Changes, err
}

// Change changes a field of the session: title, mode or budget_usd.
func (c *Client) Change(ctx context.Context, id, field string, value any) error {
	return c.ask(ctx, http.MethodPatch, at(id, ""), map[string]any{field: value}, nil)
}

// Spent is the cost of the runs so far.
type Spent struct {
	USD    *float64 // nil: a price is not known
	Runs   int
	Turns  int
	Models map[string]event.Spending
}

// Cost returns the cost of the session.
func (c *Client) Cost(ctx context.Context, id string) (Spent, error) {
	var s Spent
	err := c.ask(ctx, http.MethodGet, at(id, "/cost"), nil, &s)
	return s, err
}

// Export returns the conversation as a file: html, markdown or json.
func (c *Client) Export(ctx context.Context, id, format string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	res, err := c.request(ctx, http.MethodGet, at(id, "/export?format="+format), nil, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return c.body(res, maxExport)
}

// Context reads the size of the next request into out.
func (c *Client) Context(ctx context.Context, id string, out any) error {
	return c.ask(ctx, http.MethodGet, at(id, "/context"), nil, out)
}

// A Question is a call that waits for a person.
type Question struct {
	Call      string
	Kind      string // permission or question
	Agent     string
	Tool      string
	Input     json.RawMessage
	Text      string // why it is asked
	Preview   string
	Widths    []permission.Suggestion
	Risks     []rules.Risk
	Questions []tool.Question
}

// Pending returns the open questions.
func (c *Client) Pending(ctx context.Context, id string) ([]Question, error) {
	var list struct{ Questions []Question }
	err := c.ask(ctx, http.MethodGet, at(id, "/pending"), nil, &list)
	return list.Questions, err
}

// A Decision answers a permission question.
type Decision struct {
	Behavior string            `json:"behavior"` // allow or deny
	Reason   string            `json:"reason,omitempty"`
	Input    json.RawMessage   `json:"input,omitempty"`
	Keep     []permission.Rule `json:"keep,omitempty"` // rules for the session: those of a width
}

// Decide answers a permission question.
func (c *Client) Decide(ctx context.Context, id, call string, d Decision) error {
	return c.ask(ctx, http.MethodPost, at(id, "/calls/"+url.PathEscape(call)+"/decision"), d, nil)
}

// Answer answers the questions of a call.
func (c *Client) Answer(ctx context.Context, id, call string, answers []tool.Answer) error {
	return c.ask(ctx, http.MethodPost, at(id, "/calls/"+url.PathEscape(call)+"/answers"), map[string]any{"answers": answers}, nil)
}

// events decodes events. It passes over those that this program does not know: their server is newer.
func (c *Client) events(list []json.RawMessage) []event.Event {
	var out []event.Event
	for _, raw := range list {
		var e event.Event
		if json.Unmarshal(raw, &e) != nil {
			c.newer.Store(true)
			continue
		}
		out = append(out, e)
	}
	return out
}

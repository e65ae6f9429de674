//lint:file-ignore SA1019 Logging, sampling and roots are deprecated in the newest version of the protocol; clients of the others have them.

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/toolschema"
	"github.com/openagent-go/agent/tool"
)

// newest is the first version of the protocol in which servers send no requests: a question
// is the result of a call, which the client then makes again.
const newest = "2026-07-28"

// A Client is who makes a call. It is of use until the call ends, and safe for
// concurrent use.
type Client struct {
	session      *session
	capabilities sdk.ClientCapabilities
	tool         tool.Tool

	asking sync.Mutex // held while a question waits: clients get one at a time
	ask    func(context.Context, sdk.InputRequestMap) (sdk.InputResponseMap, error)

	mu   sync.Mutex
	ctx  context.Context // of the request that is answered now
	req  *sdk.CallToolRequest
	bars *progress
}

// Session identifies the client's session: random, the same for all its calls.
func (c *Client) Session() string { return c.session.id }

// Tool returns the tool that is called.
func (c *Client) Tool() tool.Tool { return c.tool }

// Capabilities are the capabilities that the client has declared.
func (c *Client) Capabilities() sdk.ClientCapabilities { return c.capabilities }

// ErrNobody is matched by the error for a question that the client cannot put to
// anybody.
var ErrNobody = errors.New("the client does not support such questions")

// An Answer is the answer to a question.
type Answer struct {
	Action  string         // accept, decline, or cancel
	Content map[string]any // with accept: it fits the schema
}

// Elicit puts a question to the client's person. The schema is that of a flat
// object. The error matches [ErrNobody] where the client knows no such questions.
func (c *Client) Elicit(ctx context.Context, message string, schema json.RawMessage) (Answer, error) {
	if e := c.capabilities.Elicitation; e == nil || e.Form == nil && e.URL != nil {
		return Answer{}, ErrNobody
	}
	const key = "answer"
	got, err := c.Ask(ctx, sdk.InputRequestMap{key: &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema}})
	if err != nil {
		return Answer{}, err
	}
	r := got[key].(*sdk.ElicitResult) // Ask has seen to that
	return Answer{r.Action, r.Content}, nil
}

// Ask has the client answer requests: to elicit, to sample, or for its roots,
// each by a name of the caller's. All are answered, as their kinds demand, or
// there is an error.
func (c *Client) Ask(ctx context.Context, requests sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, r := range requests {
		if e, ok := r.(*sdk.ElicitParams); ok && e.RequestedSchema != nil {
			if _, err := readForm(e.RequestedSchema); err != nil {
				return nil, fmt.Errorf("asking the client: %w", err)
			}
		}
	}
	return c.ask(ctx, requests)
}

// request asks a client that takes requests.
func (c *Client) request(ctx context.Context, requests sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	answers := sdk.InputResponseMap{}
	for key, r := range requests {
		var a sdk.InputResponse
		var err error
		switch r := r.(type) {
		case *sdk.ElicitParams:
			a, err = c.req.Session.Elicit(ctx, r)
		case *sdk.CreateMessageParams:
			a, err = c.req.Session.CreateMessage(ctx, r)
		case *sdk.ListRootsParams:
			a, err = c.req.Session.ListRoots(ctx, r)
		default:
			err = fmt.Errorf("%T is not a request to a client", r)
		}
		if err != nil {
			return nil, fmt.Errorf("asking the client: %w", err)
		}
		answers[key] = a
	}
	return answers, nil
}

// check reports why an answer does not fit its request.
func check(request sdk.InputRequest, answer sdk.InputResponse) error {
	switch r := request.(type) {
	case *sdk.ElicitParams:
		a, ok := answer.(*sdk.ElicitResult)
		if !ok {
			return errors.New("the answer does not fit elicitation/create")
		}
		if a.Action != "accept" {
			return nil
		}
		return checkForm(r.RequestedSchema, a.Content)
	case *sdk.CreateMessageParams:
		switch answer.(type) {
		case *sdk.CreateMessageResult, *sdk.CreateMessageWithToolsResult:
			return nil
		}
		return errors.New("the answer does not fit sampling/createMessage")
	case *sdk.ListRootsParams:
		if _, ok := answer.(*sdk.ListRootsResult); !ok {
			return errors.New("the answer does not fit roots/list")
		}
	}
	return nil
}

// readForm reads the schema of a question. A bad one must not reach the MCP library, which
// would check the answer by it.
func readForm(schema any) (*toolschema.Resolved, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	resolved, err := toolschema.ResolveJSON(data)
	if err != nil {
		return nil, fmt.Errorf("the schema of the question %w", err)
	}
	return resolved, nil
}

func checkForm(schema any, content map[string]any) error {
	resolved, err := readForm(schema)
	if err != nil {
		return err
	}
	if content == nil {
		content = map[string]any{}
	}
	return resolved.Validate(content)
}

// Logger writes to the client, from the level on that it has set.
func (c *Client) Logger() *slog.Logger {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slog.New(bound{sdk.NewLoggingHandler(c.req.Session, nil), c.ctx})
}

// bound is a handler in the context of a request: messages go where its answer goes.
type bound struct {
	slog.Handler
	ctx context.Context
}

func (b bound) Enabled(_ context.Context, l slog.Level) bool { return b.Handler.Enabled(b.ctx, l) }

func (b bound) Handle(_ context.Context, r slog.Record) error { return b.Handler.Handle(b.ctx, r) }

func (b bound) WithAttrs(a []slog.Attr) slog.Handler { return bound{b.Handler.WithAttrs(a), b.ctx} }

func (b bound) WithGroup(name string) slog.Handler { return bound{b.Handler.WithGroup(name), b.ctx} }

package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/openagent-go/agent/internal/text"
)

// maxLine is the length in bytes of the longest message that is read.
const maxLine = 64 << 20

// The codes of errors.
const (
	ParseError       = -32700
	InvalidRequest   = -32600
	MethodNotFound   = -32601
	InvalidParams    = -32602
	InternalError    = -32603
	RequestCancelled = -32800
	AuthRequired     = -32000
	ResourceNotFound = -32002
)

// An Error is an answer that says why a request failed.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an error with a code.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrClosed is the error of requests to a client that has gone.
var ErrClosed = errors.New("the client has closed the connection")

// A Request is a request or a notification of the client.
type Request struct {
	ID     json.RawMessage // nil for a notification
	Method string
	Params json.RawMessage
}

// Decode reads the parameters. The error is for the client.
func (r Request) Decode(to any) error {
	params := r.Params
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, to); err != nil {
		return Errorf(InvalidParams, "%s: %v", r.Method, text.JSONMismatch(err, "params"))
	}
	return nil
}

// An Accept begins the work on a request. It is called for one request after another, in the order
// in which they came, and must return soon. The rest is done by the function that it returns, in a
// goroutine of its own. Nil: nothing is left to do, and the answer is empty.
type Accept func(Request) (rest func(ctx context.Context) (any, error), err error)

// A Later is a result that something follows: After is called when the result has been written.
type Later struct {
	Result any
	After  func()
}

// A Conn is a connection: a JSON object a line in each direction.
type Conn struct {
	writing sync.Mutex // held while a line is written
	w       io.Writer
	line    bytes.Buffer
	encode  *json.Encoder
	broken  error // writing has failed

	mu      sync.Mutex
	last    int64
	asked   map[string]chan answer        // requests to the client, by id
	begun   map[string]context.CancelFunc // requests of the client, by id
	closed  bool
	serving sync.WaitGroup
}

type answer struct {
	result json.RawMessage
	err    error
}

// NewConn returns a connection that writes to w.
func NewConn(w io.Writer) *Conn {
	c := &Conn{w: w, asked: map[string]chan answer{}, begun: map[string]context.CancelFunc{}}
	c.encode = json.NewEncoder(&c.line)
	c.encode.SetEscapeHTML(false)
	return c
}

type (
	outNotification struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	outUpdate struct {
		JSONRPC string        `json:"jsonrpc"`
		Method  string        `json:"method"`
		Params  SessionUpdate `json:"params"`
	}
	outRequest struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int64  `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	outResult struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
	outError struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *Error          `json:"error"`
	}
	// cancelRequest are the parameters of $/cancel_request.
	cancelRequest struct {
		ID json.RawMessage `json:"requestId"`
	}
)

// write writes a message. Once writing has failed, it drops all.
func (c *Conn) write(message any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.broken != nil {
		return c.broken
	}
	c.line.Reset()
	if err := c.encode.Encode(message); err != nil {
		return err
	}
	if _, err := c.w.Write(c.line.Bytes()); err != nil {
		c.broken = fmt.Errorf("writing to the client: %w", err)
	}
	if c.line.Cap() > 1<<20 {
		c.line = bytes.Buffer{}
	}
	return c.broken
}

// Update sends an update of a session. The error says that the client has gone.
func (c *Conn) Update(session string, update any) error {
	return c.write(&outUpdate{"2.0", "session/update", SessionUpdate{session, update}})
}

// Call sends a request and waits for its answer. If ctx ends first, it tells the client.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	answers := make(chan answer, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.last++
	id := c.last
	key := strconv.FormatInt(id, 10)
	c.asked[key] = answers
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, key)
		c.mu.Unlock()
	}()
	if err := c.write(outRequest{"2.0", id, method, params}); err != nil {
		return errors.Join(ErrClosed, err)
	}
	select {
	case a := <-answers:
		if a.err != nil {
			return a.err
		}
		if err := json.Unmarshal(a.result, result); err != nil {
			return fmt.Errorf("the client's answer to %s: %w", method, text.JSONMismatch(err, "the result"))
		}
		return nil
	case <-ctx.Done():
		_ = c.write(outNotification{"2.0", "$/cancel_request", cancelRequest{json.RawMessage(key)}})
		return ctx.Err()
	}
}

// Serve reads requests until the input ends. It returns nil at its end, and waits for no request.
func (c *Conn) Serve(ctx context.Context, r io.Reader, accept Accept) error {
	defer c.hangUp()
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, tooLong, err := readLine(lines)
		switch {
		case tooLong:
			c.fail(nil, Errorf(ParseError, "the message is longer than %d MB", maxLine>>20))
		case len(bytes.TrimSpace(line)) > 0:
			c.take(ctx, line, accept)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hangUp ends the requests to the client that wait.
func (c *Conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, answers := range c.asked {
		select {
		case answers <- answer{err: ErrClosed}:
		default: // it has an answer
		}
	}
}

// Wait waits until all requests of the client are answered.
func (c *Conn) Wait() { c.serving.Wait() }

// readLine reads a line. It passes over one that is too long.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// take handles a line.
func (c *Conn) take(ctx context.Context, line []byte, accept Accept) {
	var in struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}
	if !json.Valid(line) {
		c.fail(nil, Errorf(ParseError, "the line is not JSON"))
		return
	}
	err := json.Unmarshal(line, &in)
	id := idOf(in.ID)
	switch {
	case err != nil, in.ID != nil && id == nil:
		c.fail(id, Errorf(InvalidRequest, "the line is not a JSON-RPC message"))
	case in.Method != nil && in.ID == nil:
		c.notified(Request{Method: *in.Method, Params: in.Params}, accept)
	case in.Method != nil:
		c.requested(ctx, Request{id, *in.Method, in.Params}, accept)
	case in.ID != nil && (in.Result != nil || in.Error != nil):
		c.answered(id, in.Result, in.Error)
	default:
		c.fail(id, Errorf(InvalidRequest, "the message has no method"))
	}
}

// idOf returns an id: a string or a number, or null. It returns nil for anything else.
func idOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') && string(raw) != "null" {
		return nil
	}
	return raw
}

func (c *Conn) fail(id json.RawMessage, e *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = c.write(outError{"2.0", id, e}) // the end of the input ends a client that has gone
}

// answered passes an answer of the client on.
func (c *Conn) answered(id, result json.RawMessage, e *Error) {
	c.mu.Lock()
	answers := c.asked[string(id)]
	delete(c.asked, string(id))
	c.mu.Unlock()
	switch {
	case answers == nil: // nobody waits for it any more
	case e != nil:
		answers <- answer{err: fmt.Errorf("the client refuses: %w", e)}
	default:
		answers <- answer{result: result}
	}
}

// notified handles a notification. It has no answer, so errors are dropped.
func (c *Conn) notified(r Request, accept Accept) {
	if r.Method == "$/cancel_request" {
		var in cancelRequest
		if r.Decode(&in) == nil {
			c.mu.Lock()
			cancel := c.begun[string(in.ID)]
			c.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
		return
	}
	rest, err := guard(func() (func(context.Context) (any, error), error) { return accept(r) })
	if err == nil && rest != nil {
		c.serving.Go(func() { _, _ = guard(func() (any, error) { return rest(context.Background()) }) })
	}
}

// requested handles a request.
func (c *Conn) requested(ctx context.Context, r Request, accept Accept) {
	rest, err := guard(func() (func(context.Context) (any, error), error) { return accept(r) })
	if err != nil || rest == nil {
		c.answer(r.ID, struct{}{}, err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.begun[string(r.ID)] = cancel
	c.mu.Unlock()
	c.serving.Go(func() {
		result, err := guard(func() (any, error) { return rest(ctx) })
		if err != nil && ctx.Err() != nil {
			err = Errorf(RequestCancelled, "the request was cancelled")
		}
		c.mu.Lock()
		delete(c.begun, string(r.ID))
		c.mu.Unlock()
		cancel()
		c.answer(r.ID, result, err)
	})
}

// answer answers a request.
func (c *Conn) answer(id json.RawMessage, result any, err error) {
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = Errorf(InternalError, "%v", err)
		}
		c.fail(id, e)
		return
	}
	later, _ := result.(Later)
	if later.Result != nil {
		result = later.Result
	}
	if c.write(outResult{"2.0", id, result}) == nil && later.After != nil {
		later.After()
	}
}

// guard turns a panic into an error.
func guard[T any](do func() (T, error)) (result T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Errorf(InternalError, "panic: %v", v)
		}
	}()
	return do()
}

package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Codes of errors: JSON-RPC 2.0, and section "Response Message" of the
// specification for those of the protocol.
const (
	codeMethodNotFound  = -32601
	codeServerCancelled = -32802
	codeContentModified = -32801
)

// maxQueued is how many messages wait for a server that does not read.
const maxQueued = 256

// A ResponseError is a server's answer to a request that failed.
type ResponseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *ResponseError) Error() string { return e.Message }

// errClosed is why a connection ends that is closed from here.
var errClosed = errors.New("the connection was closed")

// message is a request, a notification (no id) or a response (no method).
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *ResponseError  `json:"error,omitempty"`
}

// A handler handles the server's own requests and notifications. It is called by one
// goroutine and must not block.
type handler interface {
	request(method string, params json.RawMessage) (any, *ResponseError)
	notification(method string, params json.RawMessage)
}

// conn is one end of a JSON-RPC 2.0 connection. One goroutine reads, one writes.
type conn struct {
	handler handler
	queue   chan []byte
	ended   chan struct{} // closed: nothing is sent or answered any more
	working sync.WaitGroup

	mu      sync.Mutex
	err     error // why it ended
	lastID  int
	pending map[string]chan message // by id, each with room for its answer
	in      io.Closer
	out     io.Closer
}

// newConn begins to read messages from in and to write to out, until it fails.
func newConn(in io.ReadCloser, out io.WriteCloser, h handler) *conn {
	c := &conn{
		handler: h,
		queue:   make(chan []byte, maxQueued),
		ended:   make(chan struct{}),
		pending: map[string]chan message{},
		in:      in,
		out:     out,
	}
	c.working.Go(func() { c.read(in) })
	c.working.Go(func() { c.write(out) })
	return c
}

// fail ends the connection; the first reason stays.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.ended)
	c.in.Close()
	c.out.Close()
}

// reason returns why the connection ended.
func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) read(in io.Reader) {
	r := bufio.NewReaderSize(in, maxHeader)
	for {
		content, err := readFrame(r)
		if err != nil {
			c.fail(err)
			return
		}
		var m message
		if err := json.Unmarshal(content, &m); err != nil {
			c.fail(fmt.Errorf("reading a message: %w", err))
			return
		}
		switch {
		case m.Method == "":
			c.answered(m)
		case m.ID == nil:
			c.handler.notification(m.Method, m.Params)
		default:
			c.answer(m)
		}
	}
}

func (c *conn) write(out io.Writer) {
	for {
		select {
		case content := <-c.queue:
			if err := writeFrame(out, content); err != nil {
				c.fail(fmt.Errorf("writing a message: %w", err))
				return
			}
		case <-c.ended:
			return
		}
	}
}

// answered passes a response to the caller that waits for it. There may be none: the
// request was cancelled.
func (c *conn) answered(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, ok := c.pending[string(m.ID)]; ok {
		delete(c.pending, string(m.ID))
		waiting <- m
	}
}

// answer answers a request of the server.
func (c *conn) answer(m message) {
	result, failure := c.handler.request(m.Method, m.Params)
	reply := message{ID: m.ID, Error: failure}
	if failure == nil {
		reply.Result = encode(result)
	}
	// Waiting here could wait for ever: for a server that waits for us to read.
	if !c.offer(encodeMessage(reply)) {
		c.fail(errors.New("the server does not read its input"))
	}
}

// offer queues a message if there is room.
func (c *conn) offer(content []byte) bool {
	select {
	case c.queue <- content:
		return true
	case <-c.ended:
		return true // no caller waits for it
	default:
		return false
	}
}

func (c *conn) send(ctx context.Context, m message) error {
	select {
	case <-c.ended:
		return c.reason()
	default:
	}
	select {
	case c.queue <- encodeMessage(m):
		return nil
	case <-c.ended:
		return c.reason()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notify sends a notification. params becomes JSON.
func (c *conn) notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, message{Method: method, Params: encode(params)})
}

// call sends a request, waits for the answer and decodes it into result. If ctx ends first,
// the server gets a cancellation. A request whose answer says that the content changed in
// the meantime is sent again.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	const attempts = 5
	data := encode(params)
	for attempt := 1; ; attempt++ {
		answer, err := c.ask(ctx, method, data)
		if err != nil {
			return err
		}
		if e := answer.Error; e != nil {
			if (e.Code == codeContentModified || e.Code == codeServerCancelled) && attempt < attempts {
				if err := pause(ctx, retryPause); err != nil {
					return err
				}
				continue
			}
			return e
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(answer.Result, result); err != nil && len(answer.Result) > 0 {
			return fmt.Errorf("reading the answer to %s: %w", method, err)
		}
		return nil
	}
}

func (c *conn) ask(ctx context.Context, method string, params json.RawMessage) (message, error) {
	waiting := make(chan message, 1)
	c.mu.Lock()
	c.lastID++
	id := string(encode(c.lastID))
	c.pending[id] = waiting
	c.mu.Unlock()
	forget := func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}
	if err := c.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: params}); err != nil {
		forget()
		return message{}, err
	}
	select {
	case m := <-waiting:
		return m, nil
	case <-c.ended:
		forget()
		return message{}, c.reason()
	case <-ctx.Done():
		forget()
		// A server that does not read now will see the cancellation later.
		c.offer(encodeMessage(message{Method: "$/cancelRequest", Params: encode(map[string]json.RawMessage{"id": json.RawMessage(id)})}))
		return message{}, context.Cause(ctx)
	}
}

func encodeMessage(m message) []byte {
	m.Version = "2.0"
	return encode(m)
}

// encode returns v, a value of ours, as JSON.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // v holds nothing that JSON does not have
	}
	return data
}

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcphost"
)

// A hosted transport carries the messages of a server within the program that drives this one. That
// program has no probe for the newest protocol, so the probe is answered here.
type hosted struct {
	name string
	dial mcphost.Dial
	conn mcphost.Conn

	in      chan jsonrpc.Message
	closing sync.Once
	closed  chan struct{}
	pumped  chan struct{} // closed: nothing more comes from conn
}

func newHosted(name string, dial mcphost.Dial) *hosted {
	return &hosted{name: name, dial: dial, in: make(chan jsonrpc.Message), closed: make(chan struct{}), pumped: make(chan struct{})}
}

// Connect begins a connection. It lives until Close.
func (h *hosted) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := h.dial(ctx, h.name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotStarted, err)
	}
	h.conn = conn
	go h.pump()
	return h, nil
}

// pump passes messages on until the connection ends. One that is no message is passed over.
func (h *hosted) pump() {
	defer close(h.pumped)
	for {
		data, err := h.conn.Read(context.Background())
		if err != nil {
			return
		}
		if m, err := hostedMessage(data); err == nil && !h.deliver(m) {
			return
		}
	}
}

func (h *hosted) deliver(m jsonrpc.Message) bool {
	select {
	case h.in <- m:
		return true
	case <-h.closed:
		return false
	}
}

// Read returns the next message.
func (h *hosted) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-h.in:
		return m, nil
	case <-h.pumped:
		return nil, io.EOF
	case <-h.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hostedMessage decodes a message within the limits of servers.
func hostedMessage(data []byte) (jsonrpc.Message, error) {
	if len(data) > maxMessage || !json.Valid(data) {
		return nil, errors.New("it is not a message")
	}
	if len(data) > maxValues && manyValues(data) {
		return nil, errValues
	}
	return jsonrpc.DecodeMessage(data)
}

// Write sends a message.
func (h *hosted) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == methodDiscover {
		go h.deliver(undiscovered(r.ID))
		return nil
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	markSent(ctx)
	return h.conn.Write(ctx, data)
}

// Close ends the connection.
func (h *hosted) Close() (err error) {
	h.closing.Do(func() {
		close(h.closed)
		if h.conn != nil {
			err = h.conn.Close()
		}
	})
	return err
}

// SessionID is empty: a connection is one session.
func (h *hosted) SessionID() string { return "" }

package streamjson

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/mcphost"
)

// A hostConn is the connection to an MCP server within the host. Its messages are control requests.
type hostConn struct {
	d    *Session
	name string
	live context.Context
	end  context.CancelFunc

	mu       sync.Mutex
	messages []json.RawMessage
	came     chan struct{} // has room for one
}

// maxHosted is the number of messages of a server that may wait.
const maxHosted = 1024

// mcpRequest is the control request mcp_message.
type mcpRequest struct {
	Subtype string          `json:"subtype"`
	Server  string          `json:"server_name"`
	Message json.RawMessage `json:"message"`
}

// dial connects to a server within the host.
func (d *Session) dial(_ context.Context, name string) (mcphost.Conn, error) {
	c := &hostConn{d: d, name: name, came: make(chan struct{}, 1)}
	c.live, c.end = context.WithCancel(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hosted[name] = c
	return c, nil
}

// Write sends a message to the server. The answer to a call comes to Read.
func (c *hostConn) Write(_ context.Context, message json.RawMessage) error {
	if c.live.Err() != nil {
		return io.ErrClosedPipe
	}
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(message, &head); err != nil {
		return fmt.Errorf("encoding a message for the server %s: %w", c.name, err)
	}
	answer := c.d.send(mcpRequest{"mcp_message", c.name, message}, false)
	go func() {
		raw, err := answer(c.live)
		if head.Method == "" || len(head.ID) == 0 || c.live.Err() != nil {
			return // nothing is expected, or nobody waits
		}
		var body struct {
			Response json.RawMessage `json:"mcp_response"`
		}
		if err == nil {
			err = json.Unmarshal(raw, &body)
		}
		if err == nil && saysNothing(body.Response) {
			err = errors.New("the answer has no mcp_response")
		}
		if err != nil {
			body.Response = encoded(rpcError{"2.0", head.ID, rpcFailure{-32603, err.Error()}})
		}
		_ = c.take(body.Response) // the call waits until its time is over
	}()
	return nil
}

// rpcError is the error of a call.
type rpcError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   rpcFailure      `json:"error"`
}

type rpcFailure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// take queues a message of the server.
func (c *hostConn) take(message json.RawMessage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.messages) >= maxHosted {
		return fmt.Errorf("more than %d messages of the server %s are waiting; send fewer at a time", maxHosted, cli.Clip(c.name))
	}
	c.messages = append(c.messages, message)
	select {
	case c.came <- struct{}{}:
	default:
	}
	return nil
}

// Read returns the next message of the server.
func (c *hostConn) Read(ctx context.Context) (json.RawMessage, error) {
	for {
		c.mu.Lock()
		if len(c.messages) > 0 {
			m := c.messages[0]
			c.messages = c.messages[1:]
			c.mu.Unlock()
			return m, nil
		}
		c.mu.Unlock()
		select {
		case <-c.came:
		case <-c.live.Done():
			return nil, io.EOF
		case <-c.d.requests.gone:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends the connection and withdraws the calls that are not answered.
func (c *hostConn) Close() error {
	c.end()
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if c.d.hosted[c.name] == c {
		delete(c.d.hosted, c.name)
	}
	return nil
}

// fromHost passes on a message of a server within the host.
func (d *Session) fromHost(server string, message json.RawMessage) (any, error) {
	d.mu.Lock()
	c := d.hosted[server]
	d.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("mcp_message: there is no server %q within the host", cli.Clip(server))
	}
	if saysNothing(message) {
		return nil, errors.New("mcp_message: message is missing")
	}
	return struct{}{}, c.take(message)
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/openagent-go/agent/mcp/server"
)

// A toolServer is an MCP server with tools of this process. Its messages cross the control
// channel.
type toolServer struct {
	s      *Session
	name   string
	served server.Server
	in     *feed
	end    chan struct{} // closed: it answers no more

	mu      sync.Mutex
	waiting map[string]chan json.RawMessage // requests that have no answer yet, by id
	err     error                           // why it ended
}

// A rpc is a message of JSON-RPC.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func newToolServer(s *Session, name string, served server.Server) *toolServer {
	return &toolServer{s: s, name: name, served: served, in: newFeed(), end: make(chan struct{}), waiting: map[string]chan json.RawMessage{}}
}

// start serves until the session ends.
func (v *toolServer) start() {
	v.s.callbacks.Go(func() {
		err := v.served.Serve(v.s.ctx, v.in, &lines{take: v.take, tooLong: func(error) { v.in.Close() }})
		v.mu.Lock()
		v.err = errors.Join(err, v.served.Close())
		v.mu.Unlock()
		v.in.Close()
		close(v.end)
	})
}

// take handles a message of the server: an answer to the program, or a message of its own.
func (v *toolServer) take(line []byte) {
	var m rpc
	if json.Unmarshal(line, &m) != nil {
		return
	}
	if m.Method != "" {
		v.forward(line, m)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if answer, ok := v.waiting[string(m.ID)]; ok {
		delete(v.waiting, string(m.ID))
		answer <- line
	}
}

// forward sends a message of the server to the program. The answer to a request comes with
// the program's, or as a message of its own.
func (v *toolServer) forward(line []byte, m rpc) {
	id, answers := v.s.expect()
	request := map[string]any{"subtype": "mcp_message", "server_name": v.name, "message": json.RawMessage(line)}
	if v.s.write(map[string]any{"type": "control_request", "request_id": id, "request": request}) != nil {
		v.s.forget(id)
		return
	}
	v.s.callbacks.Go(func() {
		defer v.s.forget(id)
		select {
		case r := <-answers:
			var answer struct {
				Message json.RawMessage `json:"mcp_response"`
			}
			var got rpc
			if json.Unmarshal(r.Response, &answer) == nil && json.Unmarshal(answer.Message, &got) == nil && len(m.ID) > 0 && string(got.ID) == string(m.ID) {
				_ = v.in.add(answer.Message) // a server that has ended needs none
			}
		case <-v.s.done:
		case <-v.end:
		}
	})
}

// mcpMessage passes a message of the program to a server, and returns the server's answer.
func (s *Session) mcpMessage(ctx context.Context, raw json.RawMessage) (any, error) {
	var q struct {
		Server  string          `json:"server_name"`
		Message json.RawMessage `json:"message"`
	}
	var m rpc
	if err := errors.Join(json.Unmarshal(raw, &q), json.Unmarshal(q.Message, &m)); err != nil {
		return nil, fmt.Errorf("reading a message for an MCP server: %w", err)
	}
	v := s.servers[q.Server]
	if v == nil {
		return nil, fmt.Errorf("there is no MCP server %.50q here", q.Server)
	}
	if m.Method == "" || len(m.ID) == 0 {
		err := v.in.add(q.Message)
		return map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "result": struct{}{}, "id": 0}}, err
	}
	answer := make(chan json.RawMessage, 1)
	v.mu.Lock()
	twice := v.waiting[string(m.ID)] != nil
	if !twice {
		v.waiting[string(m.ID)] = answer
	}
	v.mu.Unlock()
	if twice {
		return nil, fmt.Errorf("the request %.50s for the MCP server %s is being answered", m.ID, v.name)
	}
	defer func() {
		v.mu.Lock()
		delete(v.waiting, string(m.ID))
		v.mu.Unlock()
	}()
	if err := v.in.add(q.Message); err != nil {
		return nil, v.ended()
	}
	select {
	case data := <-answer:
		return map[string]any{"mcp_response": data}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-v.end:
		return nil, v.ended()
	}
}

func (v *toolServer) ended() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return fmt.Errorf("the MCP server %s has ended: %w", v.name, v.err)
	}
	return fmt.Errorf("the MCP server %s has ended", v.name)
}

package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
)

// A session holds the data of a client: for its connection or, if its version has no
// sessions, as long as the server.
type session struct {
	id     string
	ctx    context.Context
	cancel context.CancelFunc
	calls  atomic.Uint64

	mu    sync.Mutex
	state map[string]json.RawMessage // of tools, by slot
}

func newSession(ctx context.Context) *session {
	ses := &session{id: rand.Text(), state: map[string]json.RawMessage{}}
	ses.ctx, ses.cancel = context.WithCancel(ctx)
	return ses
}

// of returns the session of a connection. It ends with that.
func (s *Server) of(ss *sdk.ServerSession) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[ss]; ses != nil {
		return ses
	}
	ses := newSession(s.ctx)
	if s.closed {
		ses.cancel()
		return ses
	}
	s.sessions[ss] = ses
	s.running.Go(func() {
		_ = ss.Wait() // how it ended does not matter
		ses.cancel()
		s.mu.Lock()
		delete(s.sessions, ss)
		s.mu.Unlock()
		s.ended(ses)
	})
	return ses
}

// caller returns the session of a request.
func (s *Server) caller(req *sdk.CallToolRequest) *session {
	if req.Extra != nil && req.Extra.Header != nil && req.Session.ID() == "" {
		return s.shared
	}
	return s.of(req.Session)
}

// next returns the id of a call.
func (ses *session) next() string { return fmt.Sprintf("c%d.0", ses.calls.Add(1)) }

// direct calls tools as they are. Their state is that of the session.
func direct(dir string) CallFunc {
	return func(ctx context.Context, client *Client, call tool.Call) (*tool.Result, error) {
		t := client.tool
		if f, ok := t.(toolrun.Factory); ok {
			t = f.Make()
		}
		slot := t.Spec().State
		call.Dir, call.State = dir, client.State(slot)
		out := toolrun.Run(ctx, t, call, parting)
		client.Keep(slot, out.Result.Patch.State)
		return out.Result, nil
	}
}

// State returns the session's value in a tool's slot.
func (c *Client) State(slot string) json.RawMessage {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.session.state[slot]
}

// Keep merges a tool's change into its slot: members replace those of the same
// name; null deletes.
func (c *Client) Keep(slot string, change json.RawMessage) {
	var members, kept map[string]json.RawMessage
	if slot == "" || json.Unmarshal(change, &members) != nil || len(members) == 0 {
		return
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	if json.Unmarshal(c.session.state[slot], &kept) != nil || kept == nil {
		kept = map[string]json.RawMessage{}
	}
	for name, value := range members {
		if string(value) == "null" {
			delete(kept, name)
		} else {
			kept[name] = value
		}
	}
	if data, err := json.Marshal(kept); err == nil {
		c.session.state[slot] = data
	}
}

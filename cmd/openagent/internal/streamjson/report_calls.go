package streamjson

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Calls maps our call ids, also of sub-agents (see callKey), to the tool calls. Lines carry the
// provider's ids, which are in its messages.
type Calls struct {
	mu    sync.Mutex
	byID  map[string]llm.ToolUse
	added chan struct{} // closed and replaced with each addition
}

// NewCalls returns an empty Calls.
func NewCalls() *Calls { return &Calls{byID: map[string]llm.ToolUse{}, added: make(chan struct{})} }

// CallID returns the id of a call, which is its position in the session.
func CallID(seq int64, index int) string { return fmt.Sprintf("c%d.%d", seq, index) }

// Add records a call under its id.
func (c *Calls) Add(id string, u llm.ToolUse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[id] = u
	close(c.added)
	c.added = make(chan struct{})
}

// Get returns the call with an id.
func (c *Calls) Get(id string) (llm.ToolUse, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u, ok := c.byID[id]
	return u, ok
}

// callKey returns the key of a call of the main agent or of a sub-agent.
func callKey(root string, call tool.Call) string {
	if call.Session == "" || call.Session == root {
		return call.ID
	}
	return call.Session + "/" + call.ID
}

// subagentPatience is how long the message of a sub-agent is waited for: it
// is not shown at all while nobody follows the run.
const subagentPatience = time.Second

// Find returns the call of the model that a call is, or the one that made it in a
// batch, once the message that asks for it has been shown.
func (c *Calls) Find(ctx context.Context, root string, call tool.Call) (llm.ToolUse, error) {
	key := callKey(root, call)
	if key == call.ID {
		return c.wait(ctx, key)
	}
	soon, cancel := context.WithTimeout(ctx, subagentPatience)
	defer cancel()
	u, err := c.wait(soon, key)
	if err != nil && ctx.Err() == nil {
		return llm.ToolUse{ID: call.ID, Name: call.Name, Input: call.Input}, nil
	}
	return u, err
}

// wait returns a call of the model, or the one that made it in a batch, once the
// message that asks for it has been shown.
func (c *Calls) wait(ctx context.Context, id string) (llm.ToolUse, error) {
	if at := strings.IndexByte(id, '.') + 1; at > 0 { // "s/c5.0.2" is of "s/c5.0"
		if end := strings.IndexByte(id[at:], '.'); end >= 0 {
			id = id[:at+end]
		}
	}
	for {
		c.mu.Lock()
		u, ok := c.byID[id]
		added := c.added
		c.mu.Unlock()
		if ok {
			return u, nil
		}
		select {
		case <-added:
		case <-ctx.Done():
			return llm.ToolUse{}, ctx.Err()
		}
	}
}

// Package conversation holds the state of a session, replayed from its facts: the engine's
// state and the transcript. It prepares the inputs of effects from them, such as the next
// request to a model. It does not know what drives the run or where facts are recorded.
package conversation

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A Conversation is the replayed state of a session. Only one goroutine at a time may use
// it.
type Conversation struct {
	State      *engine.State
	Transcript engine.Transcript
	Last       int64               // sequence number of the last fact
	Forked     int64               // sequence number of the last fact that was copied from another session, or that a rewind went back to; 0: none
	Named      *event.SessionNamed // title and tag; nil: none
	Cache      *engine.CacheWatch  // nil until a prompt has a reader for its events

	memo llm.Memo // cache of the models' clients about the transcript
}

// New returns the conversation of a session without facts.
func New() Conversation { return Conversation{State: new(engine.State)} }

// Apply applies the next fact.
func (c *Conversation) Apply(e event.Event) {
	c.Last = max(c.Last, e.Seq)
	if n, ok := e.Data.(event.SessionNamed); ok {
		c.Named = new(n)
	}
	if c.State.Apply(e) {
		c.Transcript.Apply(e)
	}
}

// Path returns the facts that lead to the last one, without those that a rewind removed.
func Path(facts []event.Event) []event.Event {
	if len(facts) == 0 {
		return nil
	}
	var back []event.Event
	next := facts[len(facts)-1].Seq
	for _, e := range slices.Backward(facts) {
		if e.Seq == next {
			back = append(back, e)
			next = e.Prev
		}
	}
	slices.Reverse(back)
	return back
}

// ProviderID returns the provider's id of a call, "" if the call is not in the last answer.
func (c *Conversation) ProviderID(call string) string {
	if call := c.Transcript.Call(call); call != nil {
		return call.Use.ID
	}
	return ""
}

// ToolName returns the name of a call's tool, "" for a call of an earlier answer.
func (c *Conversation) ToolName(call string) string {
	if call := c.Transcript.Call(call); call != nil {
		return call.Name
	}
	return ""
}

// Shown returns the call that a fact is about, for the reader of a stream. It is nil for a
// fact about no call of the last answer.
func (c *Conversation) Shown(f event.Data) *event.Call {
	id := ""
	switch f := f.(type) {
	case fact.Authorized:
		id = f.Call
	case fact.Answered:
		id = f.Call
	case event.ToolStart:
		id = f.Call
	case fact.ToolDone:
		id = f.Call
	case fact.ToolAmended:
		id = f.Call
	case event.ToolResult:
		id = f.Call
	case event.AgentStart:
		id = f.Call
	default:
		return nil
	}
	return c.Transcript.Call(id).Shown()
}

// StartedCall finds a call in the facts of a session and returns it as it was started. ok
// is false if it never started.
func StartedCall(facts []event.Event, session, id string) (tool.Call, bool) {
	c := New()
	for _, e := range Path(facts) {
		c.Apply(e)
		start, ok := e.Data.(event.ToolStart)
		if call := c.Transcript.Call(id); ok && start.Call == id && call != nil {
			return tool.Call{ID: id, Name: call.Name, Input: slices.Clone(call.Input), Session: session, Dir: start.Dir, Mode: start.Mode}, true
		}
	}
	return tool.Call{}, false
}

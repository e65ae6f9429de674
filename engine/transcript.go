package engine

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A Transcript is the conversation: the fold of the same facts that requests
// are built from. It only grows. The zero Transcript is empty.
type Transcript struct {
	System   string
	Tools    []llm.Tool
	Messages []llm.Message

	held     map[string]llm.Message // queued, by id
	order    []string               // ids of the calls of the last answer
	calls    map[string]*Call       // by id, of the last answer
	states   map[string]map[string]json.RawMessage
	deferred map[string]llm.Tool // tools that are found by searching
	enabled  []string            // those that were found
	names    names
	slots    map[string]string // state slot by tool, "" for none
}

// A Call is a call of the last answer with its bodies.
type Call struct {
	Use    llm.ToolUse
	Name   string          // of the tool that is meant
	Input  json.RawMessage // as it will run: the model's, or what replaced it
	Done   *event.ToolDone // before hooks
	result *tool.Result
}

// Apply takes a fact that has counted for the [State] into the conversation.
func (t *Transcript) Apply(e event.Event) {
	switch f := e.Data.(type) {
	case event.Configured:
		t.configure(f)
	case event.UserMessage:
		if f.Delivery == event.AsPrompt || f.Delivery == event.AsContinue {
			t.Messages = append(t.Messages, f.Message)
			return
		}
		if t.held == nil {
			t.held = map[string]llm.Message{}
		}
		t.held[f.ID] = f.Message
	case event.Delivered:
		for _, id := range f.IDs {
			t.Messages = append(t.Messages, t.held[id])
			delete(t.held, id)
		}
	case event.Stopped:
		for _, id := range f.Cleared {
			delete(t.held, id)
		}
	case event.AssistantMessage:
		t.answer(e.Seq, f)
	case event.Authorized:
		t.replaceInput(f.Call, f.Decision)
	case event.Answered:
		t.replaceInput(f.Call, f.Decision)
	case event.ToolDone:
		if c := t.calls[f.Call]; c != nil {
			c.Done = &f
		}
	case event.ToolAmended:
		if c := t.calls[f.Call]; c != nil && c.Done != nil {
			done := *c.Done
			done.Result = f.Result
			c.Done = &done
		}
	case event.ToolResult:
		t.result(f)
	}
}

func (t *Transcript) configure(f event.Configured) {
	t.System, t.Tools = f.System, nil
	t.slots, t.deferred = map[string]string{}, map[string]llm.Tool{}
	for _, spec := range f.Tools {
		if spec.Deferred {
			t.deferred[spec.Name] = spec.Tool
		} else {
			t.Tools = append(t.Tools, spec.Tool)
		}
		t.slots[spec.Name] = spec.State
	}
	t.names = namesOf(f.Tools)
	enabled := t.enabled
	t.enabled = nil
	t.enable(enabled)
}

// enable lets the model see deferred tools. They come after all others, in the
// order in which they were found, so that the beginning of the request stays.
func (t *Transcript) enable(names []string) {
	for _, name := range names {
		if spec, ok := t.deferred[name]; ok && !slices.Contains(t.enabled, name) {
			t.enabled = append(t.enabled, name)
			t.Tools = append(t.Tools, spec)
		}
	}
}

func (t *Transcript) answer(seq int64, f event.AssistantMessage) {
	if len(f.Response.Message.Content) > 0 {
		t.Messages = append(t.Messages, f.Response.Message)
	}
	t.order, t.calls = nil, map[string]*Call{}
	for i, u := range f.Response.Message.ToolUses() {
		id := callID(seq, i)
		t.order = append(t.order, id)
		name, _ := t.names.resolve(u.Name)
		t.calls[id] = &Call{Use: u, Name: name, Input: u.Input}
	}
}

func (t *Transcript) replaceInput(id string, d permission.Decision) {
	if c := t.calls[id]; c != nil && d.Input != nil && d.Behavior == permission.Allowed {
		c.Input = d.Input
	}
}

// result keeps a call's result, and adds all results to the conversation in
// call order when the last one is there.
func (t *Transcript) result(f event.ToolResult) {
	c := t.calls[f.Call]
	if c == nil {
		return
	}
	c.result = &f.Result
	t.enable(f.Result.Patch.Enable)
	if p := f.Result.Patch.State; p != nil {
		t.merge(t.slots[c.Name], p)
	}
	if slices.ContainsFunc(t.order, func(id string) bool { return t.calls[id].result == nil }) {
		return
	}
	m := llm.Message{Role: llm.User}
	for _, id := range t.order {
		c := t.calls[id]
		m.Content = append(m.Content, llm.ToolResult{ID: c.Use.ID, Content: c.result.Content, IsError: c.result.IsError})
	}
	t.Messages = append(t.Messages, m)
	t.order = nil
}

// merge writes a patch into a state slot: members replace those of the same
// name, null deletes.
func (t *Transcript) merge(slot string, patch json.RawMessage) {
	var members map[string]json.RawMessage
	if slot == "" || json.Unmarshal(patch, &members) != nil {
		return
	}
	if t.states == nil {
		t.states = map[string]map[string]json.RawMessage{}
	}
	state := maps.Clone(t.states[slot]) // a running call may hold the old one
	if state == nil {
		state = map[string]json.RawMessage{}
	}
	for k, v := range members {
		if string(v) == "null" {
			delete(state, k)
		} else {
			state[k] = v
		}
	}
	t.states[slot] = state
}

// Call returns a call of the last answer, nil if there is none with this id.
func (t *Transcript) Call(id string) *Call { return t.calls[id] }

// Calls returns the ids of the calls of the last answer that wait for their
// results, in order.
func (t *Transcript) Calls() []string { return t.order }

// State returns the content of the state slot of a tool as a JSON object, nil
// if it is empty.
func (t *Transcript) State(toolName string) json.RawMessage {
	state := t.states[t.slots[toolName]]
	if len(state) == 0 {
		return nil
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil
	}
	return data
}

package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A Transcript is the conversation: the fold of the same facts that requests
// are built from. It grows, but for compactions. The zero Transcript is empty.
type Transcript struct {
	System   string
	Tools    []llm.Tool
	Messages []llm.Message

	marks  []mark          // of the Messages
	memory []string        // the results of compactions
	held   map[string]held // queued, by id
	last   struct {        // the last prompt
		id string
		at int // its place among the Messages
	}
	calls   []Call // of the last answer
	open    bool   // not all of them have their results
	states  map[string]map[string]json.RawMessage
	tools   toolset
	enabled []string      // deferred tools that were found
	skills  []ActiveSkill // that calls have put in force, the innermost last
}

// ActiveSkill is a skill that a call has put in force, in its words.
type ActiveSkill struct{ Name, Text string }

// held is a message that is queued.
type held struct {
	llm.Message
	kind messageKind
}

// A Call is a call of the last answer with its bodies.
type Call struct {
	Use     llm.ToolUse
	Name    string          // of the tool that is meant
	Input   json.RawMessage // as it will run: the model's input, or its replacement
	Done    *fact.ToolDone  // before hooks
	id      string
	batch   string // the call that made this one; "" for the model
	settled bool   // it has its result:
	content llm.Blocks
	isError bool
	shown   *event.Call // nil until a reader of the stream needs it
}

// Shown describes the call for the reader of a stream. It is nil for no call.
func (c *Call) Shown() *event.Call {
	if c == nil {
		return nil
	}
	if c.shown == nil {
		c.shown = &event.Call{Tool: c.Name, ID: c.Use.ID, Input: c.Input}
	}
	return c.shown
}

// Apply takes a fact that has counted for the [State] into the conversation.
func (t *Transcript) Apply(e event.Event) { t.apply(e) }

// apply changes the conversation by one fact. A fact that the switch does not list is
// not known.
func (t *Transcript) apply(e event.Event) (known bool) {
	switch f := e.Data.(type) {
	case fact.Configured:
		t.configure(f)
	case fact.ToolChanged:
		if tools, _, ok := t.tools.replace(f.Tool); ok {
			t.tools = tools
			t.Tools = slices.Clone(t.Tools) // requests hold the old ones
			for i := range t.Tools {
				if t.Tools[i].Name == f.Tool.Name {
					t.Tools[i] = f.Tool.Tool
				}
			}
		}
	case fact.ToolsChanged:
		t.System = f.System
		t.advertise(f.Tools)
	case fact.Hooked:
		if (f.Event == hook.UserPromptSubmit || f.Event == hook.UserPromptExpansion) && f.Block != "" {
			t.withhold(f.Message)
		}
	case event.UserMessage:
		if f.Delivery == fact.AsPrompt || f.Delivery == fact.AsContinue {
			t.last.id, t.last.at = f.ID, len(t.Messages)
			t.add(f.Message, e.Seq, kindOf(f.Delivery))
			if f.Delivery == fact.AsPrompt {
				t.skills = nil
			}
			break
		}
		if t.held == nil {
			t.held = map[string]held{}
		}
		t.held[f.ID] = held{f.Message, kindOf(f.Delivery)}
	case fact.Delivered:
		for _, id := range f.IDs {
			t.add(t.held[id].Message, e.Seq, t.held[id].kind)
			delete(t.held, id)
		}
	case fact.Retracted:
		for _, id := range f.IDs {
			delete(t.held, id)
		}
	case event.Compacted:
		t.compact(f)
	case fact.Stopped:
		for _, id := range f.Cleared {
			delete(t.held, id)
		}
	case event.AssistantMessage:
		t.answer(e.Seq, f)
	case fact.Authorized:
		t.replaceInput(f.Call, &f.Decision)
	case fact.Answered:
		t.replaceInput(f.Call, &f.Decision)
	case fact.ToolDone:
		if c := t.Call(f.Call); c != nil {
			c.Done = new(f)
		}
	case fact.ToolAmended:
		if c := t.Call(f.Call); c != nil && c.Done != nil {
			done := *c.Done
			done.Result = f.Result
			c.Done = &done
		}
	case event.ToolResult:
		t.result(e.Seq, f)
	case fact.ModelStart, event.ModelFailed, fact.CompactionRequested, fact.Waited, event.ToolStart, fact.Checkpointed,
		event.ModeChanged, event.ModelChanged, fact.FallbacksChanged, fact.BudgetChanged, fact.CallbackChanged,
		event.PermissionsChanged, event.Resumed, event.Rewound, event.SessionNamed, fact.OutputChecked,
		event.AgentStart, fact.AgentSuspended, event.AgentEnd, event.RunEnd: // add nothing to the conversation
	default:
		return false
	}
	return true
}

// Message returns a message that has not reached the model yet: the last prompt, or
// one that is queued.
func (t *Transcript) Message(id string) llm.Message {
	if t.last.id == id && t.last.at < len(t.Messages) {
		return t.Messages[t.last.at]
	}
	return t.held[id].Message
}

// withhold takes a message away that no model has seen.
func (t *Transcript) withhold(id string) {
	delete(t.held, id)
	if t.last.id == id && t.last.at < len(t.Messages) {
		t.Messages = slices.Delete(slices.Clone(t.Messages), t.last.at, t.last.at+1) // requests hold the old ones
		t.marks = slices.Delete(slices.Clone(t.marks), t.last.at, t.last.at+1)
		t.last.id = ""
	}
}

func (t *Transcript) configure(f fact.Configured) {
	t.System = f.System
	t.advertise(f.Tools)
}

// advertise makes tools those that the model sees, with the deferred ones that it has
// found.
func (t *Transcript) advertise(tools []fact.Tool) {
	t.Tools, t.tools = make([]llm.Tool, 0, len(tools)), tools // requests hold the old ones
	for i := range tools {
		if !tools[i].Deferred {
			t.Tools = append(t.Tools, tools[i].Tool)
		}
	}
	enabled := t.enabled
	t.enabled = nil
	t.enable(enabled)
}

// enable lets the model see deferred tools. They come after all others, in the
// order in which they were found, so that the beginning of the request stays.
func (t *Transcript) enable(names []string) {
	for _, name := range names {
		if found := t.tools.find(name); found.Deferred && !slices.Contains(t.enabled, name) {
			t.enabled = append(t.enabled, name)
			t.Tools = append(t.Tools, found.Tool)
		}
	}
}

func (t *Transcript) answer(seq int64, f event.AssistantMessage) {
	if len(f.Response.Message.Content) > 0 {
		m := f.Response.Message
		m.Model = f.Model
		t.add(m, seq, isAnswer)
	}
	n := countUses(f.Response.Message.Content)
	t.calls, t.open = nil, n > 0
	if n == 0 {
		return
	}
	t.calls = make([]Call, 0, n) // a new one: calls that go on may hold the old ones
	for _, p := range t.tools.proposals(seq, f.Response.Message.Content) {
		t.addCall(p)
		if p.spec.Batch {
			t.addParts(p.id, &p.use)
		}
	}
}

//go:noinline // called from many places: every program stays smaller
func (t *Transcript) addCall(p *proposal) {
	t.calls = append(t.calls, Call{id: p.id, batch: p.batch, Use: p.use, Name: p.name, Input: p.use.Input})
}

// addParts adds the calls that a batch makes.
func (t *Transcript) addParts(id string, u *llm.ToolUse) {
	parts, err := t.tools.parts(id, u)
	if err != nil {
		return
	}
	for i := range parts {
		t.addCall(&parts[i])
	}
}

func countUses(content llm.Blocks) int {
	n := 0
	for _, b := range content {
		if isToolUse(b) {
			n++
		}
	}
	return n
}

func (t *Transcript) replaceInput(id string, d *permission.Decision) {
	c := t.Call(id)
	if c == nil || d.Input == nil || d.Behavior == permission.Denied {
		return
	}
	c.Input, c.shown = d.Input, nil
	if t.tools.find(c.Name).Batch {
		u := llm.ToolUse{ID: c.Use.ID, Name: c.Name, Input: d.Input}
		var others []Call
		for _, p := range t.calls {
			if p.batch != id {
				others = append(others, p)
			}
		}
		t.calls = others
		t.addParts(id, &u)
	}
}

// result keeps a call's result, and adds all results to the conversation in
// call order when the last one is there.
func (t *Transcript) result(seq int64, f event.ToolResult) {
	c := t.Call(f.Call)
	if c == nil || !t.open {
		return
	}
	c.settled, c.content, c.isError = true, f.Result.Content, f.Result.IsError
	t.enable(f.Result.Patch.Enable)
	if b := f.Result.Patch.Begin; b != nil {
		t.skills = append(slices.Clip(t.skills), ActiveSkill{b.Skill, f.Result.Text()})
	} else if n := len(t.skills); f.Result.Patch.End && n > 0 {
		t.skills = t.skills[:n-1]
	}
	if p := f.Result.Patch.State; p != nil {
		t.merge(t.tools.find(c.Name).State, p)
	}
	for i := range t.calls {
		if c := &t.calls[i]; !c.settled && c.batch == "" {
			return
		}
	}
	m := llm.Message{Role: llm.User, Content: make(llm.Blocks, 0, len(t.calls))}
	for i := range t.calls {
		if c := &t.calls[i]; c.batch == "" {
			m.Content = append(m.Content, llm.ToolResult{ID: c.Use.ID, Content: c.content, IsError: c.isError})
		}
	}
	t.add(m, seq, isResults)
	t.open = false
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
//
//go:noinline // called from many places: every program stays smaller
func (t *Transcript) Call(id string) *Call {
	for i := range t.calls {
		if t.calls[i].id == id {
			return &t.calls[i]
		}
	}
	return nil
}

// Calls returns the ids of the calls of the last answer that wait for their
// results, in order.
func (t *Transcript) Calls() []string {
	if !t.open {
		return nil
	}
	ids := make([]string, 0, len(t.calls))
	for _, c := range t.calls {
		if c.batch == "" {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// A CompletedCall call of the last answer has its result.
type CompletedCall struct {
	ID, Name string
	Input    json.RawMessage
	Text     string
	IsError  bool
}

// Results returns the calls of the last answer with their results, in order.
func (t *Transcript) Results() []CompletedCall {
	var out []CompletedCall
	for i := range t.calls {
		if c := &t.calls[i]; c.settled && c.batch == "" {
			out = append(out, CompletedCall{c.id, c.Name, c.Input, c.content.Text(), c.isError})
		}
	}
	return out
}

// Skills returns the skills that calls have put in force, the innermost last.
func (t *Transcript) Skills() []ActiveSkill { return t.skills }

// Slot returns the members of a state slot.
func (t *Transcript) Slot(name string) map[string]json.RawMessage { return t.states[name] }

// State returns the content of the state slot of a tool as a JSON object, nil
// if it is empty.
func (t *Transcript) State(toolName string) json.RawMessage {
	state := t.states[t.tools.find(toolName).State]
	if len(state) == 0 {
		return nil
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil
	}
	return data
}

// Gather makes the result of a call of a batch tool out of those of the calls that
// it made.
func (t *Transcript) Gather(id string) tool.Result {
	var r tool.Result
	type part struct {
		Call    string `json:"call"`
		Tool    string `json:"tool"`
		IsError bool   `json:"is_error,omitempty"`
	}
	var parts []part
	failed := 0
	for i := range t.calls {
		c := &t.calls[i]
		if c.batch != id {
			continue
		}
		mark := ""
		if c.isError {
			mark = ", failed"
			failed++
		}
		parts = append(parts, part{c.id, c.Name, c.isError})
		head := fmt.Sprintf("== %d. %s%s ==\n", len(parts), c.Name, mark)
		if len(parts) > 1 {
			head = "\n" + head
		}
		r.Content = append(r.Content, llm.Text{Text: head + c.content.Text() + "\n"})
		for _, b := range c.content {
			if _, text := b.(llm.Text); !text {
				r.Content = append(r.Content, b)
			}
		}
	}
	r.IsError = failed > 0 && failed == len(parts)
	r.Title = fmt.Sprintf("%d calls, %d failed", len(parts), failed)
	details, err := json.Marshal(map[string]any{"calls": parts})
	if err == nil {
		r.Details = details
	}
	return r
}

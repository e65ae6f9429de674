package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// asking is the phase of a call that waits for a person.
const asking event.ToolPhase = "asking"

func (s *State) inputDelta(e event.Event, d event.ToolInputDelta) {
	s.answer(e, d.Key, "")
	it := s.writing[d.ID]
	if it == nil {
		it = s.add(e, useID(d.Key, d.ID), &Call{Use: llm.ToolUse{ID: d.ID, Name: d.Tool}, Phase: fact.ToolWaiting})
		put(&s.writing, d.ID, it)
		s.show(it)
	}
	if c := it.Data.(*Call); !s.gap {
		c.written.WriteString(d.Text)
	}
	s.touch(it)
}

func useID(key, id string) string { return key + "/" + id }

// propose puts the calls of an answer into their order. Those that were being written have
// left the list.
func (s *State) propose(e event.Event, d *event.AssistantMessage) {
	for i, u := range d.Response.Message.ToolUses() {
		it := s.writing[u.ID]
		if it == nil {
			it = s.add(e, useID(d.Key, u.ID), &Call{Phase: fact.ToolWaiting})
		}
		delete(s.writing, u.ID)
		c := it.Data.(*Call)
		c.ID, c.Use = "c"+factID(e)+"."+strconv.Itoa(i), u
		c.written = strings.Builder{}
		it.Seq, it.Time = e.Seq, e.Time
		s.touch(it)
		put(&s.calls, c.ID, it)
		s.show(it)
		s.run.calls++
	}
	s.writing, s.gap = nil, false
}

// call returns a call by its id, and the item to mark as changed with it. It makes one for a
// call that is not known yet: a part of a batch, or one that began before the State did.
func (s *State) call(e event.Event, id string, use llm.ToolUse) (*Item, *Call) {
	if id == "" {
		return nil, nil
	}
	if it := s.calls[id]; it != nil {
		return it, it.Data.(*Call)
	}
	batch, at := s.batchOf(id)
	if batch == nil && e.Call != nil {
		use = llm.ToolUse{ID: e.Call.ID, Name: e.Call.Tool, Input: e.Call.Input}
	}
	if batch != nil {
		b := batch.Data.(*Call)
		use = part(b.Input(), at)
		use.ID = b.Use.ID
	}
	if use.Name == "" {
		return nil, nil
	}
	c := &Call{ID: id, Use: use, Phase: fact.ToolWaiting}
	it := s.add(e, id, c)
	put(&s.calls, id, it)
	if batch != nil {
		batch.Data.(*Call).Items = append(batch.Data.(*Call).Items, it)
		s.touch(batch)
	} else {
		s.show(it)
	}
	return it, c
}

// batchOf returns the call of a batch that makes the call, and the index in its list.
func (s *State) batchOf(id string) (*Item, int) {
	i := strings.LastIndexByte(id, '.')
	if i < 0 || s.calls[id[:i]] == nil {
		return nil, 0
	}
	n, err := strconv.Atoi(id[i+1:])
	if err != nil {
		return nil, 0
	}
	return s.calls[id[:i]], n - 1
}

// part returns the call at an index in the input of a batch.
func part(input json.RawMessage, at int) llm.ToolUse {
	var in struct {
		Calls json.RawMessage `json:"tool_calls"`
	}
	var calls []struct {
		Tool       string          `json:"tool"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(unquoted(in.Calls), &calls) != nil || at < 0 || at >= len(calls) {
		return llm.ToolUse{}
	}
	return llm.ToolUse{Name: calls[at].Tool, Input: unquoted(calls[at].Parameters)}
}

// unquoted returns the JSON in a JSON string, any other value as it is.
func unquoted(v json.RawMessage) json.RawMessage {
	var text string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return v
}

// changed marks a call as changed, and the batch that it belongs to.
func (s *State) changed(it *Item) {
	if c := it.Data.(*Call); c.ID != "" {
		if batch, _ := s.batchOf(c.ID); batch != nil {
			s.touch(batch)
		}
	}
	s.touch(it)
}

func (s *State) toolProgress(e event.Event, d event.ToolProgress) {
	it := s.writing[d.ID]
	if d.Call != "" {
		it, _ = s.call(e, d.Call, llm.ToolUse{ID: d.ID, Name: d.Tool})
	}
	if it == nil {
		return
	}
	c := it.Data.(*Call)
	if c.Result != nil || d.Seq > 0 && d.Seq <= c.progress {
		return
	}
	c.Status, c.progress = d.Status, d.Seq
	if c.Phase == fact.ToolWaiting && d.Phase == fact.ToolDoing {
		c.Phase, c.Started = d.Phase, e.Time.Add(-d.Elapsed)
	}
	s.changed(it)
}

func (s *State) decided(e event.Event, id string, d permission.Decision, answered bool) {
	it, c := s.call(e, id, llm.ToolUse{})
	if c == nil {
		return
	}
	c.Decisions = append(c.Decisions, Decision{Seq: e.Seq, Time: e.Time, Decision: d, Answered: answered})
	if d.Input != nil {
		c.input = d.Input
	}
	switch d.Behavior {
	case permission.Asked, permission.Deferred:
		if d.Behavior == permission.Deferred && c.question != nil {
			break // it goes on waiting
		}
		s.ask(e, it, &Question{Permission: &event.PermissionRequest{Call: asked(c), Reason: d.Reason, Expires: d.Expires}})
		s.run.ask(id, true)
		s.run.tool(id, false)
	default:
		s.close(c)
		s.run.ask(id, false)
		c.Phase = fact.ToolWaiting
	}
	s.changed(it)
}

// asked is a call as questions have it.
func asked(c *Call) tool.Call { return tool.Call{ID: c.ID, Name: c.Use.Name, Input: c.Input()} }

// ask opens a question about a call, in place of the one that is open.
func (s *State) ask(e event.Event, it *Item, q *Question) {
	id := "?" + strconv.Itoa(len(s.Questions))
	if it != nil {
		c := it.Data.(*Call)
		s.close(c)
		c.asked++
		c.Phase = asking
		id = it.ID + "?" + strconv.Itoa(c.asked)
		q.Call = it
	}
	item := s.add(e, id, q)
	if it != nil {
		it.Data.(*Call).question = item
	}
	s.Questions = append(s.Questions, item)
}

// close ends the open question about a call.
func (s *State) close(c *Call) {
	if c.question != nil {
		s.settle(c.question)
	}
}

// settle ends a question.
func (s *State) settle(it *Item) {
	s.Questions = without(s.Questions, it)
	it.Final = true
	s.touch(it)
	if call := it.Data.(*Question).Call; call != nil {
		call.Data.(*Call).question = nil
		s.changed(call)
	}
}

func (s *State) permissionRequest(e event.Event, d event.PermissionRequest) {
	it, c := s.call(e, d.Call.ID, llm.ToolUse{Name: d.Call.Name, Input: d.Call.Input})
	if c == nil || c.Result != nil || c.Phase == fact.ToolDoing {
		return
	}
	if n := len(c.Decisions); n > 0 {
		switch c.Decisions[n-1].Decision.Behavior {
		case permission.Allowed, permission.Denied:
			return // it was settled meanwhile
		}
	}
	if q := c.question; q != nil && q.Data.(*Question).Permission != nil {
		q.Data.(*Question).Permission = &d
		s.touch(q)
		s.changed(it)
		return
	}
	s.ask(e, it, &Question{Permission: &d})
	s.changed(it)
}

func (s *State) userQuestion(e event.Event, d event.UserQuestion) {
	it, c := s.call(e, d.Call.ID, llm.ToolUse{Name: d.Call.Name, Input: d.Call.Input})
	switch {
	case c == nil:
		s.ask(e, nil, &Question{Asked: &d})
		return
	case c.Result != nil:
		return
	}
	if q := c.question; q != nil && q.Data.(*Question).Asked != nil && slices.EqualFunc(q.Data.(*Question).Asked.Questions, d.Questions, sameQuestion) {
		q.Data.(*Question).Asked = &d
		s.touch(q)
		return
	}
	s.ask(e, it, &Question{Asked: &d})
	s.changed(it)
}

func sameQuestion(a, b tool.Question) bool { return a.Text == b.Text && a.Header == b.Header }

func (s *State) toolStart(e event.Event, d event.ToolStart) {
	s.run.ask(d.Call, false)
	s.run.tool(d.Call, true)
	it, c := s.call(e, d.Call, llm.ToolUse{})
	if c == nil || c.Result != nil {
		return
	}
	s.close(c)
	c.Phase, c.Started = fact.ToolDoing, e.Time
	s.changed(it)
}

func (s *State) toolDone(e event.Event, d fact.ToolDone) {
	s.run.tool(d.Call, false)
	it, c := s.call(e, d.Call, llm.ToolUse{})
	if len(d.Result.Questions) == 0 {
		return
	}
	s.run.ask(d.Call, true)
	if c != nil && c.Result == nil {
		s.ask(e, it, &Question{Asked: &event.UserQuestion{Call: asked(c), Questions: d.Result.Questions}})
		s.changed(it)
	}
}

func (s *State) toolAmended(d fact.ToolAmended) {
	s.run.ask(d.Call, false)
	s.run.model(d.Key, false)
	s.spend(d.Usage, d.CostUSD)
	if it := s.calls[d.Call]; it != nil {
		c := it.Data.(*Call)
		s.close(c)
		if c.Phase == asking {
			c.Phase = fact.ToolDoing
		}
		s.changed(it)
	}
}

func (s *State) toolResult(e event.Event, d event.ToolResult) {
	s.run.tool(d.Call, false)
	s.run.ask(d.Call, false)
	if d.Result.Patch.Mode != "" {
		s.Mode = d.Result.Patch.Mode
		s.Version++
	}
	it, c := s.call(e, d.Call, llm.ToolUse{})
	if c == nil || c.Result != nil {
		return
	}
	s.close(c)
	c.Result, c.ResultSeq, c.Ended = &d, e.Seq, e.Time
	c.Status, c.Phase = tool.Status{}, fact.ToolSucceeded
	if d.Result.IsError {
		c.Phase = fact.ToolFailed
	}
	it.Final = true
	s.changed(it)
	if c.Denied() {
		s.run.denied++
	}
	switch {
	case d.Result.IsError:
	case c.Use.Name == "TodoWrite":
		s.todos(d.Result.Details)
	}
	s.job(it, d.Result.Details)
}

// todos reads the list that TodoWrite has left.
func (s *State) todos(details json.RawMessage) {
	var l struct{ Todos []Todo }
	if json.Unmarshal(details, &l) == nil {
		s.Todos = l.Todos
		s.Version++
	}
}

// job reads from the details of a result that a command runs in the background, or no more.
func (s *State) job(it *Item, details json.RawMessage) {
	if !bytes.Contains(details, []byte(`"shellId"`)) {
		return
	}
	var d struct{ Status, ShellID string }
	if json.Unmarshal(details, &d) != nil || d.ShellID == "" {
		return
	}
	if d.Status != "running" {
		s.endJob(d.ShellID)
	} else if s.jobs[d.ShellID] == nil {
		put(&s.jobs, d.ShellID, it)
		s.Jobs = append(s.Jobs, it)
	}
}

// jobEnded reads from a notice that a command in the background has ended.
func (s *State) jobEnded(text string) {
	if rest, ok := strings.CutPrefix(text, "Background command "); ok {
		id, _, _ := strings.Cut(rest, " ")
		s.endJob(id)
	}
}

func (s *State) endJob(id string) {
	if it := s.jobs[id]; it != nil {
		delete(s.jobs, id)
		s.Jobs = without(s.Jobs, it)
		s.Version++
	}
}

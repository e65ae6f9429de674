package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// maxBatch is how many calls one call of a batch tool may make.
const maxBatch = 25

// unbatch reads the calls that the input of a batch tool asks for. JSON text in the
// place of the list, or of a call's parameters, counts as what is in it.
func unbatch(u llm.ToolUse) ([]llm.ToolUse, error) {
	var in struct {
		Calls json.RawMessage `json:"tool_calls"`
	}
	type call struct {
		Tool       string          `json:"tool"`
		Parameters json.RawMessage `json:"parameters"`
	}
	var calls []call
	if json.Unmarshal(u.Input, &in) != nil || len(in.Calls) == 0 || string(in.Calls) == "null" {
		return nil, errors.New("tool_calls is missing; expected: " + batchForm)
	}
	if err := json.Unmarshal(unquoted(in.Calls), &calls); err != nil {
		return nil, errors.New("tool_calls must be an array of calls; expected: " + batchForm)
	}
	switch n := len(calls); {
	case n == 0:
		return nil, errors.New("tool_calls is empty; expected: " + batchForm)
	case n > maxBatch:
		return nil, fmt.Errorf("tool_calls has %d calls; make at most %d with one batch, and the rest with others", n, maxBatch)
	}
	uses := make([]llm.ToolUse, len(calls))
	for i, c := range calls {
		if c.Tool == "" {
			return nil, fmt.Errorf("tool_calls[%d] names no tool; expected: %s", i, batchForm)
		}
		input := unquoted(c.Parameters)
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		uses[i] = llm.ToolUse{ID: u.ID, Name: c.Tool, Input: input}
	}
	return uses, nil
}

// unquoted returns the JSON in a JSON string, any other value as it is.
func unquoted(v json.RawMessage) json.RawMessage {
	var text string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return v
}

const batchForm = `{"tool_calls": [{"tool": "NAME", "parameters": {…}}, …]}`

// partID is the id of the n-th call, from 0, that a call of a batch tool makes.
func partID(batch string, n int) string { return batch + "." + strconv.Itoa(n+1) }

// proposeBatch looks at what a call of a batch tool asks for. Its calls are made once
// it is permitted itself.
func (s *State) proposeBatch(c *call, u llm.ToolUse) {
	uses, err := unbatch(u)
	if err == nil {
		err = s.fits(c, len(uses))
	}
	if err != nil {
		c.refuse(event.ByTool, tool.InvalidInput, "invalid input for %s: %v", c.name, err)
		s.stopRepeatedCall(c, "the input is invalid")
		return
	}
	c.parts = make([]call, len(uses))
	for i, use := range uses {
		part := &c.parts[i]
		part.id, part.batch, part.toolID = partID(c.id, i), c.id, u.ID
		s.resolveTool(part, use)
		if part.spec.Batch {
			part.refuse(event.ByTool, tool.InvalidInput, "%s cannot be called by %s: make its calls in the same list", part.name, c.name)
		}
	}
}

// fits returns an error if so many calls of a batch are too many for one answer.
func (s *State) fits(batch *call, more int) error {
	for i := range s.calls {
		if c := &s.calls[i]; c.id != batch.id {
			more += 1 + len(c.parts)
		}
	}
	if more <= llm.MaxBlocks {
		return nil
	}
	return fmt.Errorf("one answer makes at most %d calls, those of batches included; make these calls in your next answer", llm.MaxBlocks)
}

// rebatch looks at what a call of a batch tool asks for, where a hook has changed that and
// somebody has yet to decide about it.
func (s *State) rebatch(c *call, d permission.Decision) {
	if c.spec.Batch && d.Input != nil && (d.Behavior == permission.Asked || d.Behavior == permission.Deferred) {
		s.proposeBatch(c, llm.ToolUse{ID: c.toolID, Input: d.Input})
	}
}

// startBatch makes the calls of a batch that is permitted. They come before it, so
// that it is the last to end. input is what replaced the model's, nil if nothing did.
func (s *State) startBatch(c *call, input json.RawMessage) {
	if input != nil {
		s.proposeBatch(c, llm.ToolUse{ID: c.toolID, Input: input})
	}
	if c.phase != allowed {
		return
	}
	parts := c.parts
	c.phase, c.parts = gathering, nil
	at := slices.IndexFunc(s.calls, func(o call) bool { return o.id == c.id })
	s.calls = slices.Insert(s.calls, at, parts...)
}

// gathered reports whether all calls that a call of a batch tool made have their
// results.
func (s *State) gathered(c *call) bool {
	for i := range s.calls {
		if s.calls[i].batch == c.id && s.calls[i].phase != settled {
			return false
		}
	}
	return true
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

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// maxBatch is how many calls one call of a batch tool may make.
const maxBatch = 25

// unbatch reads the calls in the input of a batch tool. The list, or a call's parameters,
// may also be JSON text.
func unbatch(u *llm.ToolUse) ([]llm.ToolUse, error) {
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

// proposeBatch checks the calls in the input of a batch tool. They start once the batch
// itself is permitted.
func (l *callList) proposeBatch(c *call, u *llm.ToolUse, t *settings, r *run) {
	parts, err := t.tools().parts(c.id, u)
	if err == nil {
		err = l.fits(c, len(parts))
	}
	if err != nil {
		c.refuse(fact.ByTool, toolrun.InvalidInput, "invalid input for %s: %v", c.name, err)
		r.stopRepeatedCall(c.guard, "the input is invalid")
		return
	}
	c.parts = make([]call, len(parts))
	for i := range parts {
		part := &c.parts[i]
		l.make(part, &parts[i], t, r)
		if part.spec.Batch {
			part.refuse(fact.ByTool, toolrun.InvalidInput, "%s cannot be called by %s: make its calls in the same list", part.name, c.name)
		}
	}
}

// fits returns an error if so many calls of a batch are too many for one answer.
func (l *callList) fits(batch *call, more int) error {
	for i := range l.list {
		if c := &l.list[i]; c.id != batch.id {
			more += 1 + len(c.parts)
		}
	}
	if more <= llmconst.MaxBlocks {
		return nil
	}
	return fmt.Errorf("one answer makes at most %d calls, those of batches included; make these calls in your next answer", llmconst.MaxBlocks)
}

// rebatch checks the calls again if a hook has changed the input of a batch that still
// waits for a decision.
func (l *callList) rebatch(c *call, d *permission.Decision, t *settings, r *run) {
	if c.spec.Batch && d.Input != nil && (d.Behavior == permission.Asked || d.Behavior == permission.Deferred) {
		l.proposeBatch(c, &llm.ToolUse{ID: c.toolID, Input: d.Input}, t, r)
	}
}

// startBatch makes the calls of a permitted batch. They come before it, so that it is the
// last to end. input is the replacement of the model's input, nil if there is none.
func (l *callList) startBatch(c *call, input json.RawMessage, t *settings, r *run) {
	if input != nil {
		l.proposeBatch(c, &llm.ToolUse{ID: c.toolID, Input: input}, t, r)
	}
	if c.phase != allowed {
		return
	}
	parts := c.parts
	c.phase, c.parts = gathering, nil
	at := order.Find(len(l.list), func(i int) bool { return l.list[i].id == c.id })
	l.list = append(l.list[:at:at], append(parts, l.list[at:]...)...)
}

// gathered reports whether all calls that a call of a batch tool made have their
// results.
func (l *callList) gathered(c *call) bool {
	for i := range l.list {
		if l.list[i].batch == c.id && l.list[i].phase != settled {
			return false
		}
	}
	return true
}

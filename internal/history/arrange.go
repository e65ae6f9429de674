package history

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/openagent-go/agent/llm"
)

// A step is a message of a conversation in order. An answer has a place for the
// result of each of its calls, whose content is nil where none is known.
type step struct {
	Turn
	results []llm.ToolResult
}

// arrange puts turns in order.
func arrange(turns []Turn) []step {
	var steps []step
	for _, t := range turns {
		if t.Message.Role == llm.Assistant {
			steps = answered(steps, t)
			continue
		}
		var rest llm.Blocks
		for _, b := range t.Message.Content {
			if r, ok := b.(llm.ToolResult); ok {
				give(steps, r)
			} else if b != nil {
				rest = append(rest, b)
			}
		}
		if len(rest) > 0 {
			t.Message = llm.Message{Role: llm.User, Content: rest}
			steps = append(steps, step{Turn: t})
		}
	}
	return steps
}

// answered adds an answer. One that follows another without calls continues it.
func answered(steps []step, t Turn) []step {
	var content llm.Blocks
	for _, b := range t.Message.Content {
		switch b := b.(type) {
		case llm.ToolUse:
			content = append(content, sound(b))
		case llm.ToolResult, llm.Image, llm.Document, nil:
		case llm.Text:
			if b.Text != "" {
				content = append(content, b)
			}
		default:
			content = append(content, b)
		}
	}
	if len(content) == 0 {
		return steps
	}
	t.Message = llm.Message{Role: llm.Assistant, Content: content}
	s := step{Turn: t}
	for _, u := range t.Message.ToolUses() {
		s.results = append(s.results, llm.ToolResult{ID: u.ID})
	}
	if n := len(steps); n > 0 && steps[n-1].Message.Role == llm.Assistant && len(steps[n-1].results) == 0 {
		before := &steps[n-1]
		before.Message.Content = slices.Concat(before.Message.Content, content)
		before.Usage, before.results = before.Usage.Add(t.Usage), s.results
		return steps
	}
	return append(steps, s)
}

// sound returns a call whose input is an object and whose tool has a name.
func sound(u llm.ToolUse) llm.ToolUse {
	if u.Name == "" {
		u.Name = "unknown"
	}
	if !json.Valid(u.Input) || !bytes.HasPrefix(bytes.TrimSpace(u.Input), []byte("{")) {
		u.Input = json.RawMessage("{}")
	}
	u.Invalid = ""
	return u
}

// give attaches a result to the call that waits for it in the last answer.
func give(steps []step, r llm.ToolResult) {
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		if s.Message.Role != llm.Assistant {
			continue
		}
		for k := range s.results {
			if s.results[k].ID == r.ID && s.results[k].Content == nil {
				if r.Content == nil {
					r.Content = llm.Blocks{}
				}
				s.results[k] = r
				return
			}
		}
		return
	}
}

// toolsOf returns the names of the tools that are called, in the order of their
// first calls.
func toolsOf(steps []step) []string {
	var names []string
	for _, s := range steps {
		for _, b := range s.Message.Content {
			if u, ok := b.(llm.ToolUse); ok && !slices.Contains(names, u.Name) {
				names = append(names, u.Name)
			}
		}
	}
	return names
}

package timeline

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

// maxWhat is how many characters of an input or a message a span keeps.
const maxWhat = 200

// what says in a line what a call does: by the most telling text of its input.
func what(input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, name := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "name", "description", "prompt", "subject", "question"} {
		if s, ok := in[name].(string); ok && strings.TrimSpace(s) != "" {
			return text.Runes(text.OneLine(s), maxWhat)
		}
	}
	return ""
}

// parts returns the calls in the input of a batch.
func parts(input json.RawMessage) []llm.ToolUse {
	if !bytes.Contains(input, []byte(`"tool_calls"`)) {
		return nil
	}
	var in struct {
		Calls json.RawMessage `json:"tool_calls"`
	}
	var calls []struct {
		Tool       string          `json:"tool"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(unquoted(in.Calls), &calls) != nil {
		return nil
	}
	var out []llm.ToolUse
	for _, c := range calls {
		out = append(out, llm.ToolUse{Name: c.Tool, Input: unquoted(c.Parameters)})
	}
	return out
}

// unquoted returns the JSON in a JSON string, any other value as it is.
func unquoted(v json.RawMessage) json.RawMessage {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return v
}

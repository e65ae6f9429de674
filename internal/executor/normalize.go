package executor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/openagent-go/agent/llm"
)

// normalizeContent gives raw JSON the form that it has when read from a journal. So a
// resumed run makes the same requests, byte for byte. It removes blocks that no journal
// accepts.
func normalizeContent(content llm.Blocks) llm.Blocks {
	if !slices.ContainsFunc(content, needsNormalizing) {
		return content
	}
	var out llm.Blocks
	for _, b := range content {
		switch t := b.(type) {
		case nil:
			continue
		case llm.ToolUse:
			if input, ok := compactJSON(t.Input); ok {
				t.Input = input
			} else {
				t.Input, t.Invalid = json.RawMessage("{}"), cmp.Or(t.Invalid, string(t.Input))
			}
			b = t
		case llm.Thinking:
			t.Extra, _ = compactJSON(t.Extra)
			b = t
		case llm.Verbatim:
			raw, ok := compactJSON(t.Raw)
			if t.Raw = raw; !ok {
				b = llm.Text{Text: t.Shown}
				break
			}
			b = t
		}
		out = append(out, b)
	}
	return out
}

// needsNormalizing reports whether normalizeContent would change a block.
func needsNormalizing(b llm.Block) bool {
	switch t := b.(type) {
	case nil:
		return true
	case llm.ToolUse:
		return !isCompactJSON(t.Input)
	case llm.Thinking:
		return !isCompactJSON(t.Extra)
	case llm.Verbatim:
		return !isCompactJSON(t.Raw)
	}
	return false
}

// compactJSON returns raw without extra space. ok is false if raw is not JSON.
func compactJSON(raw json.RawMessage) (compacted json.RawMessage, ok bool) {
	if isCompactJSON(raw) {
		return raw, true
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// isCompactJSON reports whether raw is nil, or JSON without extra space.
func isCompactJSON(raw json.RawMessage) bool {
	if raw == nil {
		return true
	}
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case ' ', '\n', '\t', '\r':
			if !quoted {
				return false
			}
		}
	}
	return json.Valid(raw)
}

package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// kind returns the name of b on the wire, "" for a foreign type.
func kind(b Block) string {
	switch b.(type) {
	case Text:
		return "text"
	case Thinking:
		return "thinking"
	case RedactedThinking:
		return "redacted_thinking"
	case Image:
		return "image"
	case Document:
		return "document"
	case ToolUse:
		return "tool_use"
	case ToolResult:
		return "tool_result"
	case Verbatim:
		return "verbatim"
	}
	return ""
}

var decoders = map[string]func([]byte) (Block, error){
	"text":              decode[Text],
	"thinking":          decode[Thinking],
	"redacted_thinking": decode[RedactedThinking],
	"image":             decode[Image],
	"document":          decode[Document],
	"tool_use":          decode[ToolUse],
	"tool_result":       decode[ToolResult],
	"verbatim":          decode[Verbatim],
}

func decode[B Block](data []byte) (Block, error) {
	var b B
	err := json.Unmarshal(data, &b)
	return b, err
}

// marshal is json.Marshal without the escapes for HTML, so that the bytes of a
// tool's input come back from a journal as they were.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalJSON writes each block as an object with a "type" member.
func (bs Blocks) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, b := range bs {
		k := kind(b)
		if k == "" {
			return nil, fmt.Errorf("llm: unknown block %T", b)
		}
		data, err := marshal(b)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"type":%q`, k)
		if len(data) > 2 {
			out = append(out, ',')
		}
		out = append(out, data[1:]...)
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads the form that MarshalJSON writes. A block of an unknown type is an
// error.
func (bs *Blocks) UnmarshalJSON(data []byte) error {
	if all, ok := texts(data); ok {
		*bs = all
		return nil
	}
	return bs.any(data)
}

// any reads blocks of all kinds.
func (bs *Blocks) any(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*bs = nil
	for _, r := range raw {
		var tag struct{ Type string }
		if err := json.Unmarshal(r, &tag); err != nil {
			return err
		}
		dec, ok := decoders[tag.Type]
		if !ok {
			return fmt.Errorf("llm: unknown block type %q", tag.Type)
		}
		b, err := dec(r)
		if err != nil {
			return fmt.Errorf("llm: %s block: %w", tag.Type, err)
		}
		*bs = append(*bs, b)
	}
	return nil
}

// Package contentjson writes and reads content as objects of the Anthropic Messages API
// (https://platform.claude.com/docs/en/api/messages). Programs that speak stream-json
// exchange content in this form. It loses nothing; requests to the API are built by
// internal/claude, which follows the limits of the API as well.
package contentjson

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/llm"
)

type (
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	redactedBlock struct {
		Type string `json:"type"`
		Data string `json:"data"`
	}
	sourceBlock struct {
		Type   string `json:"type"`
		Source Source `json:"source"`
		Title  string `json:"title,omitempty"`
	}
	toolUseBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	toolResultBlock struct {
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
		Content   any    `json:"content"`
		IsError   bool   `json:"is_error"`
	}
)

// A Source holds the data of an image or a document.
type Source struct {
	Type      string `json:"type"` // base64 or text
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// Bytes returns the data.
func (s Source) Bytes() ([]byte, error) {
	switch s.Type {
	case "base64":
		data, err := base64.StdEncoding.DecodeString(s.Data)
		if err != nil {
			return nil, fmt.Errorf("the data of the source is not base64: %w", err)
		}
		return data, nil
	case "text":
		return []byte(s.Data), nil
	}
	return nil, fmt.Errorf("the source has the type %.50q; use base64 or text, and send the content instead of a URL", s.Type)
}

// Blocks returns content as a list of objects.
func Blocks(bs llm.Blocks) []any {
	out := make([]any, 0, len(bs))
	for _, b := range bs {
		out = append(out, Block(b))
	}
	return out
}

// Block returns a block as an object.
func Block(b llm.Block) any {
	switch b := b.(type) {
	case llm.Text:
		return textBlock{"text", b.Text}
	case llm.Thinking:
		return thinkingBlock{"thinking", b.Text, b.Signature}
	case llm.RedactedThinking:
		return redactedBlock{"redacted_thinking", b.Data}
	case llm.Image:
		return sourceBlock{Type: "image", Source: Source{"base64", b.MediaType, base64.StdEncoding.EncodeToString(b.Data)}}
	case llm.Document:
		s := Source{"base64", b.MediaType, base64.StdEncoding.EncodeToString(b.Data)}
		if strings.HasPrefix(b.MediaType, "text/") {
			s = Source{"text", b.MediaType, string(b.Data)}
		}
		return sourceBlock{Type: "document", Source: s, Title: b.Title}
	case llm.ToolUse:
		return toolUseBlock{"tool_use", b.ID, b.Name, Input(b)}
	case llm.ToolResult:
		return toolResultBlock{"tool_result", b.ID, Short(b.Content), b.IsError}
	case llm.Verbatim:
		return b.Raw
	}
	return textBlock{"text", ""}
}

// Input returns the input of a call as an object, even if the model wrote none.
func Input(u llm.ToolUse) json.RawMessage {
	if len(u.Input) == 0 || !json.Valid(u.Input) {
		return json.RawMessage(`{}`)
	}
	return u.Input
}

// Short returns a string if the content is only text, else a list of objects.
func Short(bs llm.Blocks) any {
	for _, b := range bs {
		if _, ok := b.(llm.Text); !ok {
			return Blocks(bs)
		}
	}
	return bs.Text()
}

var errForm = errors.New("the content must be a string or a list of blocks")

// Parse reads content: a string, or a list of objects. A block of another type, or with
// members that are not understood, becomes an [llm.Verbatim].
func Parse(raw json.RawMessage) (llm.Blocks, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return llm.Blocks{llm.Text{Text: text}}, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, errForm
	}
	bs := make(llm.Blocks, 0, len(list))
	for _, r := range list {
		bs = append(bs, parseBlock(r))
	}
	return bs, nil
}

// wireBlock has the members of all blocks.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Title     string          `json:"title"`
	Source    Source          `json:"source"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Citations json.RawMessage `json:"citations"`
}

func parseBlock(raw json.RawMessage) llm.Block {
	var w wireBlock
	if json.Unmarshal(raw, &w) == nil {
		if b := w.block(); b != nil {
			return b
		}
	}
	return llm.Verbatim{Provider: "anthropic", Raw: raw, Shown: w.Text}
}

// block returns nil for a block that has no type of its own.
func (w *wireBlock) block() llm.Block {
	switch w.Type {
	case "text":
		if len(w.Citations) == 0 || string(w.Citations) == "null" {
			return llm.Text{Text: w.Text}
		}
	case "thinking":
		return llm.Thinking{Text: w.Thinking, Signature: w.Signature}
	case "redacted_thinking":
		return llm.RedactedThinking{Data: w.Data}
	case "image", "document":
		data, err := w.Source.Bytes()
		if err != nil {
			return nil
		}
		if w.Type == "image" {
			return llm.Image{MediaType: w.Source.MediaType, Data: data}
		}
		return llm.Document{MediaType: w.Source.MediaType, Title: w.Title, Data: data}
	case "tool_use":
		return llm.ToolUse{ID: w.ID, Name: w.Name, Input: w.Input}
	case "tool_result":
		r := llm.ToolResult{ID: w.ToolUseID, IsError: w.IsError}
		if len(w.Content) > 0 {
			var err error
			if r.Content, err = Parse(w.Content); err != nil {
				return nil
			}
		}
		return r
	}
	return nil
}

package streamjson

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/llm"
)

// Content in the format of the Anthropic Messages API, which stream-json lines use
// (https://platform.claude.com/docs/en/api/messages).
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
		Source source `json:"source"`
		Title  string `json:"title,omitempty"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
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

// shownBlocks returns content for a line.
func shownBlocks(bs llm.Blocks) []any {
	out := make([]any, 0, len(bs))
	for _, b := range bs {
		out = append(out, shownBlock(b))
	}
	return out
}

func shownBlock(b llm.Block) any {
	switch b := b.(type) {
	case llm.Text:
		return textBlock{"text", b.Text}
	case llm.Thinking:
		return thinkingBlock{"thinking", b.Text, b.Signature}
	case llm.RedactedThinking:
		return redactedBlock{"redacted_thinking", b.Data}
	case llm.Image:
		return sourceBlock{Type: "image", Source: source{"base64", b.MediaType, base64.StdEncoding.EncodeToString(b.Data)}}
	case llm.Document:
		s := source{"base64", b.MediaType, base64.StdEncoding.EncodeToString(b.Data)}
		if strings.HasPrefix(b.MediaType, "text/") {
			s = source{"text", b.MediaType, string(b.Data)}
		}
		return sourceBlock{Type: "document", Source: s, Title: b.Title}
	case llm.ToolUse:
		return toolUseBlock{"tool_use", b.ID, b.Name, inputOf(b)}
	case llm.ToolResult:
		return toolResultBlock{"tool_result", b.ID, shownContent(b.Content), b.IsError}
	case llm.Verbatim:
		return b.Raw
	}
	return textBlock{"text", ""}
}

// inputOf returns the input of a call as an object, even if the model wrote none.
func inputOf(u llm.ToolUse) json.RawMessage {
	if len(u.Input) == 0 || !json.Valid(u.Input) {
		return json.RawMessage(`{}`)
	}
	return u.Input
}

// shownContent returns a string if the content is only text.
func shownContent(bs llm.Blocks) any {
	for _, b := range bs {
		if _, ok := b.(llm.Text); !ok {
			return shownBlocks(bs)
		}
	}
	return bs.Text()
}

var mediaTypes = map[string][]string{
	"image":    {"image/png", "image/jpeg", "image/gif", "image/webp"},
	"document": {"application/pdf", "text/plain"},
}

// parseContent reads the content of a user message: a string, or blocks of
// text, images and documents.
func parseContent(raw json.RawMessage) (string, []llm.Block, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var list []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Title  string `json:"title"`
		Source source `json:"source"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", nil, errors.New("the content must be a string or a list of blocks")
	}
	var blocks []llm.Block
	for i, b := range list {
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) != "" {
				blocks = append(blocks, llm.Text{Text: b.Text})
			}
		case "image", "document":
			data, err := b.Source.bytes()
			if err != nil {
				return "", nil, fmt.Errorf("block %d: %w", i+1, err)
			}
			if !slices.Contains(mediaTypes[b.Type], b.Source.MediaType) {
				return "", nil, fmt.Errorf("block %d has the media type %q; use one of %s", i+1, cli.Clip(b.Source.MediaType), strings.Join(mediaTypes[b.Type], ", "))
			}
			block, err := fitting(b.Type, b.Source.MediaType, b.Title, data)
			if err != nil {
				return "", nil, fmt.Errorf("block %d: %w", i+1, err)
			}
			blocks = append(blocks, block)
		default:
			return "", nil, fmt.Errorf("block %d has the type %q; use text, image or document", i+1, cli.Clip(b.Type))
		}
	}
	return "", blocks, nil
}

// fitting returns content in a form that providers accept. It does not trust the host's image type.
func fitting(kind, mediaType, title string, data []byte) (llm.Block, error) {
	switch {
	case kind == "image":
		p, err := media.Image(data)
		return p.Image, err
	case mediaType == "application/pdf":
		return media.PDF(title, data)
	}
	return llm.Document{MediaType: mediaType, Title: title, Data: data}, nil
}

func (s source) bytes() ([]byte, error) {
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
	return nil, fmt.Errorf("the source has the type %q; use base64 or text, and send the content instead of a URL", cli.Clip(s.Type))
}

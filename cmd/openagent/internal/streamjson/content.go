package streamjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/llm"
)

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
		Type   string             `json:"type"`
		Text   string             `json:"text"`
		Title  string             `json:"title"`
		Source contentjson.Source `json:"source"`
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
			data, err := b.Source.Bytes()
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

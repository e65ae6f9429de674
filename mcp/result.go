package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

const (
	maxBlocks = 200     // of a result
	maxImage  = 3750000 // bytes: 5 MB in base64, the limit of Anthropic
	maxImages = 20
	maxLine   = 500 // bytes of a name, a URI or a description in a line
)

// result makes the model's result of a server's answer. It shows images of types that
// providers accept, and names the type of other bytes.
func result(res *sdk.CallToolResult) *tool.Result {
	r := &tool.Result{IsError: res.IsError}
	images := 0
	say := func(format string, args ...any) {
		r.Content = append(r.Content, llm.Text{Text: fmt.Sprintf(format, args...)})
	}
	show := func(what, mime string, data []byte) {
		if kind := imageKind(data); kind != "" && len(data) <= maxImage && images < maxImages {
			images++
			r.Content = append(r.Content, llm.Image{MediaType: kind, Data: data})
			return
		}
		say("[%s: %d bytes of %s, not shown]", what, len(data), cmp.Or(line(mime), "an unknown type"))
	}
	for _, c := range res.Content[:min(len(res.Content), maxBlocks)] {
		switch c := c.(type) {
		case *sdk.TextContent:
			say("%s", strings.ToValidUTF8(c.Text, "�"))
		case *sdk.ImageContent:
			show("image", c.MIMEType, c.Data)
		case *sdk.AudioContent:
			say("[audio: %d bytes of %s, not shown]", len(c.Data), cmp.Or(line(c.MIMEType), "an unknown type"))
		case *sdk.ResourceLink:
			say("%s", link(c))
		case *sdk.EmbeddedResource:
			switch {
			case c.Resource == nil:
			case c.Resource.Blob != nil:
				show("resource "+line(c.Resource.URI), c.Resource.MIMEType, c.Resource.Blob)
			default:
				say("[resource %s]\n%s", line(c.Resource.URI), strings.ToValidUTF8(c.Resource.Text, "�"))
			}
		}
	}
	if more := len(res.Content) - maxBlocks; more > 0 {
		say("[%d more parts, not shown]", more)
	}
	if data, err := json.Marshal(res.StructuredContent); err == nil && res.StructuredContent != nil {
		if _, ok := res.StructuredContent.(object); ok {
			r.Details = data
		}
		if len(r.Content) == 0 { // else the content is the same for readers
			say("%s", data)
		}
	}
	if len(r.Content) == 0 {
		say("The tool returned nothing.")
	}
	return r
}

func link(c *sdk.ResourceLink) string {
	s := "[resource " + line(c.URI)
	if name := cmp.Or(c.Title, c.Name); name != "" {
		s += ": " + line(name)
	}
	if c.MIMEType != "" {
		s += " (" + line(c.MIMEType) + ")"
	}
	if c.Description != "" {
		s += ", " + line(c.Description)
	}
	return s + "]"
}

// line is a foreign text in one line, without terminal control sequences.
func line(s string) string {
	return text.Bytes(text.OneLine(text.Clean(text.Bytes(s, 4*maxLine))), maxLine)
}

// told is a longer foreign text, without terminal control sequences.
func told(s string) string {
	return text.Bytes(text.Clean(text.Bytes(s, 4*maxDescription)), maxDescription)
}

// imageKind is the type of an image that providers take, by its content.
func imageKind(data []byte) string {
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

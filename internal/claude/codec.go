package claude

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// Limits of images and documents, from the API's own messages.
const (
	maxImage      = 5 << 20 // bytes of base64
	maxDocument   = 32 << 20
	maxSide       = 8000 // pixels
	maxSideInMany = 2000 // pixels, when there are more than 20 images
	maxName       = 128
)

var toolIDs = wire.IDs{Max: 64, Narrow: true, Once: true}

// codec encodes content blocks. A turn is one message.
type codec struct {
	noImages, noPDF bool   // content that the model does not read
	model           string // the model whose own thoughts it takes back
}

func (c codec) Block(t *wire.Turn, b llm.Block, id string, crowded bool) {
	switch b := b.(type) {
	case llm.Text:
		addText(t, b.Text)
	case llm.Image:
		if t.Role == llm.User {
			kind, data := c.image(b, crowded)
			t.Add(kind, data)
		}
	case llm.Document:
		if t.Role == llm.User {
			kind, data := c.document(b)
			t.Add(kind, data)
		}
	case llm.Thinking:
		// Extra marks the reasoning of other providers. Reasoning without a signature is
		// another provider's too.
		if t.Role == llm.Assistant && b.Signature != "" && b.Extra == nil && t.MadeBy(c.model) {
			data := wire.AppendString([]byte(`{"type":"thinking","thinking":`), b.Text)
			data = wire.AppendString(append(data, `,"signature":`...), b.Signature)
			t.Add(wire.Thought, append(data, '}'))
		}
	case llm.RedactedThinking:
		if t.Role == llm.Assistant && b.Data != "" && t.MadeBy(c.model) {
			t.Add(wire.Thought, append(wire.AppendString([]byte(`{"type":"redacted_thinking","data":`), b.Data), '}'))
		}
	case llm.ToolUse:
		data := wire.AppendString([]byte(`{"type":"tool_use","id":`), id)
		data = wire.AppendString(append(data, `,"name":`...), wire.ToolName(b.Name, maxName))
		data = wire.AppendObject(append(data, `,"input":`...), b.Input)
		t.Add(wire.Call, append(data, '}'))
	case llm.ToolResult:
		t.Add(wire.Answer, c.result(b, id, crowded))
	case llm.Verbatim:
		if t.Role == llm.Assistant {
			verbatim(t, b)
		}
	}
}

func addText(t *wire.Turn, s string) {
	if !wire.Blank(s) {
		t.Add(wire.Words, text(s))
	}
}

//go:noinline // called from many places: every program stays smaller
func text(s string) []byte {
	return append(wire.AppendString([]byte(`{"type":"text","text":`), s), '}')
}

// image encodes an image. If the image is left out, it encodes the reason in words.
func (c codec) image(i llm.Image, crowded bool) (wire.Kind, []byte) {
	media, why := wire.Pictures{None: c.noImages, Most: maxImage, Side: maxSide, SideInMany: maxSideInMany}.Check(i, crowded)
	if why != "" {
		return wire.Words, text(why)
	}
	return wire.Media, source("image", media, i.Data, "")
}

// source encodes a block with base64 data.
func source(kind, media string, data []byte, title string) []byte {
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+len(title)+128)
	out = fmt.Appendf(out, `{"type":%q,"source":{"type":"base64","media_type":%q,"data":"`, kind, media)
	out = append(base64.StdEncoding.AppendEncode(out, data), `"}`...)
	return append(appendTitle(out, title), '}')
}

func appendTitle(out []byte, title string) []byte {
	if wire.Blank(title) {
		return out
	}
	return wire.AppendString(append(out, `,"title":`...), title)
}

func (c codec) document(d llm.Document) (wire.Kind, []byte) {
	switch {
	case d.MediaType == "application/pdf" && !c.noPDF && len(d.Data) > 0 && base64.StdEncoding.EncodedLen(len(d.Data)) <= maxDocument:
		return wire.Media, source("document", d.MediaType, d.Data, d.Title)
	case d.MediaType == "text/plain" && !wire.Blank(string(d.Data)):
		out := wire.AppendString([]byte(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":`), string(d.Data))
		return wire.Media, append(appendTitle(append(out, '}'), d.Title), '}')
	}
	return wire.Words, text(wire.NoDocument(d))
}

func (c codec) result(r llm.ToolResult, id string, crowded bool) []byte {
	inside := &wire.Turn{Role: llm.User}
	for _, b := range r.Content {
		if wire.InResult(b) {
			c.Block(inside, b, "", crowded)
		}
	}
	if len(inside.Parts) == 0 && r.IsError {
		addText(inside, "The tool failed without a message.")
	}
	out := append(make([]byte, 0, inside.Size()+128), `{"type":"tool_result","tool_use_id":`...)
	out = wire.AppendString(out, id)
	if len(inside.Parts) > 0 {
		out = append(join(append(out, `,"content":[`...), inside.Parts), ']')
	}
	if r.IsError {
		out = append(out, `,"is_error":true`...)
	}
	return append(out, '}')
}

func join(dst []byte, parts []wire.Part) []byte {
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p.Data...)
	}
	return dst
}

// verbatim adds a block of this provider unchanged, and the text of another provider's
// block.
func verbatim(t *wire.Turn, v llm.Verbatim) {
	var head struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		ToolUseID string `json:"tool_use_id"`
		Text      string `json:"text"`
	}
	if v.Provider != provider || json.Unmarshal(v.Raw, &head) != nil || head.Type == "" {
		addText(t, v.Shown)
		return
	}
	part := wire.Part{Kind: wire.Other, Data: wire.AppendObject(nil, v.Raw)}
	switch {
	case head.Type == "text" && wire.Blank(head.Text):
		return
	case head.Type == "text":
		part.Kind = wire.Words
	case head.Type == "server_tool_use" || head.Type == "mcp_tool_use":
		part.Kind, part.Ref = wire.ServerCall, head.ID
	case strings.HasSuffix(head.Type, "_tool_result"):
		part.Kind, part.Ref = wire.ServerAnswer, head.ToolUseID
	}
	t.Parts = append(t.Parts, part)
}

const (
	userStart      = `{"role":"user","content":[`
	assistantStart = `{"role":"assistant","content":[`
	messageEnd     = `]}`
)

// message returns a user message of one text.
func message(s string) string { return userStart + string(text(s)) + messageEnd }

func (codec) Turn(dst []byte, t *wire.Turn, last bool) []byte {
	dst = slices.Grow(dst, t.Size()+128)
	parts := make([]wire.Part, 0, len(t.Parts)+1)
	if t.Role == llm.User {
		dst = append(dst, userStart...)
		for _, p := range t.Parts {
			if p.Kind == wire.Answer {
				parts = append(parts, p)
			}
		}
		for _, p := range t.Parts {
			if p.Kind != wire.Answer {
				parts = append(parts, p)
			}
		}
	} else {
		if t.First {
			dst = append(dst, message(wire.NoContent)+","...)
		}
		dst = append(dst, assistantStart...)
		parts = append(parts, paired(t.Parts, last)...)
	}
	// A message must not be empty, and one of the assistant must not end with its thoughts.
	if len(parts) == 0 || parts[len(parts)-1].Kind == wire.Thought {
		parts = append(parts, wire.Part{Data: text(wire.NoContent)})
	}
	return append(join(dst, parts), messageEnd...)
}

// paired leaves out calls of server tools that have no result in the turn, unless the
// result may still come. It also leaves out results without a call.
func paired(parts []wire.Part, last bool) []wire.Part {
	find := func(kind wire.Kind, ref string) bool {
		return slices.ContainsFunc(parts, func(p wire.Part) bool { return p.Kind == kind && p.Ref == ref })
	}
	kept := make([]wire.Part, 0, len(parts))
	for i := range parts { // slices.DeleteFunc would make every program larger
		p := &parts[i]
		if p.Kind == wire.ServerCall && !last && !find(wire.ServerAnswer, p.Ref) || p.Kind == wire.ServerAnswer && !find(wire.ServerCall, p.Ref) {
			continue
		}
		kept = append(kept, *p)
	}
	return kept
}

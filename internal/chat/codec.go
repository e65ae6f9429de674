package chat

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

const (
	maxImage = 20 << 20 // bytes of base64
	maxName  = 64
)

// rule returns the rules for [wire.History].
func (i IDs) rule() wire.IDs {
	if i == IDsNine {
		return wire.IDs{Max: 9, Exact: true}
	}
	return wire.IDs{Max: 40}
}

// unsigned replaces the signature of a call that another model made
// (https://ai.google.dev/gemini-api/docs/thought-signatures).
const unsigned = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// signs reports whether a model refuses calls without a signature.
func signs(model string) bool {
	ok, _ := path.Match("gemini-[3-9]*", strings.ToLower(model[strings.LastIndexByte(model, '/')+1:]))
	return ok
}

// codec encodes content blocks. Its parts hold the inside of a JSON string for words and
// thoughts, an object for calls, answers and media, and the inside of an array for
// reasoning details (kind Other).
type codec struct {
	model  string // the model whose own reasoning it takes back
	echo   Echo
	ids    IDs
	images bool // the model reads images
	gifs   bool // the model reads GIF images
	files  bool // the host takes PDF documents
	bridge bool // the assistant must speak between results of tools and the user
	// calls have signatures, and must have one
	signatures, signed bool
}

func (c codec) Block(t *wire.Turn, b llm.Block, id string, _ bool) {
	switch b := b.(type) {
	case llm.Text:
		t.AddWords(b.Text)
	case llm.Verbatim:
		if t.Role == llm.Assistant {
			t.AddWords(b.Shown)
		}
	case llm.Thinking:
		if t.Role == llm.Assistant {
			c.thinking(t, b)
		}
	case llm.Image:
		if t.Role == llm.User {
			c.image(t, b)
		}
	case llm.Document:
		if t.Role == llm.User {
			t.AddDocument(b, c.files, `{"type":"file","file":{"filename":`, `"}}`)
		}
	case llm.ToolUse:
		data := wire.AppendString([]byte(`{"id":`), id)
		data = wire.AppendString(append(data, `,"type":"function","function":{"name":`...), wire.ToolName(b.Name, maxName))
		data = wire.AppendString(append(data, `,"arguments":`...), string(wire.AppendObject(nil, b.Input)))
		data = append(data, '}')
		if extra := c.extra(b, t.MadeBy(c.model), !t.Has(wire.Call)); extra != nil {
			data = append(append(data, `,"extra_content":`...), extra...)
		}
		t.Add(wire.Call, append(data, '}'))
	case llm.ToolResult:
		c.result(t, b, id)
	}
}

// extra returns the data of a call besides its function, nil if there is none. That is the
// signature, if the call is the model's own. Only the first call of a turn must have one.
func (c codec) extra(u llm.ToolUse, own, first bool) []byte {
	if !c.signatures {
		return nil
	}
	var has struct {
		Google struct {
			Signature string `json:"thought_signature"`
		}
	}
	switch {
	case own && json.Unmarshal(u.Extra, &has) == nil && has.Google.Signature != "":
		return wire.AppendJSON(nil, u.Extra)
	case first && c.signed:
		return []byte(unsigned)
	}
	return nil
}

// thinking keeps the data that the host needs back. A signature without Extra comes from
// Anthropic.
func (c codec) thinking(t *wire.Turn, b llm.Thinking) {
	if c.echo == EchoNone || b.Signature != "" && b.Extra == nil || !t.MadeBy(c.model) {
		return
	}
	if b.Text != "" {
		t.Add(wire.Thought, wire.AppendEscaped(nil, b.Text))
	}
	var details []json.RawMessage
	if c.echo == EchoDetails && json.Unmarshal(b.Extra, &details) == nil && len(details) > 0 {
		inside := bytes.TrimSpace(wire.AppendJSON(nil, b.Extra))
		t.Add(wire.Other, inside[1:len(inside)-1])
	}
}

func (c codec) image(t *wire.Turn, i llm.Image) {
	t.AddPicture(i, wire.Pictures{None: !c.images, NoGIF: !c.gifs, Most: maxImage}, `{"type":"image_url","image_url":{"url":"`, `"}}`)
}

// result adds a tool message. Its images follow in the turn's user message, because only
// user messages may contain images.
func (c codec) result(t *wire.Turn, r llm.ToolResult, id string) {
	inside := &wire.Turn{Role: llm.User}
	for _, b := range r.Content {
		if wire.InResult(b) {
			c.Block(inside, b, "", false)
		}
	}
	out := append(make([]byte, 0, inside.Size()+128), `{"role":"tool","tool_call_id":`...)
	out = append(wire.AppendString(out, id), `,"content":`...)
	t.Add(wire.Answer, append(wire.AppendSpoken(out, inside.Parts, r.IsError), '}'))
	t.AddAttachments(inside, id)
}

func (c codec) Turn(dst []byte, t *wire.Turn, _ bool) []byte {
	dst = slices.Grow(dst, t.Size()+128)
	if t.Role == llm.User {
		return c.userTurn(dst, t.Parts)
	}
	if t.First {
		dst = append(c.userTurn(dst, nil), ',')
	}
	return c.assistant(dst, t)
}

// userTurn appends the tool messages and, for the rest, a user message.
func (c codec) userTurn(dst []byte, parts []wire.Part) []byte {
	bridge := ""
	if c.bridge {
		bridge = `{"role":"assistant","content":"(results received)"}`
	}
	return wire.AppendUserTurn(dst, parts, bridge, userMessage)
}

func userMessage(dst []byte, parts []wire.Part) []byte {
	dst = append(dst, `{"role":"user","content":`...)
	if !slices.ContainsFunc(parts, func(p wire.Part) bool { return p.Kind == wire.Media }) {
		return append(join(dst, parts, wire.Words, `\n\n`), '}')
	}
	dst = append(dst, '[')
	first := true
	for _, p := range parts {
		if p.Kind == wire.Answer {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if p.Kind == wire.Words {
			dst = append(append(append(dst, `{"type":"text","text":"`...), p.Data...), `"}`...)
		} else {
			dst = append(dst, p.Data...)
		}
	}
	return append(dst, `]}`...)
}

// join appends the parts of a kind as one JSON string.
func join(dst []byte, parts []wire.Part, kind wire.Kind, between string) []byte {
	dst = append(dst, '"')
	n := 0
	for _, p := range parts {
		if p.Kind != kind {
			continue
		}
		if n++; n > 1 {
			dst = append(dst, between...)
		}
		dst = append(dst, p.Data...)
	}
	return append(dst, '"')
}

// list appends the parts of a kind with commas between them.
func list(dst []byte, parts []wire.Part, kind wire.Kind) []byte {
	n := 0
	for _, p := range parts {
		if p.Kind != kind {
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, p.Data...)
	}
	return dst
}

func (c codec) assistant(dst []byte, t *wire.Turn) []byte {
	dst = append(dst, `{"role":"assistant"`...)
	calls := t.Has(wire.Call)
	switch {
	case t.Has(wire.Words):
		dst = join(append(dst, `,"content":`...), t.Parts, wire.Words, "")
	case !calls:
		dst = append(dst, `,"content":"`+wire.NoContent+`"`...)
	}
	switch c.echo {
	case EchoContent, EchoAlways:
		if calls && (c.echo == EchoAlways || t.Has(wire.Thought)) {
			dst = join(append(dst, `,"reasoning_content":`...), t.Parts, wire.Thought, "")
		}
	case EchoReasoning:
		if calls && t.Has(wire.Thought) {
			dst = join(append(dst, `,"reasoning":`...), t.Parts, wire.Thought, "")
		}
	case EchoDetails:
		if t.Has(wire.Thought) {
			dst = join(append(dst, `,"reasoning":`...), t.Parts, wire.Thought, "")
		}
		if t.Has(wire.Other) {
			dst = append(list(append(dst, `,"reasoning_details":[`...), t.Parts, wire.Other), ']')
		}
	}
	if calls {
		dst = append(list(append(dst, `,"tool_calls":[`...), t.Parts, wire.Call), ']')
	}
	return append(dst, '}')
}

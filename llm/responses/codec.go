package responses

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

const (
	maxImage = 20 << 20 // bytes of base64
	maxName  = 64
)

var toolIDs = wire.IDs{Max: 64, Narrow: true, Once: true}

// codec encodes content blocks. Its parts hold the inside of a JSON string for words, a
// content part for media, and an item for everything else. A part of kind Other names in
// Ref the phase of the words before it.
type codec struct {
	model  string // the model whose own reasoning and items it takes back
	own    bool   // OpenAI or Azure: results of tools may contain images and files
	images bool   // the model reads images
	files  bool   // the model reads PDF documents
	seen   set    // ids of items: the API refuses an id that comes twice
}

type set map[string]bool

// fresh reports whether an id is unused in the transcript. The first block of the first
// turn begins a transcript.
func (c codec) fresh(id string) bool {
	if id == "" || c.seen == nil {
		return true
	}
	was := c.seen[id]
	c.seen[id] = true
	return !was
}

func (c codec) Block(t *wire.Turn, b llm.Block, id string, _ bool) {
	if t.First && len(t.Parts) == 0 {
		clear(c.seen)
	}
	switch b := b.(type) {
	case llm.Text:
		t.AddWords(b.Text)
	case llm.Verbatim:
		if t.Role == llm.Assistant {
			c.verbatim(t, b)
		}
	case llm.Thinking:
		if t.Role == llm.Assistant && t.MadeBy(c.model) {
			if item, id := reasoningItem(b.Extra); item != nil && c.fresh(id) {
				t.Add(wire.Thought, item)
			}
		}
	case llm.Image:
		if t.Role == llm.User {
			c.image(t, b)
		}
	case llm.Document:
		if t.Role == llm.User {
			t.AddDocument(b, c.files, `{"type":"input_file","filename":`, `"}`)
		}
	case llm.ToolUse:
		data := wire.AppendString([]byte(`{"type":"function_call","call_id":`), id)
		data = wire.AppendString(append(data, `,"name":`...), wire.ToolName(b.Name, maxName))
		data = wire.AppendString(append(data, `,"arguments":`...), string(wire.AppendObject(nil, b.Input)))
		t.Add(wire.Call, append(data, '}'))
	case llm.ToolResult:
		c.result(t, b, id)
	}
}

// reasoning is a reasoning item in the form in which it is sent back: without a status, and
// without an id that the API would refuse.
type reasoning struct {
	Type      string            `json:"type"`
	ID        string            `json:"id,omitempty"`
	Summary   []json.RawMessage `json:"summary"`
	Content   []json.RawMessage `json:"content,omitempty"`
	Encrypted string            `json:"encrypted_content,omitempty"`
}

var reasoningID = regexp.MustCompile(`^rs[a-zA-Z0-9_-]{1,62}$`)

// reasoningItem returns the encoded reasoning item, and its id. It omits an item that has
// only an id, because nothing is stored under it.
func reasoningItem(raw json.RawMessage) ([]byte, string) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, "" // no item, or another provider's
	}
	var r reasoning
	if json.Unmarshal(raw, &r) != nil || r.Type != "reasoning" || r.Encrypted == "" && len(r.Content) == 0 {
		return nil, ""
	}
	if !reasoningID.MatchString(r.ID) {
		r.ID = ""
	}
	if r.Summary == nil {
		r.Summary = []json.RawMessage{}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, ""
	}
	return wire.AppendJSON(nil, data), r.ID
}

// phaseType marks the Verbatim block that says which phase the text before it
// belongs to: commentary or final_answer.
const phaseType = "phase"

// clientSide are items that the client would have to answer.
var clientSide = []string{"custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request", "function_call", "reasoning"}

// verbatim adds an item of this provider unchanged. Of an item of another provider or model
// it adds the text, without the reasoning that led to it.
func (c codec) verbatim(t *wire.Turn, v llm.Verbatim) {
	var head struct {
		Type  string `json:"type"`
		Phase string `json:"phase"`
		ID    string `json:"id"`
	}
	if v.Provider != provider || json.Unmarshal(v.Raw, &head) != nil || head.Type == "" {
		t.AddWords(v.Shown)
		return
	}
	switch {
	case head.Type == phaseType:
		if head.Phase == "commentary" || head.Phase == "final_answer" {
			t.Parts = append(t.Parts, wire.Part{Kind: wire.Other, Ref: head.Phase})
		}
	case slices.Contains(clientSide, head.Type) || !t.MadeBy(c.model) || !c.fresh(head.ID):
		t.AddWords(v.Shown)
	case head.Type == "message" && wire.Blank(v.Shown):
	default:
		t.Add(wire.ServerCall, wire.AppendObject(nil, v.Raw))
	}
}

func (c codec) image(t *wire.Turn, i llm.Image) {
	t.AddPicture(i, wire.Pictures{None: !c.images, Most: maxImage}, `{"type":"input_image","image_url":"`, `"}`)
}

// result adds the output of a call. Content other than text goes with it if the host is
// known to accept that. Otherwise it follows all outputs, in the turn's message.
func (c codec) result(t *wire.Turn, r llm.ToolResult, id string) {
	inside := &wire.Turn{Role: llm.User}
	for _, b := range r.Content {
		if wire.InResult(b) {
			c.Block(inside, b, "", false)
		}
	}
	out := append(make([]byte, 0, inside.Size()+128), `{"type":"function_call_output","call_id":`...)
	out = append(wire.AppendString(out, id), `,"output":`...)
	if c.own && inside.Has(wire.Media) {
		if r.IsError {
			inside.Parts = slices.Insert(inside.Parts, 0, wire.Part{Kind: wire.Words, Data: []byte("Error:")})
		}
		t.Add(wire.Answer, append(content(out, inside.Parts), '}'))
		return
	}
	t.Add(wire.Answer, append(wire.AppendSpoken(out, inside.Parts, r.IsError), '}'))
	t.AddAttachments(inside, id)
}

// content appends the words and media among the parts as a list.
func content(dst []byte, parts []wire.Part) []byte {
	dst = append(dst, '[')
	n := 0
	for _, p := range parts {
		if p.Kind != wire.Words && p.Kind != wire.Media {
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		if p.Kind == wire.Words {
			dst = append(append(append(dst, `{"type":"input_text","text":"`...), p.Data...), `"}`...)
		} else {
			dst = append(dst, p.Data...)
		}
	}
	return append(dst, ']')
}

func (c codec) Turn(dst []byte, t *wire.Turn, _ bool) []byte {
	dst = slices.Grow(dst, t.Size()+64*len(t.Parts)+128)
	if t.Role == llm.User {
		return userTurn(dst, t.Parts)
	}
	if t.First {
		dst = append(userTurn(dst, nil), ',')
	}
	return assistantTurn(dst, t.Parts)
}

// userTurn appends the outputs of calls and, for the rest, a message.
func userTurn(dst []byte, parts []wire.Part) []byte {
	return wire.AppendUserTurn(dst, parts, "", func(dst []byte, parts []wire.Part) []byte {
		return append(content(append(dst, `{"type":"message","role":"user","content":`...), parts), '}')
	})
}

// assistantTurn appends the items of a turn in order. Words that belong together form one
// message. Reasoning is never sent without its result.
func assistantTurn(dst []byte, parts []wire.Part) []byte {
	start := len(dst)
	last := len(parts) // end of the items that may follow reasoning
	for last > 0 && (parts[last-1].Kind == wire.Thought || parts[last-1].Kind == wire.Other) {
		if parts[last-1].Kind == wire.Other && last > 1 && parts[last-2].Kind == wire.Words {
			break
		}
		last--
	}
	for i := 0; i < last; i++ {
		p := parts[i]
		if p.Kind == wire.Other {
			continue // a phase without words
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		if p.Kind != wire.Words {
			dst = append(dst, p.Data...)
			continue
		}
		dst = append(append(dst, `{"type":"message","role":"assistant","content":"`...), p.Data...)
		for i+1 < last && parts[i+1].Kind == wire.Words {
			i++
			dst = append(dst, parts[i].Data...)
		}
		dst = append(dst, '"')
		if i+1 < last && parts[i+1].Kind == wire.Other {
			i++
			dst = append(append(append(dst, `,"phase":"`...), parts[i].Ref...), '"')
		}
		dst = append(dst, '}')
	}
	if len(dst) == start {
		dst = append(dst, `{"type":"message","role":"assistant","content":"`+wire.NoContent+`"}`...)
	}
	return dst
}

package prompttools

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// A reader makes text and calls out of the deltas of a model.
type reader struct {
	fence string
	left  bool // nothing is a call

	blocks  llm.Blocks  // that are complete
	others  map[int]int // index here, by the index there, of blocks other than text
	text    strings.Builder
	talking bool   // a text block is open; its index is len(blocks)
	line    []byte // the line so far, as far as it is held back
	midway  bool   // a part of the line is out already
	call    *call  // under way
	called  bool
}

// A call is a fenced block.
type call struct {
	use   llm.ToolUse
	named bool            // its name stood beside the fence
	body  strings.Builder // its lines
}

// take returns the deltas to hand on for one from the model.
func (r *reader) take(d llm.Delta) []llm.Delta {
	if d.Done != nil {
		return r.end(d.Done)
	}
	_, isText := d.Block.(llm.Text)
	if at, ok := r.others[d.Index]; ok && d.Block == nil {
		return []llm.Delta{{Index: at, Text: d.Text}}
	}
	if d.Block != nil && !isText {
		out := r.close()
		if r.others == nil {
			r.others = map[int]int{}
		}
		at := len(r.blocks)
		r.others[d.Index] = at
		r.blocks = append(r.blocks, nil) // filled in from the response
		return append(out, llm.Delta{Index: at, Block: d.Block, Text: d.Text})
	}
	return r.write(d.Text)
}

// write takes in text.
func (r *reader) write(s string) []llm.Delta {
	var out []llm.Delta
	for s != "" {
		line, rest, whole := strings.Cut(s, "\n")
		s = rest
		r.line = append(r.line, line...)
		if whole {
			out = append(out, r.endLine("\n")...)
		}
	}
	// Text that cannot become a fence any more need not wait.
	if r.call == nil && !r.mayBeFence() {
		out = append(out, r.say(string(r.line))...)
		r.midway, r.line = r.midway || len(r.line) > 0, r.line[:0]
	}
	return out
}

// maxFence bounds the line of a fence, in bytes.
const maxFence = 1 << 10

// mayBeFence reports whether the line so far is the beginning of a fence, or one.
func (r *reader) mayBeFence() bool {
	if r.left || r.midway || len(r.line) > maxFence {
		return false
	}
	s := string(bytes.TrimLeft(r.line, " \t"))
	return strings.HasPrefix(r.fence, s) || strings.HasPrefix(s, r.fence)
}

// endLine handles the end of a line; end is its line break.
func (r *reader) endLine(end string) []llm.Delta {
	line := string(r.line)
	r.line = r.line[:0]
	switch {
	case r.call != nil && strings.TrimSpace(line) == "```":
		return r.finish(true)
	case r.call != nil:
		r.call.body.WriteString(line + end)
		return nil
	case !r.midway && !r.left && len(line) <= maxFence && strings.HasPrefix(strings.TrimLeft(line, " \t"), r.fence):
		name := strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(line, " \t"), r.fence))
		r.call = &call{use: llm.ToolUse{ID: "call_" + random(6), Name: name}, named: name != ""}
		return r.close()
	}
	r.midway = false
	return r.say(line + end)
}

// say adds to the text, unless a call was written before.
func (r *reader) say(s string) []llm.Delta {
	if s == "" || r.called {
		return nil
	}
	d := llm.Delta{Index: len(r.blocks), Text: s}
	if !r.talking {
		r.talking, d.Block = true, llm.Text{}
	}
	r.text.WriteString(s)
	return []llm.Delta{d}
}

// close ends the text block, if one is open.
func (r *reader) close() []llm.Delta {
	if r.talking {
		r.blocks = append(r.blocks, llm.Text{Text: r.text.String()})
		r.text.Reset()
		r.talking = false
	}
	return nil
}

// finish ends the call. One that is not closed has an input that is not to be trusted.
func (r *reader) finish(closed bool) []llm.Delta {
	c := r.call
	r.call, r.called, r.midway = nil, true, false
	raw := strings.TrimSpace(c.body.String())
	if !c.named && closed {
		raw = c.unnamed(raw)
	}
	if closed && c.use.Name != "" {
		c.use.Input, c.use.Invalid = wire.ToolInput([]byte(raw))
	} else {
		c.use.Input, c.use.Invalid = json.RawMessage(`{}`), raw
		if raw == "" {
			c.use.Invalid = "(not closed)"
		}
	}
	if c.use.Name == "" {
		c.use.Name = "unnamed"
	}
	at := len(r.blocks)
	r.blocks = append(r.blocks, c.use)
	return []llm.Delta{{Index: at, Block: llm.ToolUse{ID: c.use.ID, Name: c.use.Name}, Text: raw}}
}

// unnamed reads a call whose name stands in the block, as some models prefer it,
// and returns its input.
func (c *call) unnamed(raw string) string {
	var whole struct {
		Name             string
		Input, Arguments json.RawMessage
	}
	if json.Unmarshal([]byte(raw), &whole) != nil || whole.Name == "" {
		return raw
	}
	c.use.Name = whole.Name
	if whole.Input == nil {
		whole.Input = whole.Arguments
	}
	return string(whole.Input)
}

// end hands over the response with its calls.
func (r *reader) end(done *llm.Response) []llm.Delta {
	var out []llm.Delta
	if len(r.line) > 0 || r.call != nil {
		out = r.endLine("")
	}
	if r.call != nil {
		// Small models forget the last fence; one that was cut off did not.
		whole := done.Stop == llm.EndTurn && json.Valid([]byte(strings.TrimSpace(r.call.body.String())))
		out = append(out, r.finish(whole)...)
	}
	r.close()
	var kept llm.Blocks
	for _, b := range done.Message.Content {
		if _, isText := b.(llm.Text); !isText {
			kept = append(kept, b)
		}
	}
	for i := range r.blocks {
		if r.blocks[i] == nil && len(kept) > 0 {
			r.blocks[i], kept = kept[0], kept[1:]
		}
	}
	res := *done
	res.Message.Content = nil
	for _, b := range r.blocks {
		if b != nil {
			res.Message.Content = append(res.Message.Content, b)
		}
	}
	if res.Stop == llm.EndTurn && len(res.Message.ToolUses()) > 0 {
		res.Stop = llm.UseTools
	}
	return append(out, llm.Delta{Done: &res})
}

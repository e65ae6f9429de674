package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// maxItems is the most items of one reply.
const maxItems = 1000

// An item is an unfinished piece of output.
type item struct {
	output int // output_index
	kind   string
	id     string
	callID string
	name   string
	text   wire.Text // text, summaries or arguments
	index  int       // index of the block, valid once begun is set
	begun  bool
	parts  int             // parts of the reasoning begun so far
	phase  string          // phase of a message
	marker bool            // the block of the phase has been sent
	final  json.RawMessage // the item once it is done
	refuse bool
	cited  bool
}

// output is an item as the API writes it.
type output struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Phase     string          `json:"phase"`
	Content   []part          `json:"content"`
	Summary   []part          `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	Status    string          `json:"status"`
	Role      json.RawMessage `json:"role"`
}

type part struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Refusal     string            `json:"refusal"`
	Annotations []json.RawMessage `json:"annotations"`
}

// add begins the item at an output_index.
func (d *decoder) add(index int, raw json.RawMessage) (*item, error) {
	var o output
	if len(raw) > 0 && json.Unmarshal(raw, &o) != nil {
		return nil, d.Protocol("output item %d is not valid", index)
	}
	if it := d.at[index]; it != nil && (it.id == o.ID || it.id == "") && it.final == nil {
		return it, nil
	}
	it, err := d.newItem(index, o.Type)
	if err != nil {
		return nil, err
	}
	it.id, it.callID, it.name, it.phase = o.ID, o.CallID, o.Name, o.Phase
	if it.kind == "function_call" {
		if err := d.start(it, llm.ToolUse{ID: it.use().ID, Name: it.name}, []byte(o.Arguments)); err != nil {
			return nil, err
		}
	}
	return it, nil
}

func (d *decoder) newItem(index int, kind string) (*item, error) {
	if len(d.items) == maxItems {
		return nil, d.Protocol("more than %d items in one reply", maxItems)
	}
	it := &item{output: index, kind: kind}
	d.items = append(d.items, it)
	d.at[index] = it
	return it, nil
}

// start sends the first delta of an item's block.
func (d *decoder) start(it *item, b llm.Block, text []byte) error {
	it.begun, it.index = true, d.blocks
	d.blocks++
	return d.Send(llm.Delta{Index: it.index, Block: b, Text: it.text.Add(text)})
}

// kinds are the types of items to which pieces of text belong.
var kinds = map[delta]string{textDelta: "message", refusalDelta: "message", argumentsDelta: "function_call", thoughtDelta: "reasoning"}

// grow adds a piece of text to an item. It begins an item that the host has not announced.
func (d *decoder) grow(kind delta, index int, text []byte) error {
	it := d.at[index]
	if it == nil {
		if kind == argumentsDelta {
			return d.Protocol("arguments for a call that has not begun")
		}
		var err error
		if it, err = d.newItem(index, kinds[kind]); err != nil {
			return err
		}
	}
	if it.kind != kinds[kind] {
		return d.Protocol("a piece of a %s for item %d, which is %s", kinds[kind], index, it.kind)
	}
	it.refuse = it.refuse || kind == refusalDelta
	if len(text) == 0 {
		return nil
	}
	return d.say(it, text)
}

func (d *decoder) say(it *item, text []byte) error {
	if it.begun {
		return d.Send(llm.Delta{Index: it.index, Text: it.text.Add(text)})
	}
	if it.kind == "reasoning" {
		return d.start(it, llm.Thinking{}, text)
	}
	return d.start(it, llm.Text{}, text)
}

// paragraph separates the parts of a summary.
func (d *decoder) paragraph(index int) error {
	it := d.at[index]
	if it == nil || it.kind != "reasoning" {
		return nil
	}
	if it.parts++; it.parts == 1 || it.text.Len() == 0 {
		return nil
	}
	return d.say(it, []byte("\n\n"))
}

// fill adds the missing rest of a text whose whole is known.
func (d *decoder) fill(it *item, text string) error {
	rest, ok := strings.CutPrefix(text, it.text.String())
	if !ok || rest == "" {
		return nil
	}
	return d.say(it, []byte(rest))
}

// done reads a finished item. The stream may not have announced it.
func (d *decoder) done(index int, raw json.RawMessage) error {
	it, err := d.add(index, raw)
	if err != nil {
		return err
	}
	var o output
	if err := json.Unmarshal(raw, &o); err != nil {
		return d.Protocol("output item %d is not valid", index)
	}
	it.kind, it.final = cmp.Or(o.Type, it.kind), bytes.Clone(raw)
	it.id, it.phase = cmp.Or(o.ID, it.id), cmp.Or(o.Phase, it.phase)
	switch it.kind {
	case "message":
		var text strings.Builder
		for _, p := range o.Content {
			text.WriteString(p.Text)
			text.WriteString(p.Refusal)
			it.refuse = it.refuse || p.Type == "refusal"
			it.cited = it.cited || len(p.Annotations) > 0
		}
		if err := d.fill(it, text.String()); err != nil {
			return err
		}
		return d.mark(it)
	case "function_call":
		it.callID, it.name = cmp.Or(o.CallID, it.callID), cmp.Or(o.Name, it.name)
		return d.fill(it, o.Arguments)
	case "reasoning":
		if err := d.fill(it, o.thought()); err != nil || it.begun {
			return err
		}
		return d.start(it, llm.Thinking{}, nil)
	}
	if it.begun {
		return nil
	}
	return d.start(it, it.verbatim(), nil)
}

// thought returns the readable reasoning: its summary, otherwise its text.
func (o *output) thought() string {
	var list []string
	for _, p := range o.Summary {
		list = append(list, p.Text)
	}
	if len(list) == 0 {
		for _, p := range o.Content {
			list = append(list, p.Text)
		}
		return strings.Join(list, "")
	}
	return strings.Join(list, "\n\n")
}

// mark sends the block with the phase of a message.
func (d *decoder) mark(it *item) error {
	if it.phase == "" || it.marker || !it.begun || it.cited {
		return nil
	}
	it.marker = true
	d.blocks++
	return d.Send(llm.Delta{Index: d.blocks - 1, Block: it.phaseBlock()})
}

func (it *item) phaseBlock() llm.Verbatim {
	raw := wire.AppendString([]byte(`{"type":"`+phaseType+`","phase":`), it.phase)
	return llm.Verbatim{Provider: provider, Raw: append(raw, '}')}
}

// verbatim returns an item of one of the provider's tools.
func (it *item) verbatim() llm.Verbatim {
	return llm.Verbatim{Provider: provider, Raw: wire.AppendJSON(nil, it.final)}
}

// content returns the finished blocks of an item, none if it is empty.
func (it *item) content() llm.Blocks {
	if !it.begun {
		return nil
	}
	switch it.kind {
	case "message":
		switch {
		case it.cited:
			return llm.Blocks{llm.Verbatim{Provider: provider, Shown: it.text.String(), Raw: it.message()}}
		case it.marker:
			return llm.Blocks{llm.Text{Text: it.text.String()}, it.phaseBlock()}
		}
		return llm.Blocks{llm.Text{Text: it.text.String()}}
	case "reasoning":
		return llm.Blocks{llm.Thinking{Text: it.text.String(), Extra: it.extra()}}
	case "function_call":
		return llm.Blocks{it.use()}
	}
	return llm.Blocks{it.verbatim()}
}

func (it *item) use() llm.ToolUse {
	use := llm.ToolUse{ID: cmp.Or(it.callID, it.id), Name: it.name}
	if use.ID == "" {
		use.ID = "call_" + strconv.Itoa(it.output)
	}
	use.Input, use.Invalid = wire.ToolInput([]byte(it.text.String()))
	return use
}

// extra returns a reasoning item in the form for sending it back, nil if that is not
// possible.
func (it *item) extra() json.RawMessage {
	raw, _ := reasoningItem(it.final)
	return raw
}

// message returns a message with citations in the form for sending it back. It has no id,
// because nothing is stored under it.
func (it *item) message() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(it.final, &fields) != nil {
		return nil
	}
	raw := append([]byte(`{"type":"message","role":"assistant","content":`), wire.AppendJSON(nil, fields["content"])...)
	if it.phase != "" {
		raw = wire.AppendString(append(raw, `,"phase":`...), it.phase)
	}
	return append(raw, '}')
}

package chat

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

const (
	// maxCalls is the most tool calls of one reply.
	maxCalls = 1000
	// afterFinish is how long a stream may be silent between its finish_reason and its
	// usage or end.
	afterFinish = 10 * time.Second
)

// A decoder turns one reply into deltas and a response.
type decoder struct {
	wire.Draft
	order    []*part // content blocks, as they appeared
	text     *part
	thought  *part
	calls    []*part
	details  details
	refused  bool
	finish   string
	answered bool // a choice was received
	usage    *usage

	scratch []byte
	forms   [3]form // forms of content, reasoning_content and reasoning
}

// A part is an unfinished content block.
type part struct {
	index    int
	text     wire.Text // text, thinking or arguments
	slot     *int      // index that the host gave the call
	id, name string
	extra    json.RawMessage // extra_content of a call
}

func (d *decoder) Whole(body []byte) error {
	if err := d.chunk(body); err != nil {
		return err
	}
	if !d.answered {
		if c, ok := wire.Complain(body); ok {
			return d.Complaint(c)
		}
		return d.Protocol("the reply has no choices")
	}
	return d.end()
}

// Cut ends a stream after its finish_reason, because several hosts send no [DONE]. Any
// other end is a truncation, even if the connection reports no error.
func (d *decoder) Cut(err error) error {
	if d.finish != "" && !d.Cancelled() {
		return d.end()
	}
	return d.Truncated(err, "finish_reason")
}

// Event reads an event, by its form if that is known.
func (d *decoder) Event(data []byte) error {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		if !d.answered {
			return d.Protocol("the stream ended without an answer")
		}
		return d.end()
	}
	for i := range d.forms {
		text, ok := d.forms[i].match(d.scratch[:0], data)
		d.scratch = text[:0]
		if ok {
			return d.say(i > 0, text)
		}
	}
	return d.chunk(data)
}

// say adds text or reasoning.
func (d *decoder) say(thinking bool, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	p, first := &d.text, llm.Block(llm.Text{})
	if thinking {
		p, first = &d.thought, llm.Thinking{}
	}
	if *p != nil {
		return d.Send(llm.Delta{Index: (*p).index, Text: (*p).text.Add(text)})
	}
	*p = d.part()
	return d.Send(llm.Delta{Index: (*p).index, Block: first, Text: (*p).text.Add(text)})
}

// part begins the next content block.
func (d *decoder) part() *part {
	p := &part{index: len(d.order)}
	d.order = append(d.order, p)
	return p
}

// chunk decodes a chunk of a stream or a whole reply.
func (d *decoder) chunk(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return d.Protocol("a chunk is not valid: %v", err)
	}
	if c.failed() {
		complaint, _ := wire.Complain(data)
		return d.Complaint(complaint)
	}
	if d.Res.ID == "" {
		d.Res.ID = c.ID
	}
	if c.Model != "" && !d.answered {
		d.Res.Model = c.Model
	}
	if c.Usage != nil {
		d.usage = c.Usage
	} else if c.Groq.Usage != nil {
		d.usage = c.Groq.Usage
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue
		}
		if err := d.choice(&c.Choices[i]); err != nil {
			return err
		}
		if len(c.Choices) == 1 && c.Choices[i].Finish == "" && c.Usage == nil && c.Groq.Usage == nil {
			d.learn(data, &c.Choices[i].Delta)
		}
	}
	return nil
}

// learn remembers the form of chunks that hold one piece of text and nothing else.
func (d *decoder) learn(data []byte, m *message) {
	if m.Refusal != "" || len(m.Details) > 0 || len(m.ToolCalls) > 0 || m.Function != nil || m.Content.thinking != "" {
		return
	}
	switch {
	case m.Plain1 == "" && m.Plain2 == "" && m.Content.text != "":
		d.forms[0].learn(data, "content", m.Content.text)
	case m.Content.text == "" && m.Plain1 != "" && m.Plain2 == "":
		d.forms[1].learn(data, "reasoning_content", string(m.Plain1))
	case m.Content.text == "" && m.Plain1 == "" && m.Plain2 != "":
		d.forms[2].learn(data, "reasoning", string(m.Plain2))
	}
}

func (d *decoder) choice(c *choice) error {
	d.answered = true
	for _, m := range []*message{&c.Delta, &c.Message} {
		if err := d.message(m); err != nil {
			return err
		}
	}
	if c.Finish == "" || d.finish != "" {
		return nil
	}
	d.finish = string(c.Finish)
	d.SetIdle(afterFinish)
	switch d.finish {
	case "error", "network_error":
		return d.Error(llm.ServerError, "the provider ended its reply with "+d.finish)
	case "insufficient_system_resource":
		return d.Error(llm.Overloaded, "the provider ended its reply with "+d.finish)
	}
	return nil
}

func (d *decoder) message(m *message) error {
	reasoning := []byte(m.reasoning())
	for _, raw := range m.Details {
		shown := d.details.add(raw)
		if m.Plain1 == "" && m.Plain2 == "" {
			reasoning = append(reasoning, shown...)
		}
	}
	if err := d.say(true, reasoning); err != nil {
		return err
	}
	if len(m.Details) > 0 && d.thought == nil {
		d.thought = d.part()
		if err := d.Send(llm.Delta{Index: d.thought.index, Block: llm.Thinking{}}); err != nil {
			return err
		}
	}
	if err := d.say(false, []byte(m.Content.text)); err != nil {
		return err
	}
	if m.Refusal != "" {
		d.refused = true
		if err := d.say(false, []byte(m.Refusal)); err != nil {
			return err
		}
	}
	for i := range m.ToolCalls {
		if err := d.call(&m.ToolCalls[i]); err != nil {
			return err
		}
	}
	if m.Function != nil {
		slot := 0
		return d.call(&toolCall{Index: &slot, Function: *m.Function})
	}
	return nil
}

// call adds a piece of a tool call.
func (d *decoder) call(c *toolCall) error {
	p := d.find(c)
	if p == nil {
		if c.ID == "" && c.Function.Name == "" && c.Function.Arguments == "" {
			return nil
		}
		if len(d.calls) == maxCalls {
			return d.Protocol("more than %d tool calls in one reply", maxCalls)
		}
		p = d.part()
		p.slot, p.id, p.name = c.Index, string(c.ID), string(c.Function.Name)
		p.sign(c.Extra)
		d.calls = append(d.calls, p)
		return d.Send(llm.Delta{Index: p.index, Block: llm.ToolUse{ID: p.id, Name: p.name}, Text: p.text.Add([]byte(c.Function.Arguments))})
	}
	if p.id == "" {
		p.id = string(c.ID)
	}
	if p.name == "" {
		p.name = string(c.Function.Name)
	}
	p.sign(c.Extra)
	if c.Function.Arguments == "" {
		return nil
	}
	return d.Send(llm.Delta{Index: p.index, Text: p.text.Add([]byte(c.Function.Arguments))})
}

// sign keeps the data of a call besides its function, if that is an object.
func (p *part) sign(extra json.RawMessage) {
	if len(extra) > 0 && extra[0] == '{' {
		p.extra = bytes.Clone(extra)
	}
}

// find returns the call to which a piece belongs, nil if the piece begins a new call. Hosts
// omit the index, send the id late or again, or give every call the index 0.
func (d *decoder) find(c *toolCall) *part {
	for i := len(d.calls) - 1; i >= 0; i-- {
		p := d.calls[i]
		sameSlot := c.Index != nil && p.slot != nil && *p.slot == *c.Index
		switch {
		case sameSlot && (c.ID == "" || p.id == "" || p.id == string(c.ID) || c.Function.Name == ""):
			return p
		case c.Index == nil && c.ID != "" && p.id == string(c.ID):
			return p
		case c.Index == nil && c.ID == "" && (c.Function.Name == "" || p.name == ""):
			return p
		}
	}
	return nil
}

// end passes the response to the caller.
func (d *decoder) end() error {
	d.Res.Message = llm.Message{Role: llm.Assistant}
	if d.usage != nil {
		d.Res.Usage = d.usage.normal()
	}
	for _, p := range d.order {
		d.Res.Message.Content = append(d.Res.Message.Content, d.content(p))
	}
	d.Res.Stop = d.stop()
	return d.Done()
}

func (d *decoder) content(p *part) llm.Block {
	switch p {
	case d.text:
		return llm.Text{Text: p.text.String()}
	case d.thought:
		return llm.Thinking{Text: p.text.String(), Signature: d.details.signature, Extra: d.details.json()}
	}
	use := llm.ToolUse{ID: p.id, Name: p.name, Extra: p.extra}
	if use.ID == "" {
		use.ID = "call_" + strconv.Itoa(p.index)
	}
	use.Input, use.Invalid = wire.ToolInput([]byte(p.text.String()))
	return use
}

// stop translates finish_reason. Undocumented reasons stay as they are.
func (d *decoder) stop() llm.StopReason {
	switch d.finish {
	case "length", "max_tokens", "model_length":
		return llm.MaxTokens
	case "content_filter", "sensitive", "refusal":
		return llm.Refusal
	case "", "stop", "tool_calls", "function_call", "tool_use", "end_turn", "eos", "eos_token", "stop_sequence":
		switch {
		case len(d.calls) > 0:
			return llm.UseTools
		case d.refused:
			return llm.Refusal
		}
		return llm.EndTurn
	}
	return llm.StopReason(d.finish)
}

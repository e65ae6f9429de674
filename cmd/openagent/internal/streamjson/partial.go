package streamjson

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// The events of a partial message, in the format of the Messages API
// (https://platform.claude.com/docs/en/build-with-claude/streaming).
type (
	messageStart struct {
		Type    string           `json:"type"`
		Message assistantMessage `json:"message"`
	}
	blockStart struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Block any    `json:"content_block"`
	}
	blockDelta struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta any    `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	messageDelta struct {
		Type  string    `json:"type"`
		Delta stopDelta `json:"delta"`
		Usage usage     `json:"usage"`
	}
	stopDelta struct {
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
	messageStop struct {
		Type string `json:"type"`
	}
	textDelta struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingDelta struct {
		Type     string `json:"type"`
		Thinking string `json:"thinking"`
	}
	inputDelta struct {
		Type string `json:"type"`
		JSON string `json:"partial_json"`
	}
)

// partial turns the deltas of an answer into stream events.
type partial struct {
	put   func(any)
	key   string // id of the model call
	model string
	shown bool   // the message has started
	index int    // index of the current block
	block string // the block's type, or a call's id; "" before the first
	used  usage  // of the message before; a provider counts a message at its end
}

func (p *partial) start(d fact.ModelStart) {
	*p = partial{put: p.put, key: d.Key, model: d.Model, used: p.used}
}

func (p *partial) delta(d event.Data) {
	switch d := d.(type) {
	case event.TextDelta:
		if p.open(d.Key, "text", contentjson.Block(llm.Text{})); d.Text != "" {
			p.put(blockDelta{"content_block_delta", p.index, textDelta{"text_delta", d.Text}})
		}
	case event.ThinkingDelta:
		if p.open(d.Key, "thinking", contentjson.Block(llm.Thinking{})); d.Text != "" {
			p.put(blockDelta{"content_block_delta", p.index, thinkingDelta{"thinking_delta", d.Text}})
		}
	case event.ToolInputDelta:
		if p.open(d.Key, "tool "+d.ID, contentjson.Block(llm.ToolUse{ID: d.ID, Name: d.Tool})); d.Text != "" {
			p.put(blockDelta{"content_block_delta", p.index, inputDelta{"input_json_delta", d.Text}})
		}
	}
}

// open starts the block of a delta if it has not started.
func (p *partial) open(key, block string, start any) {
	if !p.shown {
		p.shown = true
		p.put(messageStart{"message_start", assistantMessage{ID: key, Type: "message", Role: "assistant", Model: p.model, Content: []any{}, Usage: p.used}})
	}
	if p.block == block {
		return
	}
	if p.block != "" {
		p.put(blockStop{"content_block_stop", p.index})
		p.index++
	}
	p.block = block
	p.put(blockStart{"content_block_start", p.index, start})
}

// finish ends a completed message whose pieces were already shown.
func (p *partial) finish(m event.AssistantMessage) {
	if p.block != "" {
		p.put(blockStop{"content_block_stop", p.index})
	}
	p.put(messageDelta{"message_delta", stopDelta{StopReason: stopReason(m.Response.Stop)}, shownUsage(m.Response.Usage)})
	p.put(messageStop{"message_stop"})
	*p = partial{put: p.put, used: shownUsage(m.Response.Usage)}
}

// withdraw drops a failed message. It reports whether any part of it was shown.
func (p *partial) withdraw() bool {
	shown := p.shown
	*p = partial{put: p.put, used: p.used}
	return shown
}

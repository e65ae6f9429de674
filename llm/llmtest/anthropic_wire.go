package llmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// anthropicWire is the Anthropic Messages API, version 2023-06-01.
type anthropicWire struct{}

func (anthropicWire) check(body []byte, _ strictapi.Host) []strictapi.Violation {
	return strictapi.CheckAnthropic(body)
}
func (anthropicWire) checkParsed(v any, _ strictapi.Host) []strictapi.Violation {
	return strictapi.AnthropicValue(v)
}
func (anthropicWire) versionHeader() string                  { return "anthropic-version" }
func (anthropicWire) requestID() string                      { return "Request-Id" }
func (anthropicWire) idPrefix() string                       { return "toolu_" }
func (anthropicWire) read(r *Request, body strictapi.Object) { r.readAnthropic(body) }
func (a anthropicWire) failureEvent(r refusal) []byte        { return event("error", a.failure(r)) }

func (anthropicWire) hasKey(h http.Header) bool {
	return h.Get("X-Api-Key") != "" || hasBearer(h) || strings.HasPrefix(h.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=")
}

func hasBearer(h http.Header) bool {
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return ok && token != ""
}

func (anthropicWire) failure(r refusal) strictapi.Object {
	out := strictapi.Object{"type": "error", "error": strictapi.Object{"type": cmp.Or(r.kind, faultOf(r.status).kind), "message": r.message}}
	if len(r.rules) > 0 {
		out["rules"] = r.rules
	}
	return out
}

func (anthropicWire) body(r llm.Response) strictapi.Object {
	content := []strictapi.Object{}
	for _, b := range r.Message.Content {
		content = append(content, anthropicBlock(b))
	}
	return anthropicMessage(r, content, string(r.Stop), anthropicUsage(r.Usage))
}

func anthropicMessage(r llm.Response, content []strictapi.Object, stop any, usage strictapi.Object) strictapi.Object {
	return strictapi.Object{
		"id": r.ID, "type": "message", "role": "assistant", "model": r.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
}

func anthropicUsage(u llm.Usage) strictapi.Object {
	return strictapi.Object{
		"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
		"cache_creation": strictapi.Object{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWriteHour, "ephemeral_1h_input_tokens": u.CacheWriteHour},
	}
}

// anthropicBlock returns a whole block as the API writes it.
func anthropicBlock(b llm.Block) strictapi.Object {
	switch c := b.(type) {
	case llm.Text:
		return strictapi.Object{"type": "text", "text": c.Text}
	case llm.Thinking:
		return strictapi.Object{"type": "thinking", "thinking": c.Text, "signature": c.Signature}
	case llm.RedactedThinking:
		return strictapi.Object{"type": "redacted_thinking", "data": c.Data}
	case llm.ToolUse:
		out := strictapi.Object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Input}
		if c.Invalid != "" {
			out["input"] = c.Invalid
		}
		return out
	case llm.Verbatim:
		v, _ := strictapi.Parse(c.Raw) // invalid JSON becomes an empty object
		return strictapi.ObjectOf(v)
	}
	return strictapi.Object{"type": "text", "text": ""}
}

// events returns the events of a stream, pings and cumulative usage included.
func (anthropicWire) events(r llm.Response, _ *Request, pieces int) [][]byte {
	usage := anthropicUsage(r.Usage)
	usage["output_tokens"] = min(1, r.Usage.Output)
	out := [][]byte{
		event("message_start", strictapi.Object{"message": anthropicMessage(r, []strictapi.Object{}, nil, usage)}),
		event("ping", strictapi.Object{}),
	}
	for i, b := range r.Message.Content {
		out = append(out, anthropicBlockEvents(i, b, pieces)...)
	}
	return append(out,
		event("message_delta", strictapi.Object{"delta": strictapi.Object{"stop_reason": r.Stop, "stop_sequence": nil}, "usage": anthropicUsage(r.Usage)}),
		event("message_stop", strictapi.Object{}))
}

func anthropicBlockEvents(index int, b llm.Block, pieces int) [][]byte {
	start := anthropicBlock(b)
	var deltas []strictapi.Object
	switch c := b.(type) {
	case llm.Text:
		start["text"] = ""
		deltas = anthropicDeltas("text_delta", "text", split(c.Text, pieces))
	case llm.Thinking:
		start["thinking"], start["signature"] = "", ""
		deltas = anthropicDeltas("thinking_delta", "thinking", split(c.Text, pieces))
		deltas = append(deltas, strictapi.Object{"type": "signature_delta", "signature": c.Signature})
	case llm.ToolUse:
		start["input"] = strictapi.Object{}
		deltas = anthropicDeltas("input_json_delta", "partial_json", append([]string{""}, split(inputText(c), pieces)...))
	}
	out := [][]byte{event("content_block_start", strictapi.Object{"index": index, "content_block": start})}
	for _, d := range deltas {
		out = append(out, event("content_block_delta", strictapi.Object{"index": index, "delta": d}))
	}
	return append(out, event("content_block_stop", strictapi.Object{"index": index}))
}

func anthropicDeltas(kind, field string, pieces []string) []strictapi.Object {
	var out []strictapi.Object
	for _, p := range pieces {
		out = append(out, strictapi.Object{"type": kind, field: p})
	}
	return out
}

// event encodes a server-sent event whose data has its name as type.
func event(name string, data strictapi.Object) []byte {
	data["type"] = name
	return []byte("event: " + name + "\ndata: " + encode(data) + "\n\n")
}

// encode returns v as JSON that keeps <, > and & as they are.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `{"error":{"message":` + strings.TrimSpace(encode(err.Error())) + `}}`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

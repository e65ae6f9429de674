package llmtest

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// openaiWire is the OpenAI Chat Completions API. Thinking goes as
// reasoning_content, as several compatible hosts send it.
type openaiWire struct{}

func (openaiWire) check(body []byte, host strictapi.Host) []strictapi.Violation {
	return strictapi.CheckHost(body, hostOr(host))
}
func (openaiWire) checkParsed(v any, host strictapi.Host) []strictapi.Violation {
	return strictapi.OpenAIValue(v, hostOr(host))
}
func (openaiWire) hasKey(h http.Header) bool              { return hasBearer(h) || h.Get("Api-Key") != "" }
func (openaiWire) versionHeader() string                  { return "" }
func (openaiWire) requestID() string                      { return "X-Request-Id" }
func (openaiWire) idPrefix() string                       { return "call_" }
func (openaiWire) read(r *Request, body strictapi.Object) { r.readOpenAI(body) }
func (o openaiWire) failureEvent(r refusal) []byte        { return chunk(o.failure(r)) }

func hostOr(h strictapi.Host) strictapi.Host {
	if h == "" {
		return strictapi.OpenAI
	}
	return h
}

func (openaiWire) failure(r refusal) strictapi.Object {
	f := faultOf(r.status)
	out := strictapi.Object{"error": strictapi.Object{
		"message": r.message, "type": cmp.Or(r.kind, f.openaiKind), "param": orNull(r.param), "code": orNull(cmp.Or(r.code, f.code)),
	}}
	if len(r.rules) > 0 {
		out["rules"] = r.rules
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

var finishReasons = map[llm.StopReason]string{
	llm.EndTurn: "stop", llmconst.StopSequence: "stop", llmconst.PauseTurn: "stop", llm.UseTools: "tool_calls",
	llm.MaxTokens: "length", llmconst.Overflow: "length", llm.Refusal: "content_filter",
}

// finishReason returns OpenAI's word for a stop reason, an unknown one as it is.
func finishReason(s llm.StopReason) string {
	if word, ok := finishReasons[s]; ok {
		return word
	}
	return string(s)
}

func openaiUsage(u llm.Usage) strictapi.Object {
	prompt := u.Context()
	return strictapi.Object{
		"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
		"prompt_tokens_details":     strictapi.Object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": strictapi.Object{"reasoning_tokens": u.Reasoning},
	}
}

func (openaiWire) body(r llm.Response) strictapi.Object {
	m := strictapi.Object{"role": "assistant", "content": orNull(r.Message.Text())}
	if t := thinkingOf(r.Message); t != "" {
		m["reasoning_content"] = t
	}
	var calls []strictapi.Object
	for _, u := range r.Message.ToolUses() {
		calls = append(calls, strictapi.Object{"id": u.ID, "type": "function", "function": strictapi.Object{"name": u.Name, "arguments": inputText(u)}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return strictapi.Object{
		"id": r.ID, "object": "chat.completion", "created": 1, "model": r.Model,
		"choices": []strictapi.Object{{"index": 0, "message": m, "finish_reason": finishReason(r.Stop)}}, "usage": openaiUsage(r.Usage),
	}
}

func thinkingOf(m llm.Message) string {
	var b strings.Builder
	for _, c := range m.Content {
		if t, ok := c.(llm.Thinking); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// events returns the chunks of a stream: first a comment, which clients have
// to skip, last [DONE].
func (openaiWire) events(r llm.Response, request *Request, pieces int) [][]byte {
	delta := func(d strictapi.Object, finish any) []byte {
		return openaiChunk(r, []strictapi.Object{{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	out := [][]byte{[]byte(": processing\n\n"), delta(strictapi.Object{"role": "assistant", "content": ""}, nil)}
	calls := 0
	for _, b := range r.Message.Content {
		switch c := b.(type) {
		case llm.Text:
			for _, p := range split(c.Text, pieces) {
				out = append(out, delta(strictapi.Object{"content": p}, nil))
			}
		case llm.Thinking:
			for _, p := range split(c.Text, pieces) {
				out = append(out, delta(strictapi.Object{"reasoning_content": p}, nil))
			}
		case llm.ToolUse:
			for _, d := range openaiCallDeltas(calls, c, pieces) {
				out = append(out, delta(strictapi.Object{"tool_calls": []strictapi.Object{d}}, nil))
			}
			calls++
		}
	}
	out = append(out, delta(strictapi.Object{}, finishReason(r.Stop)))
	if request.wantsUsage {
		out = append(out, openaiChunk(r, []strictapi.Object{}, openaiUsage(r.Usage)))
	}
	return append(out, []byte("data: [DONE]\n\n"))
}

// openaiCallDeltas returns a call as it streams: id and name first, then pieces of the arguments.
func openaiCallDeltas(index int, u llm.ToolUse, pieces int) []strictapi.Object {
	out := []strictapi.Object{{"index": index, "id": u.ID, "type": "function", "function": strictapi.Object{"name": u.Name, "arguments": ""}}}
	for _, p := range split(inputText(u), pieces) {
		out = append(out, strictapi.Object{"index": index, "function": strictapi.Object{"arguments": p}})
	}
	return out
}

func openaiChunk(r llm.Response, choices []strictapi.Object, usage strictapi.Object) []byte {
	c := strictapi.Object{"id": r.ID, "object": "chat.completion.chunk", "created": 1, "model": r.Model, "choices": choices}
	if usage != nil {
		c["usage"] = usage
	}
	return chunk(c)
}

func chunk(v strictapi.Object) []byte { return []byte("data: " + encode(v) + "\n\n") }

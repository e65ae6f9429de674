package wire

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/benchmarks/harness"
)

// An api is what a provider's API looks like: the beginning, a delta (with room
// for its text) and the end of a stream of text, and two whole replies.
type api struct {
	name              string
	head, delta, tail string
	call, final       reply
	result            string // in a request that brings the result of a call
}

type reply struct{ whole, stream string }

var apis = map[string]*api{
	"messages":         messages(),
	"chat/completions": completions(),
	"responses":        responses(),
}

// events writes server-sent events, with an event line where data names a type
// and the API has such lines.
func events(named bool, data ...string) string {
	var b strings.Builder
	for _, d := range data {
		if named {
			_, rest, _ := strings.Cut(d, `"type":"`)
			kind, _, _ := strings.Cut(rest, `"`)
			b.WriteString("event: " + kind + "\n")
		}
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// messages is https://platform.claude.com/docs/en/api/messages-streaming.
func messages() *api {
	const start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}`
	const block = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	const delta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`
	const stop = `{"type":"content_block_stop","index":0}`
	const end = `{"type":"message_delta","delta":{"stop_reason":"%s","stop_sequence":null},"usage":{"output_tokens":20}}`
	const last = `{"type":"message_stop"}`
	const whole = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[%s],"stop_reason":"%s","stop_sequence":null,"usage":{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":20}}`
	a := &api{name: "anthropic", result: `"tool_result"`,
		head:  events(true, start, block),
		delta: events(true, delta),
		tail:  events(true, stop, fmt.Sprintf(end, "end_turn"), last)}
	a.final = reply{whole: fmt.Sprintf(whole, `{"type":"text","text":"`+harness.Final+`"}`, "end_turn"),
		stream: a.head + fmt.Sprintf(a.delta, harness.Final) + a.tail}
	a.call = reply{whole: fmt.Sprintf(whole, `{"type":"tool_use","id":"toolu_1","name":"`+harness.Tool+`","input":{"n":21}}`, "tool_use"),
		stream: events(true, start,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"`+harness.Tool+`","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":21}"}}`,
			stop, fmt.Sprintf(end, "tool_use"), last)}
	return a
}

// completions is https://platform.openai.com/docs/api-reference/chat-streaming.
func completions() *api {
	const chunk = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
	const usage = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`
	const whole = `{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"gpt-5","choices":[{"index":0,"message":%s,"finish_reason":"%s"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`
	const call = `{"id":"call_1","type":"function","function":{"name":"` + harness.Tool + `","arguments":"{\"n\":21}"}}`
	a := &api{name: "chat", result: `"tool_call_id"`,
		head:  events(false, fmt.Sprintf(chunk, `{"role":"assistant","content":""}`, "null")),
		delta: events(false, fmt.Sprintf(chunk, `{"content":"%s"}`, "null")),
		tail:  events(false, fmt.Sprintf(chunk, "{}", `"stop"`), usage, "[DONE]")}
	a.final = reply{whole: fmt.Sprintf(whole, `{"role":"assistant","content":"`+harness.Final+`"}`, "stop"),
		stream: a.head + fmt.Sprintf(a.delta, harness.Final) + a.tail}
	a.call = reply{whole: fmt.Sprintf(whole, `{"role":"assistant","content":null,"tool_calls":[`+call+`]}`, "tool_calls"),
		stream: events(false, fmt.Sprintf(chunk, `{"role":"assistant","tool_calls":[{"index":0,`+call[1:]+`]}`, "null"),
			fmt.Sprintf(chunk, "{}", `"tool_calls"`), usage, "[DONE]")}
	return a
}

// responses is https://platform.openai.com/docs/api-reference/responses-streaming.
func responses() *api {
	const shell = `{"id":"resp_1","object":"response","created_at":1790000000,"status":"%s","model":"gpt-5","output":[%s],"parallel_tool_calls":true,"tools":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":0},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":120}}`
	const part = `{"type":"output_text","text":"%s","annotations":[]}`
	const message = `{"type":"message","id":"msg_1","status":"%s","role":"assistant","content":[%s]}`
	const call = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"` + harness.Tool + `","arguments":"{\"n\":21}","status":"completed"}`
	created := `{"type":"response.created","sequence_number":0,"response":` + fmt.Sprintf(shell, "in_progress", "") + `}`
	completed := func(output string) string {
		return `{"type":"response.completed","sequence_number":9,"response":` + fmt.Sprintf(shell, "completed", output) + `}`
	}
	said := fmt.Sprintf(message, "completed", fmt.Sprintf(part, harness.Final))
	a := &api{name: "responses", result: `"function_call_output"`,
		head: events(true, created,
			`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":`+fmt.Sprintf(message, "in_progress", "")+`}`,
			`{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":`+fmt.Sprintf(part, "")+`}`),
		delta: events(true, `{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"%s"}`),
		tail: events(true,
			`{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":`+said+`}`, completed(said))}
	a.final = reply{whole: fmt.Sprintf(shell, "completed", said), stream: a.head + fmt.Sprintf(a.delta, harness.Final) + a.tail}
	a.call = reply{whole: fmt.Sprintf(shell, "completed", call),
		stream: events(true, created,
			`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":`+call+`}`,
			`{"type":"response.function_call_arguments.done","sequence_number":2,"item_id":"fc_1","output_index":0,"arguments":"{\"n\":21}"}`,
			`{"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":`+call+`}`, completed(call))}
	return a
}

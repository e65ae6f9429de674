package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// rich is a step that says everything.
func rich() Step {
	return Step{Thinking: "hm …", Text: "two and two", Calls: []llm.ToolUse{
		Use("", "add", map[string]any{"a": 2, "note": "雪 <b>"}), Use("b", "add", map[string]any{}),
	}, Usage: llm.Usage{Input: 10, Output: 20, CacheRead: 3, CacheWrite: 4, Reasoning: 5}}
}

// anthropicBlockText reads what an Anthropic block, streamed or not, says.
type anthropicBlockText struct {
	Type, ID, Name, Text, Thinking, Signature string
	Input                                     json.RawMessage
}

func (b anthropicBlockText) String() string {
	return fmt.Sprintf("%s|%s|%s|%s%s|%s", b.Type, b.ID, b.Name, b.Text, b.Thinking, b.Input)
}

func TestAnthropicReplies(t *testing.T) {
	s := NewServer(t, rich(), rich())
	tools := `"tools":[{"name":"add","input_schema":{"type":"object"}}]`
	_, body := post(t, plainClient(t), s.URL+"/v1/messages", messages("", tools))
	var whole struct {
		Type, Role, Model string
		StopReason        string `json:"stop_reason"`
		Content           []anthropicBlockText
		Usage             map[string]any
	}
	decodeInto(t, body, &whole)
	if whole.Type != "message" || whole.Role != "assistant" || whole.StopReason != "tool_use" || whole.Model != "claude-sonnet-4-20250514" {
		t.Errorf("got %+v", whole)
	}
	wantUsage := map[string]float64{"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}
	for k, v := range wantUsage {
		if whole.Usage[k] != v {
			t.Errorf("usage is %v, want %v", whole.Usage, wantUsage)
		}
	}
	if whole.Content[0].Signature != strictapi.Sign("hm …") {
		t.Errorf("signature is %q", whole.Content[0].Signature)
	}

	resp, stream := post(t, plainClient(t), s.URL+"/v1/messages", messages("", tools, `"stream":true`))
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type is %s", ct)
	}
	got := readAnthropicStream(t, stream)
	if len(got) != len(whole.Content) {
		t.Fatalf("the stream has %d blocks, the body %d", len(got), len(whole.Content))
	}
	for i := range got {
		got[i].ID, whole.Content[i].ID = strings.TrimRight(got[i].ID, "0123456789"), strings.TrimRight(whole.Content[i].ID, "0123456789")
		if got[i].String() != whole.Content[i].String() || got[i].Signature != whole.Content[i].Signature {
			t.Errorf("block %d: streamed %v, whole %v", i, got[i], whole.Content[i])
		}
	}
}

// readAnthropicStream is a plain reader of a stream of the Messages API.
func readAnthropicStream(t testing.TB, stream string) []anthropicBlockText {
	t.Helper()
	var blocks []anthropicBlockText
	var kinds []string
	input, stop := "", ""
	for _, data := range dataOf(t, stream) {
		var e struct {
			Type         string
			Index        int
			ContentBlock anthropicBlockText `json:"content_block"`
			Delta        struct {
				Type, Text, Thinking, Signature string
				PartialJSON                     string `json:"partial_json"`
				StopReason                      string `json:"stop_reason"`
			}
		}
		decodeInto(t, data, &e)
		kinds = append(kinds, e.Type)
		switch e.Type {
		case "content_block_start":
			if e.Index != len(blocks) {
				t.Fatalf("block %d starts after %d blocks", e.Index, len(blocks))
			}
			blocks, input = append(blocks, e.ContentBlock), ""
		case "content_block_delta":
			b := &blocks[e.Index]
			b.Text, b.Thinking, b.Signature = b.Text+e.Delta.Text, b.Thinking+e.Delta.Thinking, b.Signature+e.Delta.Signature
			input += e.Delta.PartialJSON
		case "content_block_stop":
			if blocks[e.Index].Type == "tool_use" {
				blocks[e.Index].Input = json.RawMessage(input)
			}
		case "message_delta":
			stop = e.Delta.StopReason
		}
	}
	if kinds[0] != "message_start" || kinds[len(kinds)-1] != "message_stop" || !slices.Contains(kinds, "ping") || stop == "" {
		t.Errorf("events %v, stop %q", kinds, stop)
	}
	return blocks
}

type openaiCall struct {
	Index    int
	ID, Type string
	Function struct{ Name, Arguments string }
}

type openaiPart struct {
	Content          *string
	ReasoningContent string       `json:"reasoning_content"`
	ToolCalls        []openaiCall `json:"tool_calls"`
}

type openaiReply struct {
	Choices []struct {
		Message, Delta openaiPart
		FinishReason   string `json:"finish_reason"`
	}
	Usage map[string]any
}

func TestOpenAIReplies(t *testing.T) {
	s := NewServer(t, rich(), rich(), Say("plain"))
	url := s.URL + "/v1/chat/completions"
	tools := `"tools":[{"type":"function","function":{"name":"add"}}]`
	var whole openaiReply
	_, body := post(t, plainClient(t), url, completions("", tools))
	decodeInto(t, body, &whole)
	m := whole.Choices[0].Message
	if *m.Content != "two and two" || m.ReasoningContent != "hm …" || len(m.ToolCalls) != 2 || whole.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("got %+v", whole)
	}
	if whole.Usage["prompt_tokens"] != 17.0 || whole.Usage["total_tokens"] != 37.0 {
		t.Errorf("usage is %v", whole.Usage)
	}

	_, stream := post(t, plainClient(t), url, completions("", tools, `"stream":true,"stream_options":{"include_usage":true}`))
	got, finish, usage := readOpenAIStream(t, stream)
	if *got.Content != *m.Content || got.ReasoningContent != m.ReasoningContent || finish != "tool_calls" || usage["prompt_tokens"] != 17.0 {
		t.Errorf("streamed %+v, %s, usage %v", got, finish, usage)
	}
	for i, c := range got.ToolCalls {
		if c.Function != m.ToolCalls[i].Function || !strings.HasPrefix(c.ID, strings.TrimRight(m.ToolCalls[i].ID, "0123456789")) {
			t.Errorf("call %d: streamed %+v, whole %+v", i, c, m.ToolCalls[i])
		}
	}
	_, stream = post(t, plainClient(t), url, completions("", `"stream":true`))
	if _, _, usage := readOpenAIStream(t, stream); usage != nil {
		t.Errorf("usage %v was not asked for", usage)
	}
}

// readOpenAIStream is a plain reader of a stream of chunks.
func readOpenAIStream(t testing.TB, stream string) (got openaiPart, finish string, usage map[string]any) {
	t.Helper()
	all := dataOf(t, stream)
	if all[len(all)-1] != "[DONE]" {
		t.Fatalf("the stream ends with %s", all[len(all)-1])
	}
	text := ""
	for _, data := range all[:len(all)-1] {
		var c openaiReply
		decodeInto(t, data, &c)
		if c.Usage != nil {
			usage = c.Usage
		}
		if len(c.Choices) == 0 {
			continue
		}
		d := c.Choices[0].Delta
		if d.Content != nil {
			text += *d.Content
		}
		got.ReasoningContent += d.ReasoningContent
		for _, call := range d.ToolCalls {
			if call.ID != "" {
				got.ToolCalls = append(got.ToolCalls, call)
			}
			got.ToolCalls[call.Index].Function.Arguments += call.Function.Arguments
		}
		if f := c.Choices[0].FinishReason; f != "" {
			finish = f
		}
	}
	got.Content = &text
	return got, finish, usage
}

func TestVerbatimAndOddBlocks(t *testing.T) {
	search := json.RawMessage(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}`)
	s := NewServer(t, Step{Content: llm.Blocks{
		llm.Verbatim{Provider: "anthropic", Raw: search}, llm.RedactedThinking{Data: "secret"}, llm.ToolUse{ID: "t", Name: "add", Invalid: `{"a`},
	}})
	_, stream := post(t, plainClient(t), s.URL+"/v1/messages", messages("", `"stream":true`))
	got := readAnthropicStream(t, stream)
	if got[0].Type != "server_tool_use" || got[0].Name != "web_search" || got[1].Type != "redacted_thinking" || string(got[2].Input) != `{"a` {
		t.Errorf("got %v", got)
	}
}

func BenchmarkServerReply(b *testing.B) {
	s := &Server{Rule: func(*Request, int) Step { return Say("hello there") }}
	defer s.Close()
	client := s.Client()
	body := []byte(messages("", `"stream":true`))
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequest(http.MethodPost, pipeURL+"/v1/messages", bytes.NewReader(body))
		req.Header = http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

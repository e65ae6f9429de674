package agent_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/tool"
)

// endless serves a reply that begins with head and goes on with piece for ever, and counts
// the requests.
func endless(t *testing.T, head string, piece func(i int) string, media string, zipped bool) (url string, asked *int) {
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		w.Header().Set("Content-Type", media)
		var to io.Writer = w
		if zipped {
			w.Header().Set("Content-Encoding", "gzip")
			to, _ = gzip.NewWriterLevel(w, gzip.BestSpeed) // fails for unknown levels only
		}
		_, err := io.WriteString(to, head)
		for i := 0; err == nil; i++ {
			_, err = io.WriteString(to, piece(i))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// An endless answer ends the call with a typed error, and the call is not repeated. This
// holds for each client, streamed or not, compressed or not.
func TestEndlessAnswers(t *testing.T) {
	long := strings.Repeat("a", 8<<10)
	same := func(text string, args ...any) func(int) string {
		text = fmt.Sprintf(text, args...)
		return func(int) string { return text }
	}
	begun := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-6\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
	block := func(i int, block string) string {
		return fmt.Sprintf("data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, block)
	}
	delta := func(delta string) func(int) string {
		return same("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":%s}\n\n", delta)
	}
	chunk := func(delta string) func(int) string {
		return same("data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-4.1\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
	}
	const sse = "text/event-stream"
	claude := func(url string) llm.Model {
		return (&anthropic.Client{APIKey: "k", BaseURL: url}).Model("claude-sonnet-4-6")
	}
	chat := func(url string) llm.Model { return (&openai.Client{APIKey: "k", BaseURL: url}).Model("gpt-4.1") }
	response := func(url string) llm.Model { return (&responses.Client{APIKey: "k", BaseURL: url}).Model("gpt-5") }
	for name, c := range map[string]struct {
		model  func(url string) llm.Model
		head   string
		piece  func(int) string
		media  string
		zipped bool
	}{
		"text":      {claude, begun + block(0, `{"type":"text","text":""}`), delta(`{"type":"text_delta","text":"` + long + `"}`), sse, false},
		"gzip":      {claude, begun + block(0, `{"type":"text","text":""}`), delta(`{"type":"text_delta","text":"` + long + `"}`), sse, true},
		"thinking":  {claude, begun + block(0, `{"type":"thinking","thinking":""}`), delta(`{"type":"thinking_delta","thinking":"` + long + `"}`), sse, false},
		"signature": {claude, begun + block(0, `{"type":"thinking","thinking":""}`), delta(`{"type":"signature_delta","signature":"` + long + `"}`), sse, false},
		"input":     {claude, begun + block(0, `{"type":"tool_use","id":"t","name":"double","input":{}}`), delta(`{"type":"input_json_delta","partial_json":"` + long + `"}`), sse, false},
		"calls": {claude, begun, func(i int) string {
			return block(i, fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"double","input":{}}`, i)) + fmt.Sprintf("data: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i)
		}, sse, false},
		"pings":          {claude, begun, same("event: ping\ndata: {\"type\":\"ping\"}\n\n%s", strings.Repeat(":\n", 4<<10)), sse, false},
		"whole":          {claude, `{"type":"message","content":[{"type":"text","text":"`, same("%s", long), "application/json", false},
		"whole, gzip":    {claude, `{"type":"message","content":[{"type":"text","text":"`, same("%s", long), "application/json", true},
		"chat text":      {chat, "", chunk(`{"content":"` + long + `"}`), sse, false},
		"chat thinking":  {chat, "", chunk(`{"reasoning_content":"` + long + `"}`), sse, false},
		"chat input":     {chat, "", chunk(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"double","arguments":"` + long + `"}}]}`), sse, false},
		"chat whole":     {chat, `{"choices":[{"message":{"content":"`, same("%s", long), "application/json", false},
		"response text":  {response, `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}` + "\n\n", same("data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"item_id\":\"m\",\"delta\":\"%s\"}\n\n", long), sse, false},
		"response whole": {response, `{"object":"response","output":[{"type":"message","content":"`, same("%s", long), "application/json", false},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := endless(t, c.head, c.piece, c.media, c.zipped)
			a := &agent.Agent{Model: c.model(url)}
			res, err := a.Prompt(t.Context(), "go")
			if !errors.Is(err, llm.ErrOversized) || *asked != 1 {
				t.Errorf("%d requests: %+v, %v", *asked, res, err)
			}
		})
	}
}

// Answers of a program's own models have the same limits as those of the wire clients. A
// thousand calls in one answer are carried out.
func TestManyCalls(t *testing.T) {
	calls := func(n int) llmtest.Step {
		var uses []llm.ToolUse
		for i := range n {
			uses = append(uses, llmtest.Use("", "double", number{i}))
		}
		return llmtest.Call(uses...)
	}
	for _, n := range []int{1000, llmconst.MaxBlocks, llmconst.MaxBlocks + 1, 10_000} {
		m := llmtest.Script(calls(n), say("done"))
		res, err := (&agent.Agent{Model: m, Tools: []tool.Tool{double}}).Prompt(t.Context(), "go")
		switch {
		case n <= llmconst.MaxBlocks:
			if err != nil || res.Text != "done" || len(m.Requests()[1].Messages[2].Content) != n {
				t.Errorf("%d calls: %+v, %v", n, res, err)
			}
		case !errors.Is(err, llm.ErrOversized) || len(m.Requests()) != 1:
			t.Errorf("%d calls: %+v, %v", n, res, err)
		}
	}
}

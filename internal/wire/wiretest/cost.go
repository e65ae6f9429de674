package wiretest

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// Cost measures the requests of a conversation of 1,000 messages, each with a call
// and its result more than the one before: at most 50 allocations, and no more
// bytes than one copy of the request.
func Cost(t *testing.T, encode func(*llm.Request) ([][]byte, error)) {
	t.Helper()
	const messages, requests = 1000, 100
	req := &llm.Request{System: strings.Repeat("Be good. ", 500), Tools: []llm.Tool{{Name: "read", Description: "reads"}}, MaxTokens: 1000, Memo: &llm.Memo{}}
	var all []llm.Message
	for i := 0; len(all) < messages+2*requests+10; i++ {
		id := fmt.Sprintf("call_%08d", i)
		all = append(all,
			llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: "go on"}}},
			llm.Message{Role: llm.Assistant, Model: "m", Content: llm.Blocks{llm.Text{Text: "I look at the file."}, llm.ToolUse{ID: id, Name: "read", Input: json.RawMessage(`{"path":"internal/wire/history.go"}`)}}})
		if i > 0 {
			all[len(all)-2].Content = llm.Blocks{llm.ToolResult{ID: fmt.Sprintf("call_%08d", i-1), Content: llm.Blocks{llm.Text{Text: strings.Repeat("a line of the file that was read\n", 30)}}}}
		}
	}
	n, size := messages-1, 0
	ask := func() {
		req.Messages = all[:n]
		n += 2
		body, err := encode(req)
		if err != nil {
			t.Fatal(err)
		}
		size = 0
		for _, piece := range body {
			size += len(piece)
		}
	}
	ask()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		ask()
	}
	runtime.ReadMemStats(&after)
	allocs, bytes := int(after.Mallocs-before.Mallocs)/requests, int(after.TotalAlloc-before.TotalAlloc)/requests
	t.Logf("a request of %d messages and %d bytes: %d allocations of %d bytes in all", n, size, allocs, bytes)
	if allocs > 50 || bytes > size {
		t.Errorf("the next of %d messages: %d allocations of %d bytes, the request has %d", n, allocs, bytes, size)
	}
}

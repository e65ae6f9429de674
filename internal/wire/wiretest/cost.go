package wiretest

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm"
)

// talk is a request of a conversation of that many messages, each with a call or its
// result, after a prompt.
func talk(messages int) *llm.Request {
	req := &llm.Request{System: strings.Repeat("Be good. ", 500), Tools: []llm.Tool{{Name: "read", Description: "reads"}}, MaxTokens: 1000}
	for i := 0; len(req.Messages) < messages; i++ {
		id := fmt.Sprintf("call_%08d", i)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: "go on"}}},
			llm.Message{Role: llm.Assistant, Model: "m", Content: llm.Blocks{llm.Text{Text: "I look at the file."}, llm.ToolUse{ID: id, Name: "read", Input: json.RawMessage(`{"path":"internal/wire/history.go"}`)}}})
		if i > 0 {
			req.Messages[len(req.Messages)-2].Content = llm.Blocks{llm.ToolResult{ID: fmt.Sprintf("call_%08d", i-1), Content: llm.Blocks{llm.Text{Text: strings.Repeat("a line of the file that was read\n", 30)}}}}
		}
	}
	return req
}

// Cost measures the requests of a conversation of 1,000 messages, each with a call
// and its result more than the one before: at most 50 allocations, and no more
// bytes than one copy of the request.
func Cost(t *testing.T, encode func(*llm.Request) ([][]byte, error)) {
	t.Helper()
	const messages, requests = 1000, 100
	req := talk(messages + 2*requests + 10)
	req.Memo = &llm.Memo{}
	all := req.Messages
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

// Encode measures a request after 10, 100 and 1,000 turns: the next one, which has two
// new messages of 1.3 KB, and one whose messages were all sent before, as a retry has.
// Beside the time it reports the bytes of the request, and how many plain copies of them
// that time is.
func Encode(b *testing.B, encode func(*llm.Request) ([][]byte, error)) {
	for _, turns := range []int{10, 100, 1000} {
		more := turns / 5 // then the conversation starts again
		for _, step := range []int{1, 0} {
			b.Run(fmt.Sprintf("%dturns/%s", turns, []string{"again", "next"}[step]), func(b *testing.B) {
				req := talk(2*(turns+more) + 2)
				all, n := req.Messages, more
				var body [][]byte
				ask := func() {
					var err error
					req.Messages = all[:2*(turns+n)+1]
					if body, err = encode(req); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if n == more {
						b.StopTimer()
						req.Memo, n = &llm.Memo{}, 0
						ask()
						b.StartTimer()
					}
					n += step
					ask()
				}
				beside(b, body)
			})
		}
	}
}

// beside reports the size of a body, and the time of the benchmark in copies of it.
func beside(b *testing.B, body [][]byte) {
	size := 0
	for _, piece := range body {
		size += len(piece)
	}
	to := make([]byte, size)
	const copies = 1000
	begin := time.Now()
	for range copies {
		at := 0
		for _, piece := range body {
			at += copy(to[at:], piece)
		}
	}
	one := float64(time.Since(begin)) / copies
	b.ReportMetric(float64(size), "request-B")
	b.ReportMetric(one, "copy-ns")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/one, "copies/op")
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A model serves the Messages API: it is silent, or streams an answer, as the prompt says.
type model struct{ *httptest.Server }

func serve() *model {
	return &model{httptest.NewServer(http.HandlerFunc(answer))}
}

// text is an answer with all that Markdown has.
const text = "# Findings\n\nThe build fails in **two** places. First `parse()` in *parser.go* never returns an error, so `main` prints nothing:\n\n```go\nfunc parse(s string) (*Node, error) {\n\tif s == \"\" {\n\t\treturn nil, nil // should be an error\n\t}\n\treturn &Node{Text: strings.TrimSpace(s)}, nil\n}\n```\n\n1. Return `ErrEmpty` there.\n2. Check it in `main`:\n   - print it\n   - exit with 2\n\n| file | lines | problem |\n|------|------:|------|\n| parser.go | 12 | missing error |\n| main.go | 40 | error is dropped |\n| 日本語.go | 3 | wide names |\n\n> A quote, with a [link](https://example.com/a/very/long/path?with=query&and=more) and ~~strike~~.\n\n- [x] read the files\n- [ ] fix them\n\nThen run `go test ./...`. Done.\n\n"

func answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if i := strings.LastIndex(string(body), "SILENT"); i >= 0 {
		<-r.Context().Done()
		return
	}
	perSecond, pieces := 1000, 10
	if i := strings.LastIndex(string(body), "STREAM "); i >= 0 {
		fmt.Sscanf(string(body[i:]), "STREAM %d %d", &perSecond, &pieces)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, data any) {
		line, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, line)
		w.(http.Flusher).Flush()
	}
	type object = map[string]any
	send("message_start", object{"type": "message_start", "message": object{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": []any{}, "usage": object{"input_tokens": 10, "output_tokens": 1}}})
	send("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	delta := func(s string) {
		send("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": s}})
	}
	runes := []rune(strings.Repeat(text, 4*pieces/len([]rune(text))+1))
	began := time.Now()
	for i := range pieces {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		delta(string(runes[4*i : 4*i+4]))
	}
	delta("\n\nEND OF THE ANSWER\n")
	send("content_block_stop", object{"type": "content_block_stop", "index": 0})
	send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": "end_turn"}, "usage": object{"output_tokens": pieces}})
	send("message_stop", object{"type": "message_stop"})
}

// record writes a session with many messages and returns its id.
func record(ctx context.Context, dir, work string, messages int) (string, error) {
	steps := make([]llmtest.Step, 0, messages/2)
	for i := range messages/2 - 1 {
		steps = append(steps, llmtest.Step{Text: fmt.Sprintf("I look at file %d now.", i), Calls: []llm.ToolUse{llmtest.Use("", "Look", map[string]int{"n": i})}})
	}
	steps = append(steps, llmtest.Say("All done."))
	type in struct {
		N int `json:"n"`
	}
	look := tool.Func(tool.Spec{Name: "Look", Description: "looks at a file", ReadOnly: true}, func(_ context.Context, in in) (string, error) {
		return fmt.Sprintf("file %d holds nothing of interest, but for a few words", in.N), nil
	})
	model := llmtest.Script(steps...)
	model.Facts.Window = 100 << 20
	a := &agent.Agent{Model: model, Tools: []tool.Tool{look}, Sessions: session.Dir(dir), Dir: work, Permissions: permission.Policy{Mode: permission.Bypass}}
	s := a.Session("")
	defer s.Close()
	_, err := s.Prompt(ctx, "Look at all files.")
	return s.ID, err
}

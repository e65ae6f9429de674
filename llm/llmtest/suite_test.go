package llmtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// hasty is a client that accepts everything: no check of status, type or end.
type hasty struct{ url string }

func (h hasty) Name() string { return "hasty" }

func (h hasty) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		sent := []strictapi.Object{{"role": "system", "content": req.System}}
		for _, m := range req.Messages {
			out := strictapi.Object{"role": m.Role, "content": m.Text()}
			for _, u := range m.ToolUses() {
				out["tool_calls"] = []strictapi.Object{{"id": u.ID, "type": "function", "function": strictapi.Object{"name": u.Name, "arguments": string(u.Input)}}}
			}
			sent = append(sent, out)
		}
		body, err := json.Marshal(strictapi.Object{"model": "gpt-4o", "stream": true, "messages": sent})
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		post, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/chat/completions", strings.NewReader(string(body)))
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		post.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer k"}}
		resp, err := http.DefaultTransport.RoundTrip(post)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		defer resp.Body.Close()
		done := &llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: llm.EndTurn, RequestID: resp.Header.Get("X-Request-Id")}
		text := ""
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			var c openaiReply
			json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &c)
			if len(c.Choices) == 0 || c.Choices[0].Delta.Content == nil {
				continue
			}
			d := llm.Delta{Text: *c.Choices[0].Delta.Content}
			if text == "" {
				d.Block = llm.Text{}
			}
			text += d.Text
			if !yield(d, nil) {
				return
			}
		}
		if text != "" {
			done.Message.Content = llm.Blocks{llm.Text{Text: text}}
		}
		yield(llm.Delta{Done: done}, nil)
	}
}

// trial is a test that notes which subtests fail.
type trial struct {
	*failures
	name   string
	failed *[]string
}

func (t trial) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t trial) Run(name string, f func(trial)) bool {
	sub := trial{&failures{TB: t.failures.TB}, name, t.failed}
	var wg sync.WaitGroup
	wg.Go(func() { f(sub) })
	wg.Wait()
	sub.end()
	if len(sub.said) > 0 {
		*t.failed = append(*t.failed, name)
	}
	return len(sub.said) == 0
}

// TestSuiteFindsFaults runs the suite on a client that has most of the faults it looks for.
func TestSuiteFindsFaults(t *testing.T) {
	var failed []string
	RunModelTests(trial{&failures{TB: t}, "", &failed}, func(baseURL string) llm.Model { return hasty{baseURL} })
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for _, name := range []string{
		"blocking", "tool call", "parallel calls", "invalid tool input", "thinking", "awkward history", "stop reasons", "usage",
		"truncated stream", "truncated body", "error in the stream", "error classes", "reply of another kind", "no server", "cancel in the stream",
	} {
		if !slices.Contains(failed, name) {
			t.Errorf("the suite does not find the fault in %q", name)
		}
	}
	for _, name := range []string{"text", "concurrent requests"} {
		if slices.Contains(failed, name) {
			t.Errorf("the suite refuses %q, which is right", name)
		}
	}
}

func TestSuiteSeesGoroutines(t *testing.T) {
	before := goroutines()
	stop := make(chan struct{})
	go func() { hasty{}.wait(stop) }()
	s := &suite{tb: t, ctx: t.Context()}
	found := s.eventually(func() bool { return len(newGoroutines(before, reflect.TypeFor[*hasty]())) == 1 })
	close(stop)
	if !found {
		t.Error("a goroutine of the model's package is not seen")
	}
	if !s.eventually(func() bool { return len(newGoroutines(before, reflect.TypeFor[*hasty]())) == 0 }) {
		t.Error("a goroutine that ended is still seen")
	}
}

func (hasty) wait(stop chan struct{}) { <-stop }

// Example_rule shows a model whose answers depend on the request.
func Example_rule() {
	m := &Model{Rule: func(r *Request, _ int) Step {
		if results := r.Results(); len(results) > 0 {
			return Say("The sum is " + results[0].Text + ".")
		}
		return Call(Use("", "add", map[string]int{"a": 2, "b": 2}))
	}}
	req := &llm.Request{Messages: []llm.Message{llm.UserText("What is 2+2?")}}
	first, _ := llm.Collect(context.Background(), m, req)
	call := first.Message.ToolUses()[0]
	req.Messages = append(req.Messages, first.Message, llm.Message{Role: llm.User, Content: llm.Blocks{
		llm.ToolResult{ID: call.ID, Content: llm.Blocks{llm.Text{Text: "4"}}},
	}})
	second, _ := llm.Collect(context.Background(), m, req)
	fmt.Println(second.Message.Text())
	// Output: The sum is 4.
}

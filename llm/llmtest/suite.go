package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/openagent-go/agent/llm"
)

// RunModelTests checks that a client of the Anthropic Messages API or of an
// OpenAI-compatible API keeps the contract of llm.Model against a strict [Server]. newModel
// returns a client with a key of at least 8 characters, without retries and with the given base URL: of the form
// http://127.0.0.1:1234, to which both APIs' paths may be appended. Do not run it beside
// other tests, because it looks for goroutines left behind. t is a *testing.T.
func RunModelTests[T interface {
	tb
	Run(name string, f func(T)) bool
}](t T, newModel func(baseURL string) llm.Model) {
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"text", testText},
		{"blocking", testBlocking},
		{"tool call", testToolCall},
		{"parallel calls", testParallelCalls},
		{"invalid tool input", testInvalidInput},
		{"thinking", testThinking},
		{"awkward history", testAwkwardHistory},
		{"options", testOptions},
		{"empty answer", testEmptyAnswer},
		{"stop reasons", testStopReasons},
		{"usage", testUsage},
		{"truncated stream", testTruncated},
		{"truncated body", testTruncatedBody},
		{"error in the stream", testStreamError},
		{"error classes", testErrorClasses},
		{"reply of another kind", testForeignReply},
		{"no server", testNoServer},
		{"key in errors", testKeyInErrors},
		{"cancel before the reply", testCancelEarly},
		{"cancel in the stream", testCancelMidway},
		{"leave the stream", testLeave},
		{"concurrent requests", testConcurrent},
	} {
		t.Run(c.name, func(t T) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel)
			c.test(&suite{tb: t, ctx: ctx, newModel: newModel})
		})
	}
}

// suite is one test of a model.
type suite struct {
	tb
	ctx      context.Context
	newModel func(string) llm.Model
	server   *Server
	model    llm.Model
}

// start makes a server for the steps, and a model of it.
func (s *suite) start(steps ...Step) {
	s.Helper()
	s.server = NewServer(s.tb, steps...)
	context.AfterFunc(s.ctx, s.server.Close) // frees a client that ignores its context
	s.model = s.newModel(s.server.URL)
}

// startRule is like start for a rule.
func (s *suite) startRule(rule Rule) {
	s.Helper()
	s.start()
	s.server.Rule = rule
}

// ask returns a request with one question and the tools.
func ask(question string, tools ...llm.Tool) *llm.Request {
	return &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.UserText(question)}, Tools: tools, MaxTokens: 4096}
}

var addTool = llm.Tool{
	Name: "add", Description: "Adds two numbers.",
	Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
}

// heard collects the content of a stream.
type heard struct {
	text     string // of text deltas
	thinking string
	inputs   map[string]string // of calls, by id
	order    []string          // ids of calls
	done     *llm.Response
	deltas   int
}

// listen reads a stream to its end and checks the rules for deltas.
func (s *suite) listen(ctx context.Context, req *llm.Request) (heard, error) {
	s.Helper()
	h := heard{inputs: map[string]string{}}
	open := map[int]llm.Block{}
	for d, err := range s.model.Stream(ctx, req) {
		switch {
		case h.done != nil:
			s.Errorf("something follows the final delta: %+v, %v", d, err)
		case err != nil:
			return h, err
		case d.Done != nil:
			h.done = d.Done
			if d.Block != nil || d.Text != "" {
				s.Errorf("the final delta carries a block or text: %+v", d)
			}
			continue
		}
		h.deltas++
		if d.Block != nil {
			open[d.Index] = d.Block
			if u, ok := d.Block.(llm.ToolUse); ok {
				h.order = append(h.order, u.ID)
			}
		}
		h.add(s, open[d.Index], d)
	}
	if h.done == nil {
		s.Errorf("the stream ended with neither an error nor a final delta")
	}
	return h, nil
}

// add appends the text of a delta to its block.
func (h *heard) add(s *suite, block llm.Block, d llm.Delta) {
	switch b := block.(type) {
	case llm.Text:
		if d.Block != nil {
			h.text += b.Text
		}
		h.text += d.Text
	case llm.Thinking:
		if d.Block != nil {
			h.thinking += b.Text
		}
		h.thinking += d.Text
	case llm.ToolUse:
		h.inputs[b.ID] += d.Text
	case nil:
		s.Errorf("a delta extends block %d, which was never started: %+v", d.Index, d)
	}
}

// mustListen is listen for a stream that succeeds; the deltas must add up to the final one.
func (s *suite) mustListen(req *llm.Request) heard {
	s.Helper()
	h, err := s.listen(s.ctx, req)
	if err != nil {
		s.Fatalf("the stream failed: %v", err)
	}
	if h.done == nil {
		s.Fatalf("no response")
	}
	if got := h.done.Message.Text(); h.text != got {
		s.Errorf("the deltas say %q, the response %q", h.text, got)
	}
	if h.done.Message.Role != llm.Assistant {
		s.Errorf("role is %q, want assistant", h.done.Message.Role)
	}
	var ids []string
	for _, u := range h.done.Message.ToolUses() {
		ids = append(ids, u.ID)
		if u.Invalid == "" && !sameJSON(h.inputs[u.ID], string(u.Input)) && len(u.Input) > 2 {
			s.Errorf("the deltas give %s the input %q, the response %s", u.ID, h.inputs[u.ID], u.Input)
		}
	}
	if !slices.Equal(ids, h.order) {
		s.Errorf("the deltas start the calls %v, the response has %v", h.order, ids)
	}
	return h
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// mustFail runs a request that fails with an APIError and returns it.
func (s *suite) mustFail(req *llm.Request) *llm.APIError {
	s.Helper()
	h, err := s.listen(s.ctx, req)
	var e *llm.APIError
	if h.done != nil || !errors.As(err, &e) {
		s.Fatalf("got response %+v and error %v, want an *llm.APIError", h.done, err)
	}
	return e
}

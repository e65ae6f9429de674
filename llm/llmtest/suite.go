package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/llm"
)

// A Runner is a TB with subtests: *testing.T.
type Runner[T any] interface {
	TB
	Run(name string, f func(T)) bool
}

// RunModelTests checks that a client of the Anthropic Messages API or of an
// OpenAI-compatible API keeps the contract of llm.Model against a strict
// [Server]. It asks newModel for a client with any key, no retries of its own
// and the given base URL: of the form http://127.0.0.1:1234, to which both APIs'
// paths may be appended. It must not run beside other tests, because it looks
// for goroutines left behind.
func RunModelTests[T Runner[T]](t T, newModel func(baseURL string) llm.Model) {
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
			c.test(&suite{TB: t, ctx: ctx, newModel: newModel})
		})
	}
}

// suite is one test of a model.
type suite struct {
	TB
	ctx      context.Context
	newModel func(string) llm.Model
	server   *Server
	model    llm.Model
}

// start makes a server for the steps, and a model of it.
func (s *suite) start(steps ...Step) {
	s.Helper()
	s.server = NewServer(s.TB, steps...)
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

// heard is what came out of a stream.
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

// add appends the text of a delta to what its block is about.
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

// mustListen is listen for a stream that succeeds; what was heard must be what the final delta says.
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

const motley = "Twelve tidy turtles talk — 雪が静かに降る 🐢 — <b>&amp;</b> \"quoted\" \\ done."

func testText(s *suite) {
	step := Say(motley)
	step.Pieces = 9
	s.start(step)
	h := s.mustListen(ask("Tell me."))
	if h.text != motley || h.done.Stop != llm.EndTurn {
		s.Errorf("got %q, stop %q", h.text, h.done.Stop)
	}
	if h.deltas < 4 {
		s.Errorf("a text of 9 pieces came in %d deltas: it is not streamed", h.deltas)
	}
	if h.done.RequestID == "" {
		s.Errorf("the response has no request id")
	}
	r := s.server.Requests()[0]
	if r.Prompt() != "Tell me." || !strings.Contains(r.System, "Be brief.") || r.Blocking {
		s.Errorf("the server was asked prompt %q, system %q, blocking %v", r.Prompt(), r.System, r.Blocking)
	}
}

func testBlocking(s *suite) {
	s.start(Step{Text: motley, Calls: []llm.ToolUse{Use("t1", "add", object{"a": 1, "b": 2})}, Usage: llm.Usage{Input: 7, Output: 3}})
	req := ask("Add.", addTool)
	req.Blocking = true
	got, err := llm.Collect(s.ctx, s.model, req)
	if err != nil {
		s.Fatalf("the request failed: %v", err)
	}
	uses := got.Message.ToolUses()
	if got.Message.Text() != motley || len(uses) != 1 || uses[0].Name != "add" || !sameJSON(string(uses[0].Input), `{"a":1,"b":2}`) {
		s.Errorf("got %+v", got.Message)
	}
	if got.Stop != llm.UseTools || got.Usage.Input != 7 || got.Usage.Output != 3 {
		s.Errorf("got stop %q, usage %+v", got.Stop, got.Usage)
	}
	if !s.server.Requests()[0].Blocking {
		s.Errorf("a stream was asked for")
	}
}

func testToolCall(s *suite) {
	s.start(Step{Text: "I shall add.", Calls: []llm.ToolUse{Use("", "add", object{"a": 2, "b": 2, "note": motley})}}, Say("4"))
	req := ask("What is 2+2?", addTool)
	h := s.mustListen(req)
	uses := h.done.Message.ToolUses()
	if len(uses) != 1 || uses[0].Name != "add" || h.done.Stop != llm.UseTools || h.text != "I shall add." {
		s.Fatalf("got %+v, stop %q", h.done.Message, h.done.Stop)
	}
	var in struct{ Note string }
	if err := json.Unmarshal(uses[0].Input, &in); err != nil || in.Note != motley {
		s.Errorf("input is %s", uses[0].Input)
	}
	req.Messages = append(req.Messages, h.done.Message, llm.Message{Role: llm.User, Content: llm.Blocks{
		llm.ToolResult{ID: uses[0].ID, Content: llm.Blocks{llm.Text{Text: "4"}}},
	}})
	if h := s.mustListen(req); h.text != "4" {
		s.Errorf("got %q", h.text)
	}
	results := s.server.Requests()[1].Results()
	if len(results) != 1 || results[0].Text != "4" || results[0].Use.Name != "add" {
		s.Errorf("the server saw the results %+v", results)
	}
}

func testParallelCalls(s *suite) {
	s.start(Call(Use("x1", "add", object{"a": 1, "b": 1}), Use("x2", "add", object{}), Use("x3", "add", object{"a": 3, "b": 3})), Say("done"))
	req := ask("Add thrice.", addTool)
	h := s.mustListen(req)
	answer := llm.Message{Role: llm.User}
	for i, u := range h.done.Message.ToolUses() {
		if want := fmt.Sprintf("x%d", i+1); u.ID != want {
			s.Errorf("call %d is %s, want %s", i, u.ID, want)
		}
		answer.Content = append(answer.Content, llm.ToolResult{ID: u.ID, Content: llm.Blocks{llm.Text{Text: "result of " + u.ID}}, IsError: i == 1})
	}
	if len(answer.Content) != 3 {
		s.Fatalf("%d calls, want 3", len(answer.Content))
	}
	answer.Content = append(answer.Content, llm.Text{Text: "Hurry."})
	req.Messages = append(req.Messages, h.done.Message, answer)
	s.mustListen(req)
	var got []string
	for _, r := range s.server.Requests()[1].Results() {
		got = append(got, r.Use.ID+": "+r.Text)
	}
	if len(got) != 3 || !strings.HasPrefix(got[0], "x1: result of x1") || !strings.Contains(got[1], "result of x2") || !strings.HasPrefix(got[2], "x3: ") {
		s.Errorf("the server saw the results %q", got)
	}
}

func testInvalidInput(s *suite) {
	broken := llm.ToolUse{ID: "t1", Name: "add", Invalid: `{"a": 1, "b": `}
	s.start(Step{Calls: []llm.ToolUse{broken}, Stop: llm.MaxTokens}, Say("sorry"))
	req := ask("Add.", addTool)
	h := s.mustListen(req)
	uses := h.done.Message.ToolUses()
	if len(uses) != 1 || !sameJSON(string(uses[0].Input), `{}`) || strings.TrimSpace(uses[0].Invalid) != strings.TrimSpace(broken.Invalid) || h.done.Stop != llm.MaxTokens {
		s.Fatalf("got %+v, stop %q; want the input {} and the text as Invalid", h.done.Message, h.done.Stop)
	}
	req.Messages = append(req.Messages, h.done.Message, llm.Message{Role: llm.User, Content: llm.Blocks{
		llm.ToolResult{ID: "t1", Content: llm.Blocks{llm.Text{Text: "not JSON"}}, IsError: true},
	}})
	s.mustListen(req)
}

func testThinking(s *suite) {
	s.start(Step{Thinking: "Two and two … 四.\n", Calls: []llm.ToolUse{Use("t1", "add", object{"a": 2, "b": 2})}}, Say("4"))
	req := ask("What is 2+2?", addTool)
	req.Thinking, req.MaxTokens = llm.Thought{Budget: 2048}, 8192
	h := s.mustListen(req)
	if !strings.Contains(h.thinking, "Two and two … 四.") || h.text != "" {
		s.Errorf("the deltas carry the thinking %q and the text %q", h.thinking, h.text)
	}
	if len(h.done.Message.Content) != 2 {
		s.Fatalf("got %+v, want thinking and a call", h.done.Message.Content)
	}
	if first, ok := h.done.Message.Content[0].(llm.Thinking); !ok || !strings.Contains(first.Text, "Two and two") {
		s.Errorf("the first block is %+v", h.done.Message.Content[0])
	}
	req.Messages = append(req.Messages, h.done.Message, llm.Message{Role: llm.User, Content: llm.Blocks{
		llm.ToolResult{ID: "t1", Content: llm.Blocks{llm.Text{Text: "4"}}},
	}})
	s.mustListen(req) // the server knows whether thinking came back unchanged
}

// awkward are conversations that hold what providers refuse, unless the client takes care.
func awkward() map[string][]llm.Message {
	said := func(bs ...llm.Block) llm.Message { return llm.Message{Role: llm.Assistant, Content: bs} }
	told := func(bs ...llm.Block) llm.Message { return llm.Message{Role: llm.User, Content: bs} }
	call := func(id string) llm.ToolUse { return Use(id, "add", object{"a": 1}) }
	answer := func(id string, content ...llm.Block) llm.ToolResult { return llm.ToolResult{ID: id, Content: content} }
	four := llm.Text{Text: "4"}
	picture := llm.Image{MediaType: "image/png", Data: onePixel}
	return map[string][]llm.Message{
		"user messages in a row":      {llm.UserText("a"), llm.UserText("b")},
		"empty and blank texts":       {llm.UserText("a"), said(llm.Text{Text: " \n"}, call("t1")), told(answer("t1", llm.Text{}), llm.Text{})},
		"empty message":               {llm.UserText("a"), said(), llm.UserText("b")},
		"error without words":         {llm.UserText("a"), said(call("t1")), told(llm.ToolResult{ID: "t1", IsError: true})},
		"foreign ids, repeated":       {llm.UserText("a"), said(call("functions.add:0")), told(answer("functions.add:0", four)), said(call("functions.add:0")), told(answer("functions.add:0", four))},
		"long id":                     {llm.UserText("a"), said(call(strings.Repeat("x", 80))), told(answer(strings.Repeat("x", 80), four))},
		"thinking without signature":  {llm.UserText("a"), said(llm.Thinking{Text: "hm"}, llm.Text{Text: "b"}), llm.UserText("c")},
		"blocks of another provider":  {llm.UserText("a"), said(llm.Verbatim{Provider: "elsewhere", Shown: "x", Raw: json.RawMessage(`{"type":"x"}`)}, llm.Text{Text: "b"}), llm.UserText("c")},
		"text before results":         {llm.UserText("a"), said(call("t1")), told(llm.Text{Text: "look:"}, answer("t1", four))},
		"results in several messages": {llm.UserText("a"), said(call("t1"), call("t2")), told(answer("t1", four)), told(answer("t2", four), llm.Text{Text: "go on"})},
		"picture in a result":         {llm.UserText("a"), said(call("t1"), call("t2")), told(answer("t1", picture), answer("t2", four))},
		"picture and document":        {llm.UserText("a", picture, llm.Document{MediaType: "text/plain", Title: "notes.txt", Data: []byte("notes")})},
		"answer ends in blanks":       {llm.UserText("a"), said(llm.Text{Text: "b \n"}), llm.UserText("c")},
	}
}

// onePixel is the smallest PNG there is.
var onePixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82")

func testAwkwardHistory(s *suite) {
	s.startRule(func(*Request, int) Step { return Say("ok") })
	conversations := awkward()
	for _, name := range slices.Sorted(maps.Keys(conversations)) {
		req := ask("", addTool)
		req.Messages = conversations[name]
		if _, err := llm.Collect(s.ctx, s.model, req); err != nil {
			s.Errorf("%s: %v", name, err)
		}
	}
}

func testOptions(s *suite) {
	s.startRule(func(*Request, int) Step { return Say("ok") })
	hot := 1.7
	for _, o := range []struct {
		name string
		set  func(*llm.Request)
	}{
		{"no tools", func(r *llm.Request) { r.Tools = nil }},
		{"no limit", func(r *llm.Request) { r.MaxTokens = 0 }},
		{"no system prompt", func(r *llm.Request) { r.System = "" }},
		{"temperature 1.7", func(r *llm.Request) { r.Temperature = &hot }},
		{"temperature and thinking", func(r *llm.Request) { r.Temperature, r.Thinking = &hot, llm.Thought{Effort: "high"} }},
		{"blank stop sequence", func(r *llm.Request) { r.Stop = []string{"END", "\n"} }},
		{"any tool", func(r *llm.Request) { r.ToolChoice.Mode = llm.ChooseAny }},
		{"the tool add", func(r *llm.Request) { r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: "add"} }},
		{"no tool now", func(r *llm.Request) { r.ToolChoice.Mode = llm.ChooseNone }},
		{"any of no tools", func(r *llm.Request) { r.ToolChoice.Mode, r.Tools = llm.ChooseAny, nil }},
		{"any tool and thinking", func(r *llm.Request) { r.ToolChoice.Mode, r.Thinking = llm.ChooseAny, llm.Thought{Budget: 2048} }},
		{"more thinking than tokens", func(r *llm.Request) { r.Thinking, r.MaxTokens = llm.Thought{Effort: "max"}, 1000 }},
		{"hardly any thinking", func(r *llm.Request) { r.Thinking = llm.Thought{Budget: 10} }},
	} {
		for _, blocking := range []bool{false, true} {
			req := ask("Hello.", addTool)
			req.Blocking = blocking
			o.set(req)
			if _, err := llm.Collect(s.ctx, s.model, req); err != nil {
				s.Errorf("%s, blocking %v: %v", o.name, blocking, err)
			}
		}
	}
}

func testEmptyAnswer(s *suite) {
	s.start(Step{}, Step{})
	for _, blocking := range []bool{false, true} {
		req := ask("Say nothing.")
		req.Blocking = blocking
		if h := s.mustListen(req); len(h.done.Message.Content) != 0 {
			s.Errorf("got %+v, want no block", h.done.Message.Content)
		}
	}
}

func testStopReasons(s *suite) {
	s.start(Step{Text: "a", Stop: llm.MaxTokens}, Step{Text: "a", Stop: "something_new"}, Step{Text: "a", Stop: llm.Refusal})
	if h := s.mustListen(ask("1")); h.done.Stop != llm.MaxTokens {
		s.Errorf("got %q, want max_tokens", h.done.Stop)
	}
	s.mustListen(ask("2")) // a word nobody knows is no failure
	if h := s.mustListen(ask("3")); h.done.Stop != llm.Refusal {
		s.Errorf("got %q, want refusal", h.done.Stop)
	}
}

func testUsage(s *suite) {
	want := llm.Usage{Input: 100, Output: 50, CacheRead: 30, CacheWrite: 20}
	s.start(Step{Text: "a", Usage: want}, Step{Text: "a", Usage: want}, Step{Text: "a", Usage: llm.Usage{Input: -5, Output: math.MaxInt}})
	for _, blocking := range []bool{false, true} {
		req := ask("Count.")
		req.Blocking = blocking
		if got := s.mustListen(req).done.Usage; got != want {
			s.Errorf("blocking %v: got %+v, want %+v", blocking, got, want)
		}
	}
	s.mustListen(ask("Count wrongly."))
}

// testTruncated cuts a stream after each event. The shorter API streams this
// text in 7 events, 4 of them before the first that could be taken for an end.
func testTruncated(s *suite) {
	for _, cut := range []Cut{CutClose, CutReset, CutEnd} {
		for n := 1; n <= 8; n++ {
			if n == 8 && cut == CutReset {
				continue // a reset may overtake the data
			}
			step := Say("whole text")
			step.Pieces, step.CutAfter, step.Cut = 2, n, cut
			s.start(step)
			h, err := s.listen(s.ctx, ask("Go on."))
			var e *llm.APIError
			switch {
			case err == nil && n <= 4:
				s.Errorf("cut %d after event %d: taken for complete: %+v", cut, n, h.done)
			case err == nil && (h.done == nil || h.done.Message.Text() != "whole text"):
				s.Errorf("cut %d after event %d: incomplete: %+v", cut, n, h.done)
			case err != nil && n == 8:
				s.Errorf("cut %d after the last event: %v", cut, err)
			case err != nil && (!errors.As(err, &e) || !e.Retryable()):
				s.Errorf("cut %d after event %d: got %v, want a retryable *llm.APIError", cut, n, err)
			}
			s.server.Close()
		}
	}
	for n := 3; n <= 6; n++ {
		step := Call(Use("t1", "add", object{"a": 1, "b": 2}))
		step.CutAfter, step.Cut = n, CutEnd
		s.start(step)
		if e := s.mustFail(ask("Add.", addTool)); !e.Retryable() {
			s.Errorf("cut in a tool call, after event %d: %v is not retryable", n, e)
		}
	}
}

func testTruncatedBody(s *suite) {
	for _, cut := range []Cut{CutClose, CutEnd} {
		step := Say("whole text")
		step.CutAfter, step.Cut = 60, cut
		s.start(step)
		req := ask("Go on.")
		req.Blocking = true
		if e := s.mustFail(req); !e.Retryable() {
			s.Errorf("cut %d: %v is not retryable", cut, e)
		}
	}
	s.start(Step{CutAfter: AtOnce})
	if e := s.mustFail(ask("Go on.")); !e.Retryable() || !errors.Is(e, llm.ErrUnavailable) {
		s.Errorf("connection closed before the reply: %v", e)
	}
}

func testStreamError(s *suite) {
	s.start(Step{Text: "some text", CutAfter: 4, Cut: CutError})
	if e := s.mustFail(ask("Go on.")); !e.Retryable() || !strings.Contains(e.Error(), "Overloaded") {
		s.Errorf("an error event that says Overloaded gave %v (retryable %v)", e, e.Retryable())
	}
	s.start(Step{Text: "some text", CutAfter: 4, Cut: CutGarbage})
	s.mustFail(ask("Go on."))
}

func testErrorClasses(s *suite) {
	for status, want := range map[int]llm.Class{
		400: llm.Invalid, 401: llm.Auth, 402: llm.Billing, 403: llm.Forbidden, 404: llm.NotFound, 413: llm.TooLarge, 422: llm.Invalid,
		429: llm.RateLimit, 500: llm.ServerError, 502: llm.ServerError, 503: llm.Overloaded, 504: llm.ServerError, 529: llm.Overloaded,
	} {
		page := Step{Status: status, Raw: []byte("<html><h1>Something</h1></html>")}
		s.start(Fail(&llm.APIError{Status: status, Message: "the words of the provider"}), page)
		e := s.mustFail(ask("Hello."))
		if e.Class != want || e.Status != status || !strings.Contains(e.Error(), "the words of the provider") || e.RequestID == "" {
			s.Errorf("status %d: got class %s, status %d, request %q: %v", status, e.Class, e.Status, e.RequestID, e)
		}
		if e.RetryAfter >= 0 {
			s.Errorf("status %d: retry-after is %v where none was sent", status, e.RetryAfter)
		}
		if e := s.mustFail(ask("Hello.")); e.Class != want || e.Status != status {
			s.Errorf("status %d with a page: got class %s, status %d", status, e.Class, e.Status)
		}
		s.server.Close()
	}
	s.start(Fail(&llm.APIError{Status: 429, RetryAfter: 7 * time.Second}), Fail(&llm.APIError{Class: llm.TooLong}))
	if e := s.mustFail(ask("Hello.")); e.RetryAfter != 7*time.Second {
		s.Errorf("retry-after is %v, want 7s", e.RetryAfter)
	}
	if e := s.mustFail(ask("Hello.")); !errors.Is(e, llm.ErrOverflow) {
		s.Errorf("a prompt that is too long gives %v", e)
	}
}

func testForeignReply(s *suite) {
	s.start(
		Step{Raw: []byte("<html>log in first</html>"), ContentType: "text/html"},
		Step{Raw: []byte("<html>log in first</html>"), ContentType: "text/html"},
		Step{Raw: []byte(`{"hello":`), ContentType: "application/json"},
		Step{Raw: []byte{}, ContentType: "text/event-stream"},
		Step{Raw: []byte("data: null\n\ndata: 3\n\ndata: []\n\n"), ContentType: "text/event-stream"},
	)
	blocking := ask("Hello.")
	blocking.Blocking = true
	for _, req := range []*llm.Request{ask("Hello."), blocking, blocking, ask("Hello."), ask("Hello.")} {
		s.mustFail(req)
	}
}

func testNoServer(s *suite) {
	s.start()
	s.server.Close()
	if e := s.mustFail(ask("Hello.")); !errors.Is(e, llm.ErrUnavailable) || !e.Retryable() {
		s.Errorf("got class %s: %v", e.Class, e)
	}
}

func testKeyInErrors(s *suite) {
	key := ""
	s.startRule(func(r *Request, _ int) Step {
		key = keyOf(r.Header)
		return Fail(&llm.APIError{Status: 401, Message: "bad key " + key})
	})
	e := s.mustFail(ask("Hello."))
	if key != "" && (strings.Contains(e.Error(), key) || strings.Contains(e.Message, key)) {
		s.Errorf("the error shows the key")
	}
}

func keyOf(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// longStall is a step that falls silent for ever amid its text.
func longStall() Step {
	return Step{Text: strings.Repeat("word ", 50), Pieces: 20, Stall: time.Hour, StallAfter: 8}
}

func testCancelEarly(s *suite) {
	before := goroutines()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.startRule(func(*Request, int) Step {
		cancel()
		return Step{Delay: time.Hour}
	})
	if _, err := s.listen(ctx, ask("Hello.")); !errors.Is(err, context.Canceled) {
		s.Errorf("got %v, want context.Canceled", err)
	}
	s.mustBeQuiet(before)
}

func testCancelMidway(s *suite) {
	before := goroutines()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.start(longStall())
	var last error
	for d, err := range s.model.Stream(ctx, ask("Hello.")) {
		last = err
		if d.Text != "" {
			cancel() // the first delta comes while the server is still sending
		}
	}
	if !errors.Is(last, context.Canceled) {
		s.Errorf("the stream ended with %v, want context.Canceled", last)
	}
	s.mustBeQuiet(before)
}

func testLeave(s *suite) {
	before := goroutines()
	s.start(longStall())
	for d, err := range s.model.Stream(s.ctx, ask("Hello.")) {
		if err != nil {
			s.Fatalf("the stream failed: %v", err)
		}
		if d.Text != "" {
			break
		}
	}
	s.mustBeQuiet(before)
}

// mustBeQuiet waits until the server has seen the client leave, and nothing
// runs any more that did not run before.
func (s *suite) mustBeQuiet(before map[string]string) {
	s.Helper()
	if !s.eventually(func() bool { return s.server.active.Load() == 0 }) {
		s.Errorf("the client still holds its connection")
	}
	s.server.Close()
	var left []string
	quiet := s.eventually(func() bool {
		left = newGoroutines(before, reflect.TypeOf(s.model))
		return len(left) == 0
	})
	if !quiet {
		s.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
	}
}

// eventually waits up to 5 s for a condition.
func (s *suite) eventually(holds func() bool) bool {
	for range 500 {
		if holds() {
			return true
		}
		if wait(s.ctx, 10*time.Millisecond) != nil {
			break
		}
	}
	return holds()
}

func testConcurrent(s *suite) {
	s.startRule(func(r *Request, _ int) Step { return Say("you said " + r.Prompt()) })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			said := fmt.Sprintf("number %d", i)
			got, err := llm.Collect(s.ctx, s.model, ask(said))
			if err != nil || got.Message.Text() != "you said "+said {
				s.Errorf("%s: got %+v, %v", said, got, err)
			}
		})
	}
	wg.Wait()
}

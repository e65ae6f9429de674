package llmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

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
	s.start(Step{Text: motley, Calls: []llm.ToolUse{Use("t1", "add", strictapi.Object{"a": 1, "b": 2})}, Usage: llm.Usage{Input: 7, Output: 3}})
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
	s.start(Step{Text: "I shall add.", Calls: []llm.ToolUse{Use("", "add", strictapi.Object{"a": 2, "b": 2, "note": motley})}}, Say("4"))
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
	s.start(Call(Use("x1", "add", strictapi.Object{"a": 1, "b": 1}), Use("x2", "add", strictapi.Object{}), Use("x3", "add", strictapi.Object{"a": 3, "b": 3})), Say("done"))
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
	s.start(Step{Thinking: "Two and two … 四.\n", Calls: []llm.ToolUse{Use("t1", "add", strictapi.Object{"a": 2, "b": 2})}}, Say("4"))
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

// awkward are conversations with content that providers refuse, unless the client takes
// care.
func awkward() map[string][]llm.Message {
	said := func(bs ...llm.Block) llm.Message { return llm.Message{Role: llm.Assistant, Content: bs} }
	told := func(bs ...llm.Block) llm.Message { return llm.Message{Role: llm.User, Content: bs} }
	call := func(id string) llm.ToolUse { return Use(id, "add", strictapi.Object{"a": 1}) }
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
	s.mustListen(ask("2")) // an unknown word is not a failure
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

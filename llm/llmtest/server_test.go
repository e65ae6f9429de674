package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/llm"
)

// post sends a body as a client would.
func post(t testing.TB, client *http.Client, url, body string, edit ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	resp, data, err := tryPost(context.Background(), client, url, body, edit...)
	if err != nil {
		t.Fatal(err)
	}
	return resp, data
}

func tryPost(ctx context.Context, client *http.Client, url, body string, edit ...func(*http.Request)) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	for _, e := range edit {
		e(req)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

// dataOf returns the data of each event in a stream, which must be well formed.
func dataOf(t testing.TB, stream string) []string {
	t.Helper()
	var out []string
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		for line := range strings.SplitSeq(part, "\n") {
			name, value, ok := strings.Cut(line, ":")
			switch {
			case !ok || name != "" && name != "event" && name != "data":
				t.Fatalf("odd line %q", line)
			case name == "data":
				out = append(out, strings.TrimPrefix(value, " "))
			}
		}
	}
	return out
}

func decodeInto(t testing.TB, data string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

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
	if whole.Content[0].Signature != sign("hm …") {
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

// plainClient returns a client that leaves no connection behind.
func plainClient(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestServerRefusesBrokenRequests(t *testing.T) {
	s := NewServer(t, Say("ok"))
	s.Lenient = true // of the test, which breaks rules
	strict := &Server{Steps: s.Steps}
	defer strict.Close()
	client := strict.Client()
	none := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del(name) }
	}
	for _, c := range []struct {
		path, body string
		edit       func(*http.Request)
		status     int
		rules      []string
		message    string
	}{
		{"/v1/messages", messages(" "), nil, 400, []string{"A03"}, "messages: at least one message is required"},
		{"/v1/messages", "{", nil, 400, []string{"A00"}, "not valid JSON"},
		{"/v1/messages", messages(""), none("Authorization"), 401, []string{"H01"}, "key"},
		{"/v1/messages", messages(""), none("Anthropic-Version"), 400, []string{"H02"}, "anthropic-version: header is required"},
		{"/v1/messages", messages(""), none("Content-Type"), 400, []string{"H03"}, "Content-Type"},
		{"/v1/messages", messages(""), func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader("{}")) }, 411, []string{"H04"}, "Content-Length"},
		{"/v1/chat/completions", `{"model":"m","messages":[]}`, nil, 400, []string{"O02"}, "empty array"},
		{"/api/paas/v4/chat/completions", completions(""), none("Authorization"), 401, []string{"H01"}, "key"},
		{"/v1/messages", strings.Repeat(" ", maxBody+1), nil, 413, nil, "maximum allowed number of bytes"},
		{"/v1/complete", "{}", nil, 404, nil, "not be found"},
	} {
		if c.edit == nil {
			c.edit = func(*http.Request) {}
		}
		before := len(strict.Violations())
		resp, body := post(t, client, "http://any"+c.path, c.body, c.edit)
		var got struct {
			Type  string
			Error struct{ Type, Message string }
			Rules []string
		}
		decodeInto(t, body, &got)
		if resp.StatusCode != c.status || !slices.Equal(got.Rules, c.rules) || !strings.Contains(got.Error.Message, c.message) || got.Error.Type == "" {
			t.Errorf("%s %.60s: got %d %+v", c.path, c.body, resp.StatusCode, got)
		}
		if (got.Type == "error") != !strings.HasSuffix(c.path, "/completions") {
			t.Errorf("%s: envelope of the other API: %s", c.path, body)
		}
		if rules := rulesOf(strict.Violations()[before:]); !slices.Equal(rules, c.rules) {
			t.Errorf("%s: recorded %v, want %v", c.path, rules, c.rules)
		}
	}
	if _, body := post(t, client, "http://any/v1/messages", messages("")); !strings.Contains(body, "ok") {
		t.Errorf("refused requests used up the step: %s", body)
	}
	if _, body := post(t, client, "http://any/v1/messages", messages("")); !strings.Contains(body, "the script has 1 steps") {
		t.Errorf("past the end of the script: %s", body)
	}
}

// failures is a TB that keeps what fails.
type failures struct {
	testing.TB
	mu      sync.Mutex
	said    []string
	cleanup []func()
}

func (f *failures) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *failures) Cleanup(fn func()) { f.cleanup = append(f.cleanup, fn) }
func (f *failures) end() {
	for _, fn := range slices.Backward(f.cleanup) {
		fn()
	}
}

func TestBrokenRuleFailsTheTest(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		f := &failures{TB: t}
		s := NewServer(f, Say("ok"))
		s.Lenient = lenient
		_, body := post(t, plainClient(t), s.URL+"/v1/messages", messages("", `"seed":1`))
		f.end()
		if got := len(f.said) == 0; got != lenient {
			t.Errorf("lenient %v: the test failed with %q", lenient, f.said)
		}
		if answered := strings.Contains(body, "ok"); answered != lenient {
			t.Errorf("lenient %v: answer %s", lenient, body)
		}
		if !lenient && !strings.Contains(f.said[0], "request 0") || !lenient && !strings.Contains(f.said[0], "A02") {
			t.Errorf("the failure says %q", f.said)
		}
	}
}

func TestServerLimits(t *testing.T) {
	s := NewServer(t, Say("ok"))
	s.Window, s.MaxOutput, s.Keyless = 100, 1500, true
	client := plainClient(t)
	keyless := func(r *http.Request) { r.Header.Del("Authorization") }
	resp, body := post(t, client, s.URL+"/v1/messages", messages(`{"role":"user","content":"`+strings.Repeat("x", 600)+`"}`, `"max_tokens":9`), keyless)
	if resp.StatusCode != 400 || !strings.Contains(body, "prompt is too long: ") {
		t.Errorf("beyond the window: %d %s", resp.StatusCode, body)
	}
	if v := s.Violations(); v != nil {
		t.Errorf("a long prompt is no violation: %v", v)
	}
	if resp, _ := post(t, client, s.URL+"/v1/messages", messages("", `"max_tokens":1500`), keyless); resp.StatusCode != 200 {
		t.Errorf("within the limits: %d", resp.StatusCode)
	}
	s.Lenient = true // the next one breaks a rule on purpose
	post(t, client, s.URL+"/v1/messages", messages("", `"max_tokens":1501`), keyless)
	if got := rulesOf(s.Violations()); !slices.Equal(got, []string{"A52"}) {
		t.Errorf("got %v, want A52", got)
	}
}

func TestOtherEndpoints(t *testing.T) {
	s := NewServer(t)
	client := plainClient(t)
	resp, err := client.Get(s.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Data) == 0 {
		t.Errorf("models: %+v, %v", list, err)
	}
	var count struct {
		Tokens int `json:"input_tokens"`
	}
	_, body := post(t, client, s.URL+"/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"`+strings.Repeat("x", 400)+`"}]}`)
	decodeInto(t, body, &count)
	if count.Tokens < 100 || count.Tokens > 110 {
		t.Errorf("counted %d tokens in 400 bytes", count.Tokens)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests on record", n)
	}
}

func TestRuleSeesTheConversation(t *testing.T) {
	type seen struct {
		API, System, Prompt, Model, Transcript string
		Results                                []string
		HasAdd, HasSub                         bool
		MaxTokens, Messages                    int
	}
	var got []seen
	s := NewServer(t)
	s.Rule = func(r *Request, n int) Step {
		v := seen{
			API: r.Path, System: r.System, Prompt: r.Prompt(), Model: r.Model, Transcript: r.Transcript(),
			HasAdd: r.HasTool("add"), HasSub: r.HasTool("sub"), MaxTokens: r.MaxTokens, Messages: len(r.Messages),
		}
		for _, res := range r.Results() {
			v.Results = append(v.Results, fmt.Sprintf("%s(%s)=%s", res.Use.Name, res.Use.Input, res.Text))
		}
		got = append(got, v)
		return Say(fmt.Sprint("answer ", n))
	}
	post(t, plainClient(t), s.URL+"/v1/messages", messages(askTool+","+user(result("t1", "4"), text("Go on.")), withTool, systemOf(text("Be brief."))))
	post(t, plainClient(t), s.URL+"/v1/chat/completions", completions(
		`{"role":"system","content":"Be brief."},{"role":"user","content":"add"},`+
			`{"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"add","arguments":"{}"}}]},`+
			`{"role":"tool","tool_call_id":"t1","content":"4"},{"role":"user","content":[{"type":"text","text":"Go on."}]}`,
		`"tools":[{"type":"function","function":{"name":"add"}}],"max_completion_tokens":2000,"model":"claude-sonnet-4-20250514"`))
	if len(got) != 2 {
		t.Fatalf("the rule was asked %d times", len(got))
	}
	for _, v := range got {
		if v.System != "Be brief." || v.Prompt != "Go on." || !v.HasAdd || v.HasSub || v.MaxTokens != 2000 ||
			!slices.Equal(v.Results, []string{"add({})=4"}) || v.Transcript != "add\nadd {}\n4\nGo on.\n" || v.Model != "claude-sonnet-4-20250514" {
			t.Errorf("got %+v", v)
		}
	}
}

func TestRulePanicIsAnAnswer(t *testing.T) {
	s := NewServer(t)
	s.Rule = func(*Request, int) Step { panic("oops") }
	resp, body := post(t, plainClient(t), s.URL+"/v1/messages", messages(""))
	if resp.StatusCode != 400 || !strings.Contains(body, "panicked: oops") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
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

// TestFaults plays each fault and looks at what arrives.
func TestFaults(t *testing.T) {
	body := messages("", `"stream":true`)
	events := func(n int) func(string, error) bool {
		return func(got string, err error) bool {
			return strings.Count(got, "event: ") == n && strings.HasSuffix(got, "\n\n")
		}
	}
	for _, c := range []struct {
		name  string
		step  Step
		whole bool // the body ends properly
		right func(got string, err error) bool
	}{
		{"at once", Step{CutAfter: AtOnce}, false, func(got string, err error) bool { return got == "" }},
		{"network", Fail(&llm.APIError{Class: llm.Network}), false, func(got string, err error) bool { return got == "" }},
		{"close", Step{Text: "abcdefgh", CutAfter: 3}, false, events(3)},
		{"reset", Step{Text: "abcdefgh", CutAfter: 3, Cut: CutReset}, false, events(3)},
		{"end", Step{Text: "abcdefgh", CutAfter: 3, Cut: CutEnd}, true, events(3)},
		{"error", Step{Text: "abcdefgh", CutAfter: 3, Cut: CutError}, true, func(got string, err error) bool {
			return events(4)(got, err) && strings.Contains(got, "event: error") && strings.Contains(got, "overloaded_error")
		}},
		{"own error", Step{Text: "abcdefgh", CutAfter: 3, Cut: CutError, Err: errors.New("out of tape")}, true, func(got string, err error) bool {
			return strings.Contains(got, "out of tape") && strings.Contains(got, "api_error")
		}},
		{"garbage", Step{Text: "abcdefgh", CutAfter: 3, Cut: CutGarbage}, true, func(got string, err error) bool {
			return strings.Contains(got, "content_bl\n") && strings.Contains(got, "message_stop")
		}},
		{"beyond the end", Step{Text: "abcdefgh", CutAfter: 99}, true, events(10)},
		{"pieces", Step{Text: "abcdefgh", Pieces: 8}, true, events(14)},
		{"raw", Step{Raw: []byte("<html>")}, true, func(got string, err error) bool { return got == "<html>" }},
		{"raw, cut", Step{Raw: []byte("<html>"), CutAfter: 2}, false, func(got string, err error) bool { return got == "<h" }},
		{"raw, ended", Step{Raw: []byte("<html>"), CutAfter: 2, Cut: CutEnd}, true, func(got string, err error) bool { return got == "<h" }},
		{"status", Step{Status: 529}, true, func(got string, err error) bool { return strings.Contains(got, "overloaded_error") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewServer(t, c.step)
			_, got, err := tryPost(t.Context(), plainClient(t), s.URL+"/v1/messages", body)
			if (err == nil) != c.whole || !c.right(got, err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestStatusAndHeaders(t *testing.T) {
	s := NewServer(t,
		Step{Status: 429, Header: http.Header{"retry-after-ms": {"1500"}}},
		Fail(&llm.APIError{Class: llm.RateLimit, RetryAfter: 1500 * time.Millisecond, Message: "slow down"}),
		Step{Status: 502, Raw: []byte("<html>"), ContentType: "text/html; charset=utf-8"},
		Fail(errors.New("broken")),
	)
	client := plainClient(t)
	for _, want := range []struct {
		status              int
		header, value, body string
	}{
		{429, "Retry-After-Ms", "1500", "rate_limit_error"},
		{429, "Retry-After", "2", "slow down"},
		{502, "Content-Type", "text/html; charset=utf-8", "<html>"},
		{500, "Request-Id", "req_", "broken"},
	} {
		resp, body := post(t, client, s.URL+"/v1/messages", messages(""))
		if resp.StatusCode != want.status || !strings.HasPrefix(resp.Header.Get(want.header), want.value) || !strings.Contains(body, want.body) {
			t.Errorf("got %d %v %s, want %+v", resp.StatusCode, resp.Header, body, want)
		}
	}
}

// TestPipeUnderSynctest lets an hour of waiting pass at once, in each place where a step can wait.
func TestPipeUnderSynctest(t *testing.T) {
	for _, step := range []Step{
		{Text: "late", Delay: time.Hour},
		{Text: "late", EventDelay: 10 * time.Minute},
		{Text: "late", Stall: time.Hour},
		{Text: "late", Stall: time.Hour, StallAfter: 5},
		{Raw: []byte("late"), EventDelay: 15 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewPipe(t, step)
			start := time.Now()
			_, body := post(t, s.Client(), s.URL+"/v1/messages", messages("", `"stream":true`))
			if !strings.Contains(body, "la") {
				t.Errorf("got %s", body)
			}
			if d := time.Since(start); d < time.Hour {
				t.Errorf("%+v took %v", step, d)
			}
		})
	}
}

// TestRetryAfterUnderSynctest obeys a retry-after of an hour, in no time.
func TestRetryAfterUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewPipe(t, Fail(&llm.APIError{Status: 429, RetryAfter: time.Hour}), Say("welcome back"))
		start := time.Now()
		resp, _ := post(t, s.Client(), s.URL+"/v1/chat/completions", completions(""))
		after, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		if _, body := post(t, s.Client(), s.URL+"/v1/chat/completions", completions("")); !strings.Contains(body, "welcome back") {
			t.Errorf("got %s", body)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("took %v", d)
		}
	})
}

func TestCloseEndsStalledReplies(t *testing.T) {
	for _, pipe := range []bool{false, true} {
		started := make(chan struct{})
		s := &Server{Rule: func(*Request, int) Step {
			close(started)
			return Step{Text: "abc", Stall: time.Hour, StallAfter: 2}
		}}
		client := plainClient(t)
		if pipe {
			client = s.Client()
		} else if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, _, err := tryPost(t.Context(), client, s.URL+"/v1/messages", messages("", `"stream":true`))
			done <- err
		}()
		<-started
		s.Close()
		s.Close()
		if err := <-done; err == nil {
			t.Errorf("pipe %v: the reply ended as if complete", pipe)
		}
		if _, _, err := tryPost(t.Context(), client, s.URL+"/v1/messages", messages("")); err == nil {
			t.Errorf("pipe %v: a closed server answers", pipe)
		}
		if s.Listen() == nil {
			t.Errorf("a closed server listens again")
		}
	}
	unused := &Server{}
	unused.Close()
	if _, _, err := tryPost(t.Context(), unused.Client(), pipeURL, "{}"); err == nil {
		t.Error("a closed server serves in memory")
	}
}

func TestClientBelievesInAnyURL(t *testing.T) {
	s := NewPipe(t, Say("ok"))
	resp, body := post(t, s.Client(), "https://api.anthropic.com/v1/messages", messages(""))
	if resp.StatusCode != 200 || !strings.Contains(body, "ok") || s.Requests()[0].Path != "/v1/messages" {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewPipe(t, Step{Text: "abc", Stall: time.Hour, StallAfter: 3}, Step{Delay: time.Hour})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _, err := tryPost(ctx, s.Client(), s.URL+"/v1/messages", messages("", `"stream":true`))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			synctest.Wait()
			if n := s.active.Load(); n != 0 {
				t.Errorf("%d requests are still being answered", n)
			}
		}
	})
}

func TestRecordedBodiesAreBounded(t *testing.T) {
	s := &Server{}
	body := make([]byte, maxRecorded/2)
	for range 3 {
		s.record(&Request{Body: body, Model: "m"}, true)
	}
	kept := 0
	for _, r := range s.Requests() {
		kept += len(r.Body)
		if r.Model != "m" {
			t.Errorf("got %+v", r)
		}
	}
	if len(s.Requests()) != 3 || kept > maxRecorded {
		t.Errorf("%d requests, %d bytes", len(s.Requests()), kept)
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

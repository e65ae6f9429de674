package responses

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

const compatible = "https://models.example/v1"

// request is the least that a model can be asked.
var request = llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

// encoded returns the whole body of a request to the host of base, which must be lawful.
func encoded(t testing.TB, c *Client, base, name string, req *llm.Request) []byte {
	t.Helper()
	m := c.Model(name).(*model)
	pieces, err := m.encode(req, hostOf(base))
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Join(pieces, nil)
	for _, v := range strictapi.CheckResponses(body) {
		t.Errorf("%v\n%s", v, body)
	}
	return body
}

// outline shows the items of a body, one a line.
func outline(t testing.TB, body []byte) string {
	t.Helper()
	var d struct{ Input []json.RawMessage }
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range d.Input {
		b.Write(m)
		b.WriteByte('\n')
	}
	return b.String()
}

func user(bs ...llm.Block) llm.Message      { return llm.Message{Role: llm.User, Content: bs} }
func assistant(bs ...llm.Block) llm.Message { return llm.Message{Role: llm.Assistant, Content: bs} }
func txt(s string) llm.Text                 { return llm.Text{Text: s} }
func use(id, name, input string) llm.ToolUse {
	return llm.ToolUse{ID: id, Name: name, Input: json.RawMessage(input)}
}
func answer(id string, bs ...llm.Block) llm.ToolResult {
	return llm.ToolResult{ID: id, Content: bs}
}
func thought(raw string) llm.Thinking { return llm.Thinking{Text: "hm", Extra: json.RawMessage(raw)} }
func own(shown, raw string) llm.Verbatim {
	return llm.Verbatim{Provider: provider, Shown: shown, Raw: json.RawMessage(raw)}
}

func TestMessages(t *testing.T) {
	const (
		asked = `{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}` + "\n"
		sent  = `{"type":"function_call","call_id":"1","name":"f","arguments":"{\"a\":1}"}` + "\n"
		got   = `{"type":"function_call_output","call_id":"1","output":"x"}` + "\n"
		item  = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"e"}`
	)
	call, a := use("1", "f", `{"a": 1}`), user(txt("a"))
	gif := llm.Image{MediaType: "image/jpeg", Data: []byte("GIF89a\x01\x00\x01\x00")}
	long := strings.Repeat("x", 70)
	said := func(s string) string { return `{"type":"message","role":"assistant","content":"` + s + `"}` + "\n" }
	for _, tt := range []struct {
		name, base string
		msgs       []llm.Message
		want       string
	}{
		{"merged", defaultBaseURL, []llm.Message{a, user(txt("b"), txt(" ")), assistant(txt("c")), assistant(txt("d"))},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}` + "\n" + said("cd")},
		{"call and result", defaultBaseURL, []llm.Message{a, assistant(txt("I look"), call), user(answer("1", txt("x"), txt("y")), txt("and"))},
			asked + said("I look") + sent + `{"type":"function_call_output","call_id":"1","output":"x\ny"}` + "\n" + `{"type":"message","role":"user","content":[{"type":"input_text","text":"and"}]}` + "\n"},
		{"reasoning before its call", defaultBaseURL, []llm.Message{a, assistant(thought(item), call), user(answer("1", txt("x")))}, asked + item + "\n" + sent + got},
		{"reasoning between", defaultBaseURL, []llm.Message{a, assistant(thought(item), txt("b"), thought(strings.Replace(item, "rs_1", "rs_2", 1)), call), user(answer("1", txt("x")))},
			asked + item + "\n" + said("b") + strings.Replace(item, "rs_1", "rs_2", 1) + "\n" + sent + got},
		{"reasoning cut off from what followed", defaultBaseURL, []llm.Message{a, assistant(txt("b"), thought(item)), a}, asked + said("b") + asked},
		{"reasoning alone", defaultBaseURL, []llm.Message{a, assistant(thought(item)), a}, asked + said("(no content)") + asked},
		{"reasoning that was not encrypted", defaultBaseURL, []llm.Message{a, assistant(thought(`{"type":"reasoning","id":"rs_1","summary":[]}`), txt("b"))}, asked + said("b")},
		{"reasoning of an open model", compatible, []llm.Message{a, assistant(thought(`{"type":"reasoning","id":"item_9","summary":null,"content":[{"type":"reasoning_text","text":"hm"}],"status":"completed"}`), txt("b"))},
			asked + `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}` + "\n" + said("b")},
		{"what is Anthropic's", defaultBaseURL, []llm.Message{a, assistant(llm.Thinking{Text: "t", Signature: "s"}, llm.RedactedThinking{Data: "d"}, llm.Verbatim{Provider: "anthropic", Shown: "cited", Raw: json.RawMessage(`{}`)})}, asked + said("cited")},
		{"what is OpenRouter's", defaultBaseURL, []llm.Message{a, assistant(thought(`[{"type":"reasoning.text","text":"t"}]`), txt("b"))}, asked + said("b")},
		{"a search and its citations", defaultBaseURL, []llm.Message{a, assistant(own("", `{"type":"web_search_call","id":"ws_1","status":"completed"}`), own("b", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"type":"url_citation"}]}]}`))},
			asked + `{"type":"web_search_call","id":"ws_1","status":"completed"}` + "\n" + `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"type":"url_citation"}]}]}` + "\n"},
		{"what we did not answer", defaultBaseURL, []llm.Message{a, assistant(own("", `{"type":"custom_tool_call","call_id":"9"}`), txt("b"))}, asked + said("b")},
		{"phases", defaultBaseURL, []llm.Message{a, assistant(txt("first"), own("", `{"type":"phase","phase":"commentary"}`), txt("then"), own("", `{"type":"phase","phase":"final_answer"}`), own("", `{"type":"phase","phase":"x"}`))},
			asked + strings.Replace(said("first"), `}`, `,"phase":"commentary"}`, 1) + strings.Replace(said("then"), `}`, `,"phase":"final_answer"}`, 1)},
		{"error, nothing", defaultBaseURL, []llm.Message{a, assistant(call, use("2", "g", ``)), user(llm.ToolResult{ID: "1", IsError: true, Content: llm.Blocks{txt("no")}}, answer("2"))},
			asked + sent + `{"type":"function_call","call_id":"2","name":"g","arguments":"{}"}` + "\n" + strings.Replace(got, `"x"`, `"Error: no"`, 1) + `{"type":"function_call_output","call_id":"2","output":"(no output)"}` + "\n"},
		{"image of a tool", defaultBaseURL, []llm.Message{a, assistant(call), user(llm.ToolResult{ID: "1", IsError: true, Content: llm.Blocks{txt("see"), gif}})},
			asked + sent + `{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"Error:"},{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/gif;base64,R0lGODlhAQABAA=="}]}` + "\n"},
		{"image of a tool, elsewhere", compatible, []llm.Message{a, assistant(call), user(answer("1", gif), txt("see?"))},
			asked + sent + strings.Replace(got, `"x"`, `"(see the attachment below)"`, 1) + `{"type":"message","role":"user","content":[{"type":"input_text","text":"Attachment of the result of tool call 1:"},{"type":"input_image","image_url":"data:image/gif;base64,R0lGODlhAQABAA=="},{"type":"input_text","text":"see?"}]}` + "\n"},
		{"result missing", defaultBaseURL, []llm.Message{a, assistant(call)}, asked + sent + strings.Replace(got, `"x"`, `"Error: No result of this call is on record. It may or may not have had an effect."`, 1)},
		{"long id", defaultBaseURL, []llm.Message{a, assistant(use(long, "f", `{}`)), user(answer(long, txt("x")))},
			asked + strings.ReplaceAll(`{"type":"function_call","call_id":"ID","name":"f","arguments":"{}"}`+"\n"+strings.Replace(got, `"1"`, `"ID"`, 1), "ID", long[:64])},
		{"ids of Kimi, the same in every turn", defaultBaseURL, []llm.Message{a, assistant(use("functions.f:0", "f", `{}`)), user(answer("functions.f:0", txt("x"))), assistant(use("functions.f:0", "f", `{}`)), user(answer("functions.f:0", txt("x")))},
			asked + strings.ReplaceAll(`{"type":"function_call","call_id":"ID","name":"f","arguments":"{}"}`+"\n"+strings.Replace(got, `"1"`, `"ID"`, 1), "ID", "functions_f_0") +
				strings.ReplaceAll(`{"type":"function_call","call_id":"ID","name":"f","arguments":"{}"}`+"\n"+strings.Replace(got, `"1"`, `"ID"`, 1), "ID", "functions_f_0_1")},
		{"begins with the assistant", defaultBaseURL, []llm.Message{assistant(txt("b")), a}, `{"type":"message","role":"user","content":[{"type":"input_text","text":"(no content)"}]}` + "\n" + said("b") + asked},
		{"documents", defaultBaseURL, []llm.Message{user(llm.Document{MediaType: "text/plain", Title: "T", Data: []byte("text")}, llm.Document{MediaType: "application/pdf", Data: []byte("%PDF")})},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"T:"},{"type":"input_text","text":"text"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERg=="}]}` + "\n"},
		{"PDF elsewhere", compatible, []llm.Message{user(llm.Document{MediaType: "application/pdf", Data: []byte("%PDF")})},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"[document left out: application/pdf, 4 bytes]"}]}` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := encoded(t, &Client{}, tt.base, "gpt-5.2", &llm.Request{Messages: tt.msgs})
			if got := outline(t, body); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	temperature := func(f float64) *float64 { return &f }
	tool := []llm.Tool{{Name: "f", Description: "does f"}}
	search := Client{BuiltIn: []json.RawMessage{json.RawMessage(`{"type": "web_search"}`), json.RawMessage(`{"type":"code_interpreter","container":{"type":"auto"}}`)}}
	for _, tt := range []struct {
		name, base, model string
		client            Client
		req               llm.Request
		with, without     []string
	}{
		{"stream", compatible, "m", Client{}, llm.Request{MaxTokens: 50, System: "be\ngood"}, []string{`"stream":true`, `"max_output_tokens":50`, `"store":false`, `"truncation":"disabled"`, `"instructions":"be\ngood"`}, []string{`"tools"`, `"temperature"`, `"include"`, `"reasoning"`, `"prompt_cache_key"`}},
		{"blocking", compatible, "m", Client{}, llm.Request{Blocking: true}, nil, []string{`"stream`, `"max_`}},
		{"few tokens", defaultBaseURL, "gpt-4.1", Client{}, llm.Request{MaxTokens: 1}, []string{`"max_output_tokens":16`}, nil},
		{"too many tokens", defaultBaseURL, "gpt-4o", Client{}, llm.Request{MaxTokens: 100_000}, []string{`"max_output_tokens":16384`}, nil},
		{"hot", compatible, "m", Client{}, llm.Request{Temperature: temperature(9), Stop: []string{"END"}}, []string{`"temperature":2`}, []string{`"stop"`}},
		{"reasoning model", defaultBaseURL, "gpt-5-mini-2025-08-07", Client{}, llm.Request{Temperature: temperature(0), Thinking: llm.Thought{Budget: 2000}}, []string{`"reasoning":{"effort":"medium","summary":"auto"}`, `"include":["reasoning.encrypted_content"]`}, []string{`"temperature"`}},
		{"as it likes", defaultBaseURL, "gpt-5", Client{}, llm.Request{}, []string{`"include"`}, []string{`"reasoning":`}},
		{"adaptive", defaultBaseURL, "gpt-5", Client{}, llm.Request{Thinking: llm.Thought{Mode: llm.ThinkAdaptive}}, []string{`"reasoning":{"summary":"auto"}`}, nil},
		{"most", defaultBaseURL, "gpt-5.2", Client{Summary: "none"}, llm.Request{Thinking: llm.Thought{Effort: "max"}}, []string{`"reasoning":{"effort":"xhigh"}`}, nil},
		{"most of an older one", defaultBaseURL, "o3", Client{Summary: "detailed"}, llm.Request{Thinking: llm.Thought{Effort: "max"}}, []string{`"reasoning":{"effort":"high","summary":"detailed"}`}, nil},
		{"off", defaultBaseURL, "gpt-5.2", Client{}, llm.Request{Thinking: llm.Thought{Mode: llm.ThinkOff}}, []string{`"reasoning":{"effort":"none"}`}, nil},
		{"hardly", defaultBaseURL, "gpt-5", Client{}, llm.Request{Thinking: llm.Thought{Mode: llm.ThinkOff}}, []string{`"reasoning":{"effort":"minimal"}`}, nil},
		{"cannot be switched off", defaultBaseURL, "o3", Client{}, llm.Request{Thinking: llm.Thought{Mode: llm.ThinkOff}}, nil, []string{`"reasoning":{`}},
		{"cannot think", defaultBaseURL, "gpt-4.1", Client{}, llm.Request{Thinking: llm.Thought{Effort: "low"}}, nil, []string{`"reasoning`}},
		{"tool", compatible, "m", Client{}, llm.Request{Tools: tool}, []string{`"tools":[{"type":"function","name":"f","description":"does f","parameters":{"type":"object","properties":{}},"strict":false}]`}, []string{`"tool_choice"`}},
		{"required", compatible, "m", Client{}, llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, []string{`"tool_choice":"required"`}, nil},
		{"this tool", compatible, "m", Client{}, llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}}, []string{`"tool_choice":{"type":"function","name":"f"}`}, nil},
		{"no tool", compatible, "m", Client{}, llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}}, []string{`"tool_choice":"none"`}, nil},
		{"choice without tools", compatible, "m", Client{}, llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, nil, []string{`"tool_choice"`}},
		{"built-in tools", defaultBaseURL, "gpt-5", search, llm.Request{Tools: tool}, []string{`"strict":false},{"type":"web_search"},{"type":"code_interpreter","container":{"type":"auto"}}]`}, nil},
		{"built-in tools alone", defaultBaseURL, "gpt-5", search, llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, []string{`"tools":[{"type":"web_search"},`, `"tool_choice":"required"`}, nil},
		{"no eyes", defaultBaseURL, "o3-mini", Client{}, llm.Request{Messages: []llm.Message{user(llm.Image{Data: wiretest.PNG(1, 1)})}}, []string{`reads no images`}, []string{`input_image`}},
		{"cache by session", defaultBaseURL, "gpt-5", Client{}, llm.Request{Session: "s-1"}, []string{`"prompt_cache_key":"s-1"`}, nil},
		{"cache by the first message", defaultBaseURL, "gpt-5", Client{}, llm.Request{}, []string{`"prompt_cache_key":"`}, nil},
		{"no cache", defaultBaseURL, "gpt-5", Client{}, llm.Request{Session: "s-1", Cache: llm.Cache{Off: true}}, nil, []string{`"prompt_cache_key"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.req.Messages == nil {
				tt.req.Messages = request.Messages
			}
			body := encoded(t, &tt.client, tt.base, tt.model, &tt.req)
			for _, s := range tt.with {
				if !bytes.Contains(body, []byte(s)) {
					t.Errorf("%s is missing in %s", s, body)
				}
			}
			for _, s := range tt.without {
				if bytes.Contains(body, []byte(s)) {
					t.Errorf("%s is in %s", s, body)
				}
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	hi := request.Messages
	for name, tt := range map[string]struct {
		client Client
		req    llm.Request
	}{
		"no messages":      {},
		"bad tool name":    {req: llm.Request{Messages: hi, Tools: []llm.Tool{{Name: strings.Repeat("n", 65)}}}},
		"same tool twice":  {req: llm.Request{Messages: hi, Tools: []llm.Tool{{Name: "a"}, {Name: "a"}}}},
		"too many tools":   {req: llm.Request{Messages: hi, Tools: make([]llm.Tool, maxTools+1)}},
		"schema broken":    {req: llm.Request{Messages: hi, Tools: []llm.Tool{{Name: "a", Input: json.RawMessage(`{`)}}}},
		"unknown choice":   {req: llm.Request{Messages: hi, Tools: []llm.Tool{{Name: "a"}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "b"}}},
		"no built-in tool": {client: Client{BuiltIn: []json.RawMessage{json.RawMessage(`{}`)}}, req: llm.Request{Messages: hi}},
	} {
		if _, err := tt.client.Model("m").(*model).encode(&tt.req, host{}); class(err) != llm.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHost(t *testing.T) {
	for base, want := range map[string]host{
		defaultBaseURL:                          {own: true},
		"https://eu.api.openai.com/v1":          {own: true},
		"https://me.openai.azure.com/openai/v1": {own: true, azure: true},
		"https://openrouter.ai/api/v1":          {},
		"https://notapi.openai.com.evil.com":    {},
		"::":                                    {},
	} {
		if got := hostOf(base); got != want {
			t.Errorf("%s: %+v, want %+v", base, got, want)
		}
	}
}

// FuzzEncode checks that whatever the transcript is, the request keeps every
// rule, and that a memo changes nothing but the cost.
func FuzzEncode(f *testing.F) {
	for _, seed := range wiretest.Seeds(40, 1) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msgs := wiretest.Transcript(data)
		for _, base := range []string{defaultBaseURL, compatible} {
			wiretest.Grow(t, llm.Request{System: "s"}, msgs, func(r *llm.Request) []byte { return encoded(t, &Client{}, base, "gpt-5.2", r) }, func([]byte) {})
		}
	})
}

// TestEncodeCost bounds what the next request of a long conversation costs.
func TestEncodeCost(t *testing.T) {
	m := Model("gpt-5.2").(*model)
	wiretest.Cost(t, func(req *llm.Request) ([][]byte, error) { return m.encode(req, host{own: true}) })
}

func BenchmarkEncode(b *testing.B) {
	m := Model("gpt-5.2").(*model)
	wiretest.Encode(b, func(req *llm.Request) ([][]byte, error) { return m.encode(req, host{own: true}) })
}

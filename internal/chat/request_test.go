package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

const (
	openRouter = "https://openrouter.ai/api/v1"
	deepSeek   = "https://api.deepseek.com"
	compatible = "https://models.example/v1"
)

// lawful fails the test if the body breaks a rule of the host.
func lawful(t testing.TB, body []byte, host strictapi.Host) {
	t.Helper()
	for _, v := range strictapi.CheckHost(body, host) {
		t.Errorf("%v\n%s", v, body)
	}
}

// outline shows the messages of a body, one a line.
func outline(t testing.TB, body []byte) string {
	t.Helper()
	var d struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range d.Messages {
		b.Write(m)
		b.WriteByte('\n')
	}
	return b.String()
}

func user(bs ...llm.Block) llm.Message      { return llm.Message{Role: llm.User, Content: bs} }
func assistant(bs ...llm.Block) llm.Message { return llm.Message{Role: llm.Assistant, Content: bs} }
func txt(s string) llm.Text                 { return llm.Text{Text: s} }
func answer(id string, bs ...llm.Block) llm.ToolResult {
	return llm.ToolResult{ID: id, Content: bs}
}

func TestMessages(t *testing.T) {
	call := use("1", "f", `{"a": 1}`)
	const sent = `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}` + "\n"
	long := strings.Repeat("x", 50)
	for _, tt := range []struct {
		name, base string
		req        llm.Request
		want       string
	}{
		{"system", compatible, llm.Request{System: "be\ngood", Messages: []llm.Message{user(txt("a"))}},
			`{"role":"system","content":"be\ngood"}` + "\n" + `{"role":"user","content":"a"}` + "\n"},
		{"merged", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), user(txt("b"), txt(" ")), assistant(txt("c")), assistant(txt("d"))}},
			`{"role":"user","content":"a\n\nb"}` + "\n" + `{"role":"assistant","content":"cd"}` + "\n"},
		{"call and result", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(call), user(answer("1", txt("x"), txt("y")))}},
			`{"role":"user","content":"a"}` + "\n" + sent + `{"role":"tool","tool_call_id":"1","content":"x\ny"}` + "\n"},
		{"error, nothing, steering", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(call, use("2", "g", ``)), user(txt("stop")), user(llm.ToolResult{ID: "1", IsError: true, Content: llm.Blocks{txt("no")}}, answer("2"))}},
			`{"role":"user","content":"a"}` + "\n" +
				`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]}` + "\n" +
				`{"role":"tool","tool_call_id":"1","content":"Error: no"}` + "\n" + `{"role":"tool","tool_call_id":"2","content":"(no output)"}` + "\n" + `{"role":"user","content":"stop"}` + "\n"},
		{"image of a tool", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(call), user(answer("1", llm.Image{MediaType: "image/jpeg", Data: []byte("GIF89a\x01\x00\x01\x00")}), txt("see?"))}},
			`{"role":"user","content":"a"}` + "\n" + sent + `{"role":"tool","tool_call_id":"1","content":"(see the attachment below)"}` + "\n" +
				`{"role":"user","content":[{"type":"text","text":"Attachment of the result of tool call 1:"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlhAQABAA=="}},{"type":"text","text":"see?"}]}` + "\n"},
		{"result missing", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(call)}},
			`{"role":"user","content":"a"}` + "\n" + sent + `{"role":"tool","tool_call_id":"1","content":"Error: No result of this call is on record. It may or may not have had an effect."}` + "\n"},
		{"long id", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(use(long, "f", `{}`)), user(answer(long, txt("x")))}},
			`{"role":"user","content":"a"}` + "\n" + strings.ReplaceAll(`{"role":"assistant","tool_calls":[{"id":"ID","type":"function","function":{"name":"f","arguments":"{}"}}]}`+"\n"+`{"role":"tool","tool_call_id":"ID","content":"x"}`+"\n", "ID", long[:40])},
		{"ids of Kimi, the same in every turn", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(use("functions.f:0", "f", `{}`)), user(answer("functions.f:0", txt("x"))), assistant(use("functions.f:0", "f", `{}`)), user(answer("functions.f:0", txt("y")))}},
			`{"role":"user","content":"a"}` + "\n" +
				`{"role":"assistant","tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{}"}}]}` + "\n" + `{"role":"tool","tool_call_id":"functions.f:0","content":"x"}` + "\n" +
				`{"role":"assistant","tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{}"}}]}` + "\n" + `{"role":"tool","tool_call_id":"functions.f:0","content":"y"}` + "\n"},
		{"what is Anthropic's", compatible, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(llm.Thinking{Text: "t", Signature: "s"}, llm.RedactedThinking{Data: "d"}, llm.Verbatim{Provider: "anthropic", Shown: "cited", Raw: json.RawMessage(`{}`)}), user(txt("b"))}},
			`{"role":"user","content":"a"}` + "\n" + `{"role":"assistant","content":"cited"}` + "\n" + `{"role":"user","content":"b"}` + "\n"},
		{"reasoning to DeepSeek", deepSeek, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(llm.Thinking{Text: "hm"}, call), user(answer("1", txt("x"))), assistant(call), user(answer("1", txt("x"))), assistant(llm.Thinking{Text: "so"}, txt("b")), user(txt("c"))}},
			`{"role":"user","content":"a"}` + "\n" + strings.Replace(sent, `"tool_calls"`, `"reasoning_content":"hm","tool_calls"`, 1) + `{"role":"tool","tool_call_id":"1","content":"x"}` + "\n" +
				strings.Replace(sent, `"tool_calls"`, `"reasoning_content":"","tool_calls"`, 1) + `{"role":"tool","tool_call_id":"1","content":"x"}` + "\n" +
				`{"role":"assistant","content":"b"}` + "\n" + `{"role":"user","content":"c"}` + "\n"},
		{"details to OpenRouter", openRouter, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(llm.Thinking{Text: "hm", Signature: "s", Extra: json.RawMessage(`[{"x": 1},{"y":2}]`)}, txt("b")), user(txt("c"))}},
			`{"role":"user","content":"a"}` + "\n" + `{"role":"assistant","content":"b","reasoning":"hm","reasoning_details":[{"x":1},{"y":2}]}` + "\n" + `{"role":"user","content":"c"}` + "\n"},
		{"no reasoning to OpenAI", DefaultBaseURL, llm.Request{Messages: []llm.Message{user(txt("a")), assistant(llm.Thinking{Text: "hm", Extra: json.RawMessage(`[{"x":1}]`)}, call), user(answer("1", txt("x")))}},
			`{"role":"user","content":"a"}` + "\n" + sent + `{"role":"tool","tool_call_id":"1","content":"x"}` + "\n"},
		{"documents", compatible, llm.Request{Messages: []llm.Message{user(llm.Document{MediaType: "text/plain", Title: "T", Data: []byte("text")}, llm.Document{MediaType: "application/pdf", Data: []byte("%PDF")})}},
			`{"role":"user","content":"T:\n\ntext\n\n[document left out: application/pdf, 4 bytes]"}` + "\n"},
		{"PDF to OpenAI", DefaultBaseURL, llm.Request{Messages: []llm.Message{user(llm.Document{MediaType: "application/pdf", Data: []byte("%PDF")})}},
			`{"role":"user","content":[{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}]}` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := encoded(t, tt.base, "gpt-4o", &tt.req)
			host := strictapi.Host("compat")
			if tt.base == deepSeek {
				host = "deepseek"
			}
			lawful(t, body, host)
			if got := outline(t, body); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	temperature := func(f float64) *float64 { return &f }
	tool := []llm.Tool{{Name: "f", Description: "does f"}}
	for _, tt := range []struct {
		name, base, model string
		req               llm.Request
		with, without     []string
	}{
		{"stream", compatible, "m", llm.Request{MaxTokens: 5}, []string{`"stream":true,"stream_options":{"include_usage":true}`, `"max_tokens":5`}, []string{`"tools"`, `"temperature"`, `"max_completion_tokens"`}},
		{"blocking", compatible, "m", llm.Request{Blocking: true}, nil, []string{`"stream`, `"max_`}},
		{"max_completion_tokens", DefaultBaseURL, "gpt-4o", llm.Request{MaxTokens: 100_000}, []string{`"max_completion_tokens":16384`}, []string{`"max_tokens"`}},
		{"a reasoning model on another host", compatible, "gpt-5", llm.Request{MaxTokens: 5}, []string{`"max_completion_tokens":5`}, []string{`"max_tokens"`}},
		{"hot", compatible, "m", llm.Request{Temperature: temperature(9)}, []string{`"temperature":2`}, nil},
		{"reasoning model", DefaultBaseURL, "gpt-5-mini-2025-08-07", llm.Request{Temperature: temperature(0), Stop: []string{"END"}, Thinking: llm.Thought{Budget: 2000}}, []string{`"reasoning_effort":"medium"`}, []string{`"temperature"`, `"stop"`}},
		{"unknown reasoning model", DefaultBaseURL, "o9-mini", llm.Request{Temperature: temperature(0), Thinking: llm.Thought{Effort: "max"}}, []string{`"reasoning_effort":"high"`}, []string{`"temperature"`}},
		{"cannot think", DefaultBaseURL, "gpt-4.1", llm.Request{Thinking: llm.Thought{Effort: "low"}}, nil, []string{`"reasoning`}},
		{"OpenRouter", openRouter, "anthropic/claude-haiku-4.5", llm.Request{Thinking: llm.Thought{Effort: "low"}}, []string{`"reasoning":{"effort":"low"}`, `"usage":{"include":true}`}, []string{`"reasoning_effort"`}},
		{"OpenRouter, budget", openRouter, "anthropic/claude-haiku-4.5", llm.Request{Thinking: llm.Thought{Budget: 3000}}, []string{`"reasoning":{"max_tokens":3000}`}, nil},
		{"Grok", "https://api.x.ai/v1", "grok-4", llm.Request{Thinking: llm.Thought{Effort: "low"}}, nil, []string{`"reasoning`}},
		{"stops", compatible, "m", llm.Request{Stop: []string{"", "a", "b", "c", "d", "e"}}, []string{`"stop":["a","b","c","d"]`}, nil},
		{"tool", compatible, "m", llm.Request{Tools: tool}, []string{`"tools":[{"type":"function","function":{"name":"f","description":"does f","parameters":{"type":"object","properties":{}}}}]`}, []string{`"tool_choice"`}},
		{"required", compatible, "m", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, []string{`"tool_choice":"required"`}, nil},
		{"this tool", compatible, "m", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}}, []string{`"tool_choice":{"type":"function","function":{"name":"f"}}`}, nil},
		{"no tool", compatible, "m", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}}, []string{`"tool_choice":"none"`}, nil},
		{"choice without tools", compatible, "m", llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, nil, []string{`"tool_choice"`}},
		{"no eyes", DefaultBaseURL, "o3-mini", llm.Request{Messages: []llm.Message{user(llm.Image{Data: wiretest.PNG(1, 1)})}}, []string{`reads no images`}, []string{`image_url`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.req.Messages == nil {
				tt.req.Messages = request.Messages
			}
			body := encoded(t, tt.base, tt.model, &tt.req)
			host := strictapi.Host("compat")
			if tt.base == DefaultBaseURL {
				host = strictapi.OpenAI
			}
			lawful(t, body, host)
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
	many := make([]llm.Tool, maxTools+1)
	for i := range many {
		many[i].Name = fmt.Sprint("t", i)
	}
	for name, req := range map[string]*llm.Request{
		"no messages":     {},
		"bad tool name":   {Messages: hi, Tools: []llm.Tool{{Name: strings.Repeat("n", 65)}}},
		"same tool twice": {Messages: hi, Tools: []llm.Tool{{Name: "a"}, {Name: "a"}}},
		"too many tools":  {Messages: hi, Tools: many},
		"schema broken":   {Messages: hi, Tools: []llm.Tool{{Name: "a", Input: json.RawMessage(`{`)}}},
		"unknown choice":  {Messages: hi, Tools: []llm.Tool{{Name: "a"}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "b"}},
	} {
		_, err := new(Client).Model("m").(*model).encode(req, generic.target("m"))
		if class(err) != llm.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProfileAt(t *testing.T) {
	for base, want := range map[string]string{
		DefaultBaseURL:                                             "openai",
		"https://me.openai.azure.com/openai/v1":                    "azure",
		"https://OpenRouter.ai/api/v1":                             "openrouter",
		"https://ai-gateway.vercel.sh/v1":                          "vercel",
		"https://api.deepseek.com":                                 "deepseek",
		"https://api.z.ai/api/paas/v4":                             "glm",
		"https://open.bigmodel.cn/api/paas/v4":                     "glm",
		"https://api.moonshot.cn/v1":                               "kimi",
		"https://api.groq.com/openai/v1":                           "groq",
		"https://api.x.ai/v1":                                      "xai",
		"https://api.mistral.ai/v1":                                "mistral",
		"https://generativelanguage.googleapis.com/v1beta/openai/": "gemini",
		"https://router.huggingface.co/v1":                         "huggingface",
		"https://api.avian.io/v1":                                  "avian",
		"http://localhost:11434/v1":                                "ollama",
		"http://192.168.1.7:11434/v1":                              "ollama",
		"http://8.8.8.8:11434/v1":                                  "generic",
		"http://[::1]:8080/v1":                                     "llamacpp",
		"http://127.0.0.1:8000/v1":                                 "vllm",
		"http://localhost:1234/v1":                                 "lmstudio",
		"http://localhost:5555/v1":                                 "local",
		"https://openrouter.ai.evil.example/v1":                    "generic",
		"https://notopenai.com":                                    "generic",
		"::":                                                       "generic",
	} {
		if got := ProfileAt(base).Name; got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

// FuzzEncode checks that whatever the transcript is, the request keeps every
// rule of every host, and that a memo changes nothing but the cost.
func FuzzEncode(f *testing.F) {
	for _, seed := range wiretest.Seeds(40, 1) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msgs := wiretest.Transcript(data)
		for base, host := range map[string]strictapi.Host{DefaultBaseURL: strictapi.OpenAI, deepSeek: "deepseek", openRouter: "compat"} {
			wiretest.Grow(t, llm.Request{System: "s"}, msgs, func(r *llm.Request) []byte { return encoded(t, base, "gpt-4o", r) }, func(body []byte) { lawful(t, body, host) })
		}
	})
}

// TestSecondOpinion has requests checked by the reference implementation of the rules.
func TestSecondOpinion(t *testing.T) {
	var checks []wiretest.Request
	for i, seed := range wiretest.Seeds(150, 3) {
		req := &llm.Request{Messages: wiretest.Transcript(seed), MaxTokens: 100}
		base := []string{DefaultBaseURL, deepSeek, openRouter}[i%3]
		host := []string{"openai", "deepseek", "compat"}[i%3]
		checks = append(checks, wiretest.Request{Name: fmt.Sprint(host, i), API: "openai", Host: host, Body: encoded(t, base, "gpt-5", req)})
	}
	wiretest.Check(t, checks)
}

func TestFormat(t *testing.T) {
	req := &llm.Request{Messages: request.Messages, Format: json.RawMessage(`{"type":"object","properties":{"b":{"type":"string","minLength":1},"a":{"type":"integer"}},"required":["b"]}`)}
	loose := &llm.Request{Messages: request.Messages, Format: json.RawMessage(`{"type":"object","additionalProperties":{"type":"string"}}`)}
	const strictly = `"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object","properties":{"b":{"type":"string","description":"(minLength: 1)"},"a":{"type":["integer","null"]}},"required":["b","a"],"additionalProperties":false}}}`
	for _, tt := range []struct {
		base, model string
		req         *llm.Request
		want        string
	}{
		{DefaultBaseURL, "gpt-5", req, strictly},
		{DefaultBaseURL, "gpt-4o-2024-08-06", req, strictly},
		{openRouter, "openai/gpt-4.1", req, strictly},
		{"https://me.openai.azure.com/openai/v1", "gpt-5.1", req, strictly},
		{DefaultBaseURL, "gpt-5", loose, `"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":false,"schema":{"additionalProperties":{"type":"string"},"properties":{},"type":"object"}}}`},
		{DefaultBaseURL, "gpt-3.5-turbo", req, ""},
		{openRouter, "z-ai/glm-4.6", req, ""},
		{deepSeek, "deepseek-chat", req, ""},
		{"http://127.0.0.1:1234/v1", "gpt-5", req, ""},
	} {
		m := (&Client{BaseURL: tt.base}).Model(tt.model).(*model)
		if got := m.Info().Formats; got != (tt.want != "") {
			t.Errorf("%s at %s: Formats %v", tt.model, tt.base, got)
		}
		pieces, err := m.encode(tt.req, ProfileAt(tt.base).target(tt.model))
		if err != nil {
			t.Fatal(err)
		}
		body := bytes.Join(pieces, nil)
		lawful(t, body, strictapi.OpenAI)
		if tt.want == "" && bytes.Contains(body, []byte("response_format")) || !bytes.Contains(body, []byte(tt.want)) {
			t.Errorf("%s at %s: %s", tt.model, tt.base, body)
		}
	}
}

// TestEncodeCost bounds what the next request of a long conversation costs.
func TestEncodeCost(t *testing.T) {
	m, at := new(Client).Model("gpt-4.1").(*model), ProfileAt(DefaultBaseURL).target("gpt-4.1")
	wiretest.Cost(t, func(req *llm.Request) ([][]byte, error) { return m.encode(req, at) })
}

func BenchmarkEncode(b *testing.B) {
	m, at := new(Client).Model("gpt-4.1").(*model), ProfileAt(DefaultBaseURL).target("gpt-4.1")
	wiretest.Encode(b, func(req *llm.Request) ([][]byte, error) { return m.encode(req, at) })
}

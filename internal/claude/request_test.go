package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

// lawful fails the test if the body breaks a rule of the API.
func lawful(t testing.TB, body []byte) {
	t.Helper()
	for _, v := range strictapi.CheckAnthropic(body) {
		t.Errorf("%v\n%s", v, body)
	}
}

// decoded is a request as a reader sees it.
type decoded struct {
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	Stop        []string `json:"stop_sequences"`
	Stream      bool     `json:"stream"`
	Thinking    struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Output struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	Choice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Tools    []map[string]any `json:"tools"`
	System   []map[string]any `json:"system"`
	Messages []struct {
		Role    string           `json:"role"`
		Content []map[string]any `json:"content"`
	} `json:"messages"`
}

func decode(t testing.TB, body []byte) (d decoded) {
	t.Helper()
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// outline shows the roles, types and telling members of the messages.
func outline(d decoded) string {
	var b strings.Builder
	for _, m := range d.Messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, c := range m.Content {
			fmt.Fprintf(&b, " %s", c["type"])
			for _, k := range []string{"id", "tool_use_id", "text"} {
				if v, ok := c[k]; ok {
					fmt.Fprintf(&b, "(%v)", v)
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func user(bs ...llm.Block) llm.Message      { return llm.Message{Role: llm.User, Content: bs} }
func assistant(bs ...llm.Block) llm.Message { return llm.Message{Role: llm.Assistant, Content: bs} }
func say(s string) llm.Text                 { return llm.Text{Text: s} }
func use(id string) llm.ToolUse {
	return llm.ToolUse{ID: id, Name: "f", Input: json.RawMessage("{}")}
}
func answer(id string) llm.ToolResult {
	return llm.ToolResult{ID: id, Content: llm.Blocks{say("r" + id)}}
}

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name string
		msgs []llm.Message
		want string
	}{
		{"plain", []llm.Message{user(say("a"))}, "user: text(a)\n"},
		{"merged", []llm.Message{user(say("a")), user(say("b")), assistant(say("c")), assistant(say("d")), user(say("e"))},
			"user: text(a) text(b)\nassistant: text(c) text(d)\nuser: text(e)\n"},
		{"results first", []llm.Message{user(say("a")), assistant(use("1"), use("2")), user(say("steer")), user(answer("2"), answer("1"))},
			"user: text(a)\nassistant: tool_use(1) tool_use(2)\nuser: tool_result(2) tool_result(1) text(steer)\n"},
		{"blank texts", []llm.Message{user(say(" "), say("a"), say(""))}, "user: text(a)\n"},
		{"empty messages", []llm.Message{user(), assistant(), user(say("a"))},
			"user: text((no content))\nassistant: text((no content))\nuser: text(a)\n"},
		{"illegal ids", []llm.Message{user(say("a")), assistant(use("f.x:0")), user(answer("f.x:0")), assistant(use("f.x:0")), user(answer("f.x:0"))},
			"user: text(a)\nassistant: tool_use(f_x_0)\nuser: tool_result(f_x_0)\nassistant: tool_use(f_x_0_1)\nuser: tool_result(f_x_0_1)\n"},
		{"same id twice in a turn", []llm.Message{user(say("a")), assistant(use("1"), use("1")), user(answer("1"), answer("1"))},
			"user: text(a)\nassistant: tool_use(1) tool_use(1_1)\nuser: tool_result(1) tool_result(1_1)\n"},
		{"result missing", []llm.Message{user(say("a")), assistant(use("1"), use("2")), user(answer("2")), assistant(say("b")), user(say("c"))},
			"user: text(a)\nassistant: tool_use(1) tool_use(2)\nuser: tool_result(2) tool_result(1)\nassistant: text(b)\nuser: text(c)\n"},
		{"result missing at the end", []llm.Message{user(say("a")), assistant(use("1"))},
			"user: text(a)\nassistant: tool_use(1)\nuser: tool_result(1)\n"},
		{"orphan and second result", []llm.Message{user(answer("9"), say("a")), assistant(use("1")), user(answer("1"), answer("1"), answer("7"))},
			"user: text(a)\nassistant: tool_use(1)\nuser: tool_result(1)\n"},
		{"foreign thoughts", []llm.Message{user(say("a")), assistant(llm.Thinking{Text: "x"}, llm.Thinking{Text: "y", Signature: "s", Extra: json.RawMessage(`[]`)}, say("b")), user(say("c"))},
			"user: text(a)\nassistant: text(b)\nuser: text(c)\n"},
		{"own thoughts", []llm.Message{user(say("a")), assistant(llm.Thinking{Text: "x", Signature: "s"}, llm.RedactedThinking{Data: "d"}, say("b")), user(say("c"))},
			"user: text(a)\nassistant: thinking redacted_thinking text(b)\nuser: text(c)\n"},
		{"only thoughts", []llm.Message{user(say("a")), assistant(llm.Thinking{Text: "x", Signature: "s"}), user(say("c"))},
			"user: text(a)\nassistant: thinking text((no content))\nuser: text(c)\n"},
		{"starts with the assistant", []llm.Message{assistant(say("b")), user(say("c"))},
			"user: text((no content))\nassistant: text(b)\nuser: text(c)\n"},
		{"ends with the assistant", []llm.Message{user(say("a")), assistant(say("b "))},
			"user: text(a)\nassistant: text(b )\nuser: text(Please continue from where you left off.)\n"},
		{"paused at a server tool", []llm.Message{user(say("a")), assistant(serverUse)},
			"user: text(a)\nassistant: server_tool_use(s1)\n"},
		{"server tool without result", []llm.Message{user(say("a")), assistant(serverUse, say("b")), user(say("c"))},
			"user: text(a)\nassistant: text(b)\nuser: text(c)\n"},
		{"server tool finished after a pause", []llm.Message{user(say("a")), assistant(serverUse), assistant(serverResult), user(say("c"))},
			"user: text(a)\nassistant: server_tool_use(s1) web_search_tool_result(s1)\nuser: text(c)\n"},
		{"another provider's block", []llm.Message{user(say("a")), assistant(llm.Verbatim{Provider: "x", Shown: "seen", Raw: json.RawMessage(`{"type":"y"}`)}), user(say("c"))},
			"user: text(a)\nassistant: text(seen)\nuser: text(c)\n"},
		{"images", []llm.Message{user(say("a"), llm.Image{MediaType: "image/jpeg", Data: wiretest.PNG(9, 9)}, llm.Image{MediaType: "image/png", Data: wiretest.PNG(8001, 9)}, llm.Image{MediaType: "image/png", Data: []byte("?")})},
			"user: text(a) image text([image left out: 8001 x 9 pixels is too large]) text([image left out: it is not a readable PNG, JPEG, GIF or WebP])\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := encoded(t, "claude-sonnet-4-6", &llm.Request{Messages: tt.msgs})
			lawful(t, body)
			if got := outline(decode(t, body)); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

var (
	serverUse    = llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`)}
	serverResult = llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`)}
)

func TestManyImages(t *testing.T) {
	memo := &llm.Memo{}
	var msgs []llm.Message
	for i := range 22 {
		msgs = append(msgs, user(llm.Image{MediaType: "image/png", Data: wiretest.PNG(2500, 10)}), assistant(say("seen")))
		body := encoded(t, "claude-sonnet-4-6", &llm.Request{Messages: append(msgs[:len(msgs):len(msgs)], user(say("go on"))), Memo: memo})
		lawful(t, body)
		if got, want := bytes.Contains(body, []byte("too large")), i >= 20; got != want {
			t.Errorf("%d images: left out %v, want %v", i+1, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	temperature := func(f float64) *float64 { return &f }
	tool := []llm.Tool{{Name: "f", Description: "does f"}}
	used := []llm.Message{user(say("a")), assistant(use("1")), user(answer("1"))}
	for _, tt := range []struct {
		name, model string
		req         llm.Request
		check       func(d decoded) bool
	}{
		{"defaults", "claude-sonnet-4-6", llm.Request{}, func(d decoded) bool {
			return d.MaxTokens == defaultMaxTokens && d.Stream && d.Temperature == nil && d.Thinking.Type == ""
		}},
		{"blocking", "claude-sonnet-4-6", llm.Request{Blocking: true}, func(d decoded) bool { return !d.Stream }},
		{"output cap", "claude-3-5-haiku-latest", llm.Request{MaxTokens: 100_000}, func(d decoded) bool { return d.MaxTokens == 8192 }},
		{"unknown model", "glm-9", llm.Request{}, func(d decoded) bool { return d.MaxTokens == unknownMaxTokens }},
		{"hot", "claude-sonnet-4-5", llm.Request{Temperature: temperature(1.7)}, func(d decoded) bool { return *d.Temperature == 1 }},
		{"cold", "claude-sonnet-4-5", llm.Request{Temperature: temperature(-1)}, func(d decoded) bool { return *d.Temperature == 0 }},
		{"no number", "claude-sonnet-4-5", llm.Request{Temperature: temperature(math.NaN())}, func(d decoded) bool { return d.Temperature == nil }},
		{"no samplers", "claude-opus-4-8", llm.Request{Temperature: temperature(.5)}, func(d decoded) bool { return d.Temperature == nil }},
		{"stops", "claude-sonnet-4-5", llm.Request{Stop: []string{" ", "END"}}, func(d decoded) bool { return len(d.Stop) == 1 && d.Stop[0] == "END" }},
		{"budget", "claude-sonnet-4-5", llm.Request{Thinking: llm.Thought{Effort: "high"}, Temperature: temperature(0)}, func(d decoded) bool {
			return d.Thinking.Type == "enabled" && d.Thinking.Budget == 10240 && d.MaxTokens == defaultMaxTokens+10240 && d.Temperature == nil
		}},
		{"budget too small", "claude-sonnet-4-5", llm.Request{Thinking: llm.Thought{Budget: 5}}, func(d decoded) bool { return d.Thinking.Budget == 1024 }},
		{"budget above the limit", "claude-sonnet-4-5", llm.Request{Thinking: llm.Thought{Budget: 9000}, MaxTokens: 4000}, func(d decoded) bool {
			return d.Thinking.Budget == 9000 && d.MaxTokens == 13000
		}},
		{"budget below the limit", "claude-sonnet-4-5", llm.Request{Thinking: llm.Thought{Budget: 9000}, MaxTokens: 9001}, func(d decoded) bool {
			return d.Thinking.Budget == 9001-minAnswer && d.MaxTokens == 9001
		}},
		{"budget above what the model can", "claude-opus-4-1", llm.Request{Thinking: llm.Thought{Budget: 40000}, MaxTokens: 4000}, func(d decoded) bool {
			return d.Thinking.Budget == 32000-minAnswer && d.MaxTokens == 32000
		}},
		{"adaptive, as the model likes", "claude-opus-4-6", llm.Request{Thinking: llm.Thought{Mode: llm.ThinkAdaptive}}, func(d decoded) bool {
			return d.Thinking.Type == "adaptive" && d.Output.Effort == ""
		}},
		{"adaptive, which the model is not", "claude-haiku-4-5", llm.Request{Thinking: llm.Thought{Mode: llm.ThinkAdaptive}}, func(d decoded) bool {
			return d.Thinking.Type == "enabled" && d.Thinking.Budget == 10240
		}},
		{"most", "claude-opus-4-6", llm.Request{Thinking: llm.Thought{Effort: "max"}}, func(d decoded) bool { return d.Output.Effort == "max" }},
		{"most that there is", "claude-sonnet-4-6", llm.Request{Thinking: llm.Thought{Effort: "max"}}, func(d decoded) bool { return d.Output.Effort == "high" }},
		{"off", "claude-sonnet-4-6", llm.Request{Thinking: llm.Thought{Mode: llm.ThinkOff}, Temperature: temperature(.5)}, func(d decoded) bool {
			return d.Thinking.Type == "disabled" && d.Output.Effort == "" && *d.Temperature == .5
		}},
		{"off as it is", "claude-sonnet-4-5", llm.Request{Thinking: llm.Thought{Mode: llm.ThinkOff}}, func(d decoded) bool { return d.Thinking.Type == "" }},
		{"off cannot be", "claude-mythos-5", llm.Request{Thinking: llm.Thought{Mode: llm.ThinkOff}}, func(d decoded) bool { return d.Thinking.Type == "" }},
		{"adaptive", "claude-sonnet-4-6", llm.Request{Thinking: llm.Thought{Budget: 5000}}, func(d decoded) bool {
			return d.Thinking.Type == "adaptive" && d.Output.Effort == "medium" && d.Thinking.Budget == 0
		}},
		{"adaptive by name", "claude-opus-6-1", llm.Request{Thinking: llm.Thought{Effort: "max"}}, func(d decoded) bool {
			return d.Thinking.Type == "adaptive" && d.Output.Effort == "max"
		}},
		{"cannot think", "claude-3-5-sonnet-20241022", llm.Request{Thinking: llm.Thought{Effort: "low"}}, func(d decoded) bool { return d.Thinking.Type == "" }},
		{"thinking began too late", "claude-sonnet-4-5", llm.Request{Messages: used, Tools: tool, Thinking: llm.Thought{Effort: "low"}}, func(d decoded) bool { return d.Thinking.Type == "" }},
		{"forced", "claude-sonnet-4-5", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}, Thinking: llm.Thought{Effort: "low"}}, func(d decoded) bool {
			return d.Choice.Type == "tool" && d.Choice.Name == "f" && d.Thinking.Type == ""
		}},
		{"any", "claude-sonnet-4-5", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, func(d decoded) bool { return d.Choice.Type == "any" }},
		{"none", "claude-sonnet-4-5", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}}, func(d decoded) bool { return d.Choice.Type == "none" }},
		{"not to be forced", "claude-opus-5-5", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, func(d decoded) bool { return d.Choice.Type == "" }},
		{"choice without tools", "claude-sonnet-4-5", llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, func(d decoded) bool { return d.Choice.Type == "" }},
		{"tools of the history", "claude-sonnet-4-5", llm.Request{Messages: used}, func(d decoded) bool {
			return len(d.Tools) == 1 && d.Tools[0]["name"] == "f" && d.Choice.Type == "none"
		}},
		{"no PDF", "claude-3-haiku-20240307", llm.Request{Messages: []llm.Message{user(llm.Document{MediaType: "application/pdf", Data: []byte("%PDF")})}}, func(d decoded) bool {
			return d.Messages[0].Content[0]["type"] == "text"
		}},
		{"blank system", "claude-sonnet-4-5", llm.Request{System: " \n"}, func(d decoded) bool { return d.System == nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.req.Messages == nil {
				tt.req.Messages = []llm.Message{llm.UserText("hi")}
			}
			body := encoded(t, tt.model, &tt.req)
			lawful(t, body)
			if !tt.check(decode(t, body)) {
				t.Errorf("%s", body)
			}
		})
	}
}

func TestCacheBreakpoints(t *testing.T) {
	req := &llm.Request{System: "be good", Tools: []llm.Tool{{Name: "f"}, {Name: "g"}}, Memo: &llm.Memo{}}
	for i := range 4 {
		id := fmt.Sprint(i)
		req.Messages = append(req.Messages, user(say("q"+id)), assistant(use(id)), user(answer(id)), assistant(say("a"+id)))
		last := *req
		last.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], user(say("next")))
		body := encoded(t, "claude-sonnet-4-6", &last)
		lawful(t, body)
		d := decode(t, body)
		if d.Tools[0]["cache_control"] != nil || d.Tools[1]["cache_control"] == nil || d.System[0]["cache_control"] == nil {
			t.Fatalf("breakpoints of tools and system: %s", body)
		}
		for n, m := range d.Messages {
			marked := m.Content[len(m.Content)-1]["cache_control"] != nil
			if want := n == len(d.Messages)-1 || n == len(d.Messages)-3; marked != want {
				t.Errorf("message %d of %d: marked %v", n, len(d.Messages), marked)
			}
		}
	}
}

func TestCachePolicy(t *testing.T) {
	req := &llm.Request{System: "be good", Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{user(say("q")), assistant(say("a")), user(say("r"))}, Memo: &llm.Memo{}}
	for _, tt := range []struct {
		cache llm.Cache
		marks map[string]int
	}{
		{llm.Cache{}, map[string]int{`{"type":"ephemeral"}`: 4}},
		{llm.Cache{TTL: 5 * time.Minute}, map[string]int{`{"type":"ephemeral"}`: 4}},
		{llm.Cache{TTL: time.Hour}, map[string]int{`{"type":"ephemeral","ttl":"1h"}`: 4}},
		{llm.Cache{Off: true, TTL: time.Hour}, map[string]int{}},
	} {
		r := *req
		r.Cache = tt.cache
		body := encoded(t, "claude-sonnet-4-6", &r)
		lawful(t, body)
		got := map[string]int{}
		for _, m := range regexp.MustCompile(`"cache_control":(\{[^}]*\})`).FindAllSubmatch(body, -1) {
			got[string(m[1])]++
		}
		if !maps.Equal(got, tt.marks) {
			t.Errorf("%+v: %v", tt.cache, got)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	hi := []llm.Message{llm.UserText("hi")}
	for name, req := range map[string]*llm.Request{
		"no messages":      {},
		"bad tool name":    {Messages: hi, Tools: []llm.Tool{{Name: "a.b"}}},
		"same tool twice":  {Messages: hi, Tools: []llm.Tool{{Name: "a"}, {Name: "a"}}},
		"schema no object": {Messages: hi, Tools: []llm.Tool{{Name: "a", Input: json.RawMessage(`{"type":"string"}`)}}},
		"schema broken":    {Messages: hi, Tools: []llm.Tool{{Name: "a", Input: json.RawMessage(`{`)}}},
		"unknown choice":   {Messages: hi, Tools: []llm.Tool{{Name: "a"}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "b"}},
		"unknown mode":     {Messages: hi, Tools: []llm.Tool{{Name: "a"}}, ToolChoice: llm.ToolChoice{Mode: "x"}},
	} {
		_, err := new(Client).Model("claude-sonnet-4-6").(*model).encode(req)
		if e, ok := err.(*llm.APIError); !ok || e.Class != llm.Invalid || e.Retryable() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzEncode checks that whatever the transcript is, the request keeps every
// rule, and that a memo changes nothing but the cost.
func FuzzEncode(f *testing.F) {
	for i, seed := range wiretest.Seeds(40, 1) {
		f.Add(seed, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, think bool) {
		msgs := wiretest.Transcript(data)
		req := llm.Request{System: "s"}
		if think {
			req.Thinking = llm.Thought{Effort: "medium"}
		}
		for _, name := range []string{"claude-sonnet-4-5", "claude-opus-5-5"} {
			wiretest.Grow(t, req, msgs, func(r *llm.Request) []byte { return encoded(t, name, r) }, func(body []byte) { lawful(t, body) })
		}
		if t.Failed() {
			t.Logf("%+v", msgs)
		}
	})
}

// TestSecondOpinion has requests checked by the reference implementation of the rules.
func TestSecondOpinion(t *testing.T) {
	var checks []wiretest.Request
	for i, seed := range wiretest.Seeds(150, 3) {
		req := &llm.Request{Messages: wiretest.Transcript(seed), Thinking: llm.Thought{Budget: i % 2 * 3000}}
		name := []string{"claude-sonnet-4-20250514", "claude-opus-4-8"}[i%2]
		checks = append(checks, wiretest.Request{Name: fmt.Sprintf("%s %d", name, i), API: "anthropic", Body: encoded(t, name, req)})
	}
	wiretest.Check(t, checks)
}

func TestFormat(t *testing.T) {
	format := json.RawMessage(`{"type":"object","properties":{"b":{"type":"string","minLength":1},"a":{"type":"integer"}},"required":["b"]}`)
	const closed = `"format":{"type":"json_schema","schema":{"type":"object","properties":{"b":{"type":"string","description":"(minLength: 1)"},"a":{"type":"integer"}},"required":["b"],"additionalProperties":false}}}`
	for _, tt := range []struct {
		model  string
		think  llm.Thought
		format json.RawMessage
		want   string
	}{
		{"claude-sonnet-4-6", llm.Thought{}, format, `"output_config":{` + closed},
		{"claude-sonnet-4-6", llm.Thought{Effort: "low"}, format, `"output_config":{"effort":"low",` + closed},
		{"claude-haiku-4-5-20251001", llm.Thought{Budget: 2000}, format, `"output_config":{` + closed},
		{"claude-opus-7", llm.Thought{}, format, `"output_config":{` + closed},
		{"claude-sonnet-4-6", llm.Thought{}, json.RawMessage(`{"type":"object"}`), ""},
		{"claude-opus-4-1", llm.Thought{}, format, ""},
		{"claude-3-5-haiku", llm.Thought{}, format, ""},
	} {
		m := new(Client).Model(tt.model).(*model)
		pieces, err := m.encode(&llm.Request{Messages: []llm.Message{llm.UserText("hi")}, MaxTokens: 4000, Thinking: tt.think, Format: tt.format})
		if err != nil {
			t.Fatal(err)
		}
		body := bytes.Join(pieces, nil)
		lawful(t, body)
		if tt.want == "" && bytes.Contains(body, []byte("output_config")) || !bytes.Contains(body, []byte(tt.want)) {
			t.Errorf("%s: %s", tt.model, body)
		}
	}
}

// TestEncodeCost bounds what the next request of a long conversation costs.
func TestEncodeCost(t *testing.T) {
	wiretest.Cost(t, new(Client).Model("claude-sonnet-4-6").(*model).encode)
}

func BenchmarkEncode(b *testing.B) {
	wiretest.Encode(b, new(Client).Model("claude-sonnet-4-6").(*model).encode)
}

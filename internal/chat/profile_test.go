package chat

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// profileNamed returns a profile that must be there.
func profileNamed(t testing.TB, name string) *Profile {
	t.Helper()
	p, ok := ProfileOf(name)
	if !ok {
		t.Fatalf("there is no profile %q", name)
	}
	return p
}

// members returns the members of a request that a model of the profile sends.
func members(t testing.TB, p *Profile, name string, req llm.Request) map[string]json.RawMessage {
	t.Helper()
	if req.Messages == nil {
		req.Messages = request.Messages
	}
	pieces, err := new(Client).Model(name).(*model).encode(&req, p.target(name))
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Join(pieces, nil)
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return all
}

// thoughts are the members about thinking.
var thoughts = []string{"reasoning_effort", "reasoning", "thinking", "chat_template_kwargs", "extra_body"}

func TestThinkingOfHosts(t *testing.T) {
	const (
		low, medium, high, most = "low", "medium", "high", "max"
	)
	word := func(w string) llm.Thought { return llm.Thought{Effort: w} }
	budget := func(n int) llm.Thought { return llm.Thought{Budget: n} }
	adaptive, never, unset := llm.Thought{Mode: llm.ThinkAdaptive}, llm.Thought{Mode: llm.ThinkOff}, llm.Thought{}
	for _, tt := range []struct {
		host, model string
		want        llm.Thought
		sent        string
	}{
		{"openai", "gpt-5.2", word(low), `reasoning_effort="low"`}, {"openai", "gpt-5.2", word(most), `reasoning_effort="xhigh"`},
		{"openai", "gpt-5.2", never, `reasoning_effort="none"`}, {"openai", "gpt-5.2", unset, ``},
		{"openai", "gpt-5.2", adaptive, `reasoning_effort="high"`}, {"openai", "gpt-5.1", word(most), `reasoning_effort="high"`},
		{"openai", "gpt-5.1-2025-11-13", never, `reasoning_effort="none"`}, {"openai", "gpt-5-mini", never, `reasoning_effort="minimal"`},
		{"openai", "gpt-5", budget(1024), `reasoning_effort="low"`}, {"openai", "gpt-5", budget(1025), `reasoning_effort="medium"`},
		{"openai", "gpt-5", budget(5121), `reasoning_effort="high"`}, {"openai", "gpt-5", budget(32768), `reasoning_effort="high"`},
		{"openai", "gpt-5-pro", word(low), `reasoning_effort="high"`}, {"openai", "gpt-5.1-codex-max", word(most), `reasoning_effort="xhigh"`},
		{"openai", "o3", word(most), `reasoning_effort="high"`}, {"openai", "o3", never, ``},
		{"openai", "gpt-4.1", word(high), ``}, {"openai", "gpt-5-chat-latest", word(high), ``},
		{"azure", "gpt-5.2", word(medium), `reasoning_effort="medium"`},
		{"openrouter", "anthropic/claude-sonnet-4.5", word(medium), `reasoning={"effort":"medium"}`},
		{"openrouter", "anthropic/claude-sonnet-4.5", word(most), `reasoning={"effort":"xhigh"}`},
		{"openrouter", "anthropic/claude-sonnet-4.5", budget(2000), `reasoning={"max_tokens":2000}`},
		{"openrouter", "z-ai/glm-4.6", never, `reasoning={"enabled":false}`}, {"openrouter", "z-ai/glm-4.6", adaptive, `reasoning={"enabled":true}`},
		{"vercel", "openai/gpt-5", word(low), `reasoning={"effort":"low"}`}, {"vercel", "openai/gpt-5", never, `reasoning={"enabled":false}`},
		{"deepseek", "deepseek-v4-pro", word(low), `reasoning_effort="low" thinking={"type":"enabled"}`},
		{"deepseek", "deepseek-v4-pro", word(medium), `reasoning_effort="high" thinking={"type":"enabled"}`},
		{"deepseek", "deepseek-v4-pro", budget(40000), `reasoning_effort="max" thinking={"type":"enabled"}`},
		{"deepseek", "deepseek-v4-pro", never, `thinking={"type":"disabled"}`}, {"deepseek", "deepseek-v4-pro", adaptive, `thinking={"type":"enabled"}`},
		{"glm", "glm-4.6", word(high), `thinking={"type":"enabled"}`}, {"glm", "glm-4.7", never, `thinking={"type":"disabled"}`},
		{"glm", "glm-5.2", word(most), `reasoning_effort="max" thinking={"type":"enabled"}`},
		{"kimi", "kimi-k3", word(medium), `reasoning_effort="high"`}, {"kimi", "kimi-k3.1-pro", never, ``},
		{"kimi", "kimi-k2.6", word(low), `thinking={"type":"enabled"}`}, {"kimi", "kimi-k2.5", never, `thinking={"type":"disabled"}`},
		{"kimi", "kimi-k2.7-code", never, ``}, {"kimi", "kimi-k2-0905-preview", word(high), ``},
		{"groq", "openai/gpt-oss-120b", word(most), `reasoning_effort="high"`}, {"groq", "qwen/qwen3-32b", never, `reasoning_effort="none"`},
		{"groq", "qwen/qwen3-32b", word(low), `reasoning_effort="default"`}, {"groq", "llama-3.3-70b-versatile", word(low), ``},
		{"xai", "grok-3-mini", word(medium), `reasoning_effort="high"`}, {"xai", "grok-4", word(high), ``}, {"xai", "grok-4.3", never, `reasoning_effort="none"`},
		{"mistral", "mistral-large-latest", word(high), ``}, {"mistral", "mistral-small-latest", word(low), `reasoning_effort="high"`},
		{"mistral", "mistral-small-2603", never, `reasoning_effort="none"`}, {"mistral", "magistral-medium-latest", word(high), ``},
		{"ollama", "qwen3:8b", word(most), `reasoning_effort="high"`}, {"ollama", "qwen3:8b", never, `reasoning_effort="none"`}, {"ollama", "llama3", unset, ``},
		{"llamacpp", "m", word(low), `reasoning_effort="low" chat_template_kwargs={"enable_thinking":true,"thinking":true}`},
		{"llamacpp", "m", never, `reasoning_effort="none" chat_template_kwargs={"enable_thinking":false,"thinking":false}`},
		{"vllm", "Qwen/Qwen3-8B", word(high), `chat_template_kwargs={"enable_thinking":true,"thinking":true}`},
		{"vllm", "Qwen/Qwen3-8B", never, `chat_template_kwargs={"enable_thinking":false,"thinking":false}`},
		{"vllm", "openai/gpt-oss-20b", word(most), `reasoning_effort="high"`},
		{"lmstudio", "openai/gpt-oss-20b", word(low), `reasoning_effort="low"`},
		{"gemini", "gemini-2.5-flash", never, `reasoning_effort="none"`}, {"gemini", "gemini-2.5-pro", never, `reasoning_effort="minimal"`},
		{"gemini", "gemini-3-flash-preview", word(most), `reasoning_effort="high"`},
		{"gemini", "gemini-2.5-pro", budget(800), `extra_body={"google":{"thinking_config":{"thinking_budget":800}}}`},
		{"gemini", "gemini-2.0-flash", word(high), ``},
	} {
		sent := members(t, profileNamed(t, tt.host), tt.model, llm.Request{Thinking: tt.want})
		var got []string
		for _, name := range thoughts {
			if v, ok := sent[name]; ok {
				got = append(got, name+"="+string(v))
			}
		}
		if got := strings.Join(got, " "); got != tt.sent {
			t.Errorf("%s %s %+v: %s, want %s", tt.host, tt.model, tt.want, got, tt.sent)
		}
	}
}

// TestForcedCalls shows what becomes of a forced tool call where hosts refuse
// one, or refuse one while the model thinks.
func TestForcedCalls(t *testing.T) {
	tools := []llm.Tool{{Name: "f"}}
	named := llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}
	for _, tt := range []struct{ host, model, choice, thinking string }{
		{"openai", "gpt-4.1", `{"type":"function","function":{"name":"f"}}`, ``},
		{"glm", "glm-4.6", `{"type":"function","function":{"name":"f"}}`, `{"type":"enabled"}`},
		{"deepseek", "deepseek-v4-flash", `{"type":"function","function":{"name":"f"}}`, `{"type":"disabled"}`},
		{"kimi", "kimi-k2.6", `{"type":"function","function":{"name":"f"}}`, `{"type":"disabled"}`},
		{"kimi", "kimi-k3", ``, ``},
		{"llamacpp", "m", `"required"`, ``},
		{"lmstudio", "m", `"required"`, ``},
	} {
		sent := members(t, profileNamed(t, tt.host), tt.model, llm.Request{Tools: tools, ToolChoice: named, Thinking: llm.Thought{Effort: "high"}})
		if string(sent["tool_choice"]) != tt.choice || string(sent["thinking"]) != tt.thinking {
			t.Errorf("%s: %s, %s", tt.host, sent["tool_choice"], sent["thinking"])
		}
	}
	// Functions and reasoning exclude each other for these models in this API.
	sent := members(t, profileNamed(t, "openai"), "gpt-5.6", llm.Request{Tools: tools, Thinking: llm.Thought{Effort: "high"}})
	if string(sent["reasoning_effort"]) != `"none"` {
		t.Errorf("gpt-5.6 with tools: %s", sent["reasoning_effort"])
	}
}

// TestLimits shows how the output is limited, and that there is room for thinking.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		host, model string
		req         llm.Request
		name, want  string
	}{
		{"openai", "gpt-4.1", llm.Request{MaxTokens: 100}, "max_completion_tokens", "100"},
		{"azure", "my-deployment", llm.Request{MaxTokens: 100}, "max_completion_tokens", "100"},
		{"openrouter", "openai/gpt-5", llm.Request{MaxTokens: 100}, "max_tokens", "100"},
		{"openrouter", "anthropic/claude-sonnet-4.5", llm.Request{MaxTokens: 1000, Thinking: llm.Thought{Budget: 2000}}, "max_tokens", "3000"},
		{"openrouter", "anthropic/claude-sonnet-4.5", llm.Request{MaxTokens: 9000, Thinking: llm.Thought{Budget: 2000}}, "max_tokens", "9000"},
		{"gemini", "gemini-2.5-pro", llm.Request{MaxTokens: 100, Thinking: llm.Thought{Budget: 800}}, "max_tokens", "900"},
		{"mistral", "mistral-large-latest", llm.Request{MaxTokens: 100}, "max_tokens", "100"},
		{"ollama", "gpt-5", llm.Request{MaxTokens: 100}, "max_tokens", "100"},
		{"groq", "openai/gpt-oss-20b", llm.Request{MaxTokens: 100}, "max_tokens", "100"},
		{"mistral", "m", llm.Request{Temperature: ptr(2)}, "temperature", "1.5"},
		{"glm", "m", llm.Request{Temperature: ptr(2)}, "temperature", "1"},
		{"openai", "gpt-4.1", llm.Request{Temperature: ptr(3)}, "temperature", "2"},
		{"kimi", "kimi-k3", llm.Request{Temperature: ptr(.5)}, "temperature", ""},
		{"xai", "grok-4", llm.Request{Stop: []string{"x"}}, "stop", ""},
		{"deepseek", "m", llm.Request{Stop: []string{"x"}}, "stop", `["x"]`},
		{"mistral", "m", llm.Request{}, "stream_options", ""},
		{"ollama", "m", llm.Request{}, "stream_options", `{"include_usage":true}`},
		{"openrouter", "m", llm.Request{}, "usage", `{"include":true}`},
	} {
		if got := string(members(t, profileNamed(t, tt.host), tt.model, tt.req)[tt.name]); got != tt.want {
			t.Errorf("%s %s %s: %s, want %s", tt.host, tt.model, tt.name, got, tt.want)
		}
	}
}

func ptr(f float64) *float64 { return &f }

// TestProfileOfAClient shows how a client comes to its profile, base URL and key.
func TestProfileOfAClient(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "DEEPSEEK_API_KEY", "AZURE_OPENAI_API_KEY"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	var got *http.Request
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		got = r
		return &http.Response{StatusCode: 418, Body: http.NoBody, Header: http.Header{}}, nil
	})}
	ask := func(c *Client) error {
		got, c.HTTP = nil, client
		_, err := collect(t, c.Model("m"), &request)
		return err
	}
	if err := ask(&Client{Profile: profileNamed(t, "deepseek")}); got != nil || !strings.Contains(err.Error(), "DEEPSEEK_API_KEY") {
		t.Errorf("asked without a key: %v", err)
	}
	t.Setenv("OPENAI_API_KEY", "of-openai")
	t.Setenv("DEEPSEEK_API_KEY", "of-deepseek")
	t.Setenv("AZURE_OPENAI_API_KEY", "of-azure")
	for _, tt := range []struct {
		name        string
		client      *Client
		url, header string
		key         string
	}{
		{"by profile", &Client{Profile: profileNamed(t, "deepseek")}, "https://api.deepseek.com/chat/completions", "Authorization", "Bearer of-deepseek"},
		{"by base", &Client{BaseURL: "https://api.deepseek.com/v1"}, "https://api.deepseek.com/v1/chat/completions", "Authorization", "Bearer of-deepseek"},
		{"both", &Client{Profile: profileNamed(t, "deepseek"), BaseURL: "https://gateway.example/x"}, "https://gateway.example/x/chat/completions", "Authorization", "Bearer of-deepseek"},
		{"neither", &Client{}, "https://api.openai.com/v1/chat/completions", "Authorization", "Bearer of-openai"},
		{"no key of its own", &Client{BaseURL: "https://api.groq.com/openai/v1"}, "https://api.groq.com/openai/v1/chat/completions", "Authorization", "Bearer of-openai"},
		{"keyless", &Client{Profile: profileNamed(t, "ollama")}, "http://localhost:11434/v1/chat/completions", "Authorization", ""},
		{"azure", &Client{BaseURL: "https://me.openai.azure.com/openai/v1"}, "https://me.openai.azure.com/openai/v1/chat/completions", "Api-Key", "of-azure"},
		{"of the user", &Client{BaseURL: "https://models.example/v1", Profile: &Profile{KeyHeader: "X-Key", Keys: []string{"DEEPSEEK_API_KEY"}}}, "https://models.example/v1/chat/completions", "X-Key", "of-deepseek"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ask(tt.client)
			if got == nil || got.URL.String() != tt.url || got.Header.Get(tt.header) != tt.key {
				t.Errorf("%+v", got)
			}
		})
	}
	names := map[string]bool{}
	for _, p := range Profiles() {
		if p.Name == "" || names[p.Name] {
			t.Errorf("the name %q is there twice or empty", p.Name)
		}
		names[p.Name] = true
		if p.BaseURL == "" && p.Name != "azure" || len(p.Keys) == 0 {
			t.Errorf("%s has no base URL or no variable of a key", p.Name)
		}
		for _, h := range p.Hosts {
			if !strings.HasPrefix(h, ":") && ProfileAt("https://"+h+"/v1").Name != p.Name {
				t.Errorf("%s is not found at %s", p.Name, h)
			}
		}
		if p.BaseURL != "" && ProfileAt(p.BaseURL).Name != p.Name {
			t.Errorf("%s is not found at its own base", p.Name)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestGoogleSchema shows what of a schema Gemini gets to see.
func TestGoogleSchema(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"type":"object","properties":{}}`, ``},
		{`{"$schema":"x","type":"object","additionalProperties":false,"properties":{"a":{"type":"string","format":"uri","minLength":1}},"required":["a","b"]}`,
			`{"properties":{"a":{"minLength":1,"type":"string"}},"required":["a"],"type":"object"}`},
		{`{"type":"object","properties":{"a":{"const":"x"},"b":{"enum":[1,2],"type":"integer"},"c":{"type":["string","null"]},"d":{"type":["string","integer"]}}}`,
			`{"properties":{"a":{"enum":["x"],"type":"string"},"b":{"type":"integer"},"c":{"nullable":true,"type":"string"},"d":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"type":"array"},"c":true,"d":{"oneOf":[{"type":"null"},{"type":"number","exclusiveMinimum":0}]}},"$defs":{"n":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"properties":{"a":{"properties":{"x":{"type":"string"}},"type":"object"},"b":{"items":{"type":"string"},"type":"array"},"c":{"type":"string"},"d":{"nullable":true,"type":"number"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"y":{"type":"boolean"}}}]}}}`,
			`{"properties":{"a":{"properties":{"y":{"type":"boolean"}},"type":"object"}},"type":"object"}`},
	} {
		if got := string(googleSchema([]byte(tt.in))); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.in, got, tt.want)
		}
	}
	// One that refers to itself twice over comes to an end.
	loop := `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"l":{"$ref":"#/$defs/n"},"r":{"$ref":"#/$defs/n"},"m":{"$ref":"#/$defs/n"}}}}}`
	if got := googleSchema([]byte(loop)); !json.Valid(got) || len(got) > 400_000 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestSignedCalls shows that what Gemini sends with a call goes back with it, and
// that calls of others get what stands for a signature.
func TestSignedCalls(t *testing.T) {
	body := framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), delta(`{}`, `"tool_calls"`)) + done
	got, err := play(t, events, body, 1, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	uses := got.Message.ToolUses()
	if string(uses[0].Extra) != `{"google":{"thought_signature":"sig"}}` || uses[1].Extra != nil {
		t.Fatalf("%+v", uses)
	}
	data, err := json.Marshal(got.Message)
	if err != nil {
		t.Fatal(err)
	}
	var kept llm.Message
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	history := []llm.Message{user(txt("a")), kept, user(answer("a", txt("x")), answer("b", txt("y"))), assistant(use("c", "f", `{}`)), user(answer("c", txt("z")))}
	sent := string(members(t, profileNamed(t, "gemini"), "gemini-3-pro", llm.Request{Messages: history})["messages"])
	if strings.Count(sent, `"extra_content":{"google":{"thought_signature":"sig"}}`) != 1 || strings.Count(sent, `"extra_content":`+unsigned) != 1 {
		t.Error(sent)
	}
	if sent := string(members(t, profileNamed(t, "gemini"), "gemini-2.5-pro", llm.Request{Messages: history})["messages"]); strings.Contains(sent, "skip_thought") {
		t.Error(sent)
	}
	for _, other := range []string{"openai", "mistral", "openrouter"} {
		if sent := string(members(t, profileNamed(t, other), "m", llm.Request{Messages: history})["messages"]); strings.Contains(sent, "extra_content") {
			t.Errorf("%s: %s", other, sent)
		}
	}
}

package llmtest

import (
	"slices"
	"testing"
)

// TestHostRules has each rule of a single host broken by a request that the others take.
func TestHostRules(t *testing.T) {
	seen := map[string]bool{}
	called := openaiHello + "," + callOf("abcdefghi") + "," + toolMessage("abcdefghi")
	schema := func(s string) string {
		return `"tools":[{"type":"function","function":{"name":"f","parameters":` + s + `}}]`
	}
	for _, c := range []struct {
		host       Host
		rule, body string
	}{
		{Mistral, "O40", completions("", `"stream":true,"stream_options":{"include_usage":true}`)},
		{Mistral, "O40", completions("", `"max_completion_tokens":9`)},
		{Mistral, "O40", completions(openaiHello + `,{"role":"assistant","content":"a","reasoning_content":"b"},` + openaiHello)},
		{Mistral, "O41", completions("", `"temperature":2`)},
		{Mistral, "O43", completions("", `"model":"mistral-large-latest","reasoning_effort":"high"`)},
		{Mistral, "O47", completions(openaiHello+","+callOf("call_1")+","+toolMessage("call_1"), openaiTool)},
		{Mistral, "O48", completions(called+","+openaiHello, openaiTool)},
		{Mistral, "O48", completions(openaiHello + `,{"role":"assistant","content":"a"}`)},
		{Kimi, "O41", completions("", `"model":"kimi-k3","temperature":0.5`)},
		{Kimi, "O45", completions("", openaiTool, `"model":"kimi-k2.6","tool_choice":"required"`)},
		{DeepSeek, "O45", completions("", openaiTool, `"tool_choice":{"type":"function","function":{"name":"add"}}`)},
		{DeepSeek, "O46", completions(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`)},
		{Ollama, "O46", completions(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,AA=="}}]}`)},
		{Ollama, "O43", completions("", `"reasoning_effort":"max"`)},
		{LMStudio, "O42", completions("", openaiTool, `"tool_choice":{"type":"function","function":{"name":"add"}}`)},
		{XAI, "O40", completions("", `"stop":["x"]`)},
		{XAI, "O43", completions("", `"model":"grok-4","reasoning_effort":"high"`)},
		{OpenAI, "O43", completions("", `"model":"gpt-5.1","reasoning_effort":"minimal"`)},
		{OpenAI, "O44", completions("", openaiTool, `"model":"gpt-5.6"`)},
		{Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`))},
		{Gemini, "O49", completions("", schema(`{"type":"object","properties":{}}`))},
		{Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`))},
		{Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"type":"array"}}}`))},
		{Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"enum":[1]}},"required":["b"]}`))},
		{Gemini, "O50", completions(called, openaiTool, `"model":"gemini-3-pro-preview"`)},
	} {
		has := func(host Host) bool {
			return slices.ContainsFunc(CheckHost([]byte(c.body), host), func(v Violation) bool { return v.Rule == c.rule })
		}
		if !has(c.host) {
			t.Errorf("%s: %s is not found in %s: %v", c.host, c.rule, c.body, CheckHost([]byte(c.body), c.host))
		}
		if has(Compatible) {
			t.Errorf("%s is found everywhere in %s", c.rule, c.body)
		}
		seen[c.rule] = true
	}
	for _, rule := range []string{"O40", "O41", "O42", "O43", "O44", "O45", "O46", "O47", "O48", "O49", "O50"} {
		if !seen[rule] {
			t.Errorf("no request breaks %s", rule)
		}
	}
}

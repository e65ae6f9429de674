package llmtest

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
)

// TestHostRules has each rule of a single host broken by a request that the others take.
func TestHostRules(t *testing.T) {
	seen := map[string]bool{}
	called := openaiHello + "," + callOf("abcdefghi") + "," + toolMessage("abcdefghi")
	schema := func(s string) string {
		return `"tools":[{"type":"function","function":{"name":"f","parameters":` + s + `}}]`
	}
	for _, c := range []struct {
		host       strictapi.Host
		rule, body string
	}{
		{strictapi.Mistral, "O40", completions("", `"stream":true,"stream_options":{"include_usage":true}`)},
		{strictapi.Mistral, "O40", completions("", `"max_completion_tokens":9`)},
		{strictapi.Mistral, "O40", completions(openaiHello + `,{"role":"assistant","content":"a","reasoning_content":"b"},` + openaiHello)},
		{strictapi.Mistral, "O41", completions("", `"temperature":2`)},
		{strictapi.Mistral, "O43", completions("", `"model":"mistral-large-latest","reasoning_effort":"high"`)},
		{strictapi.Mistral, "O47", completions(openaiHello+","+callOf("call_1")+","+toolMessage("call_1"), openaiTool)},
		{strictapi.Mistral, "O48", completions(called+","+openaiHello, openaiTool)},
		{strictapi.Mistral, "O48", completions(openaiHello + `,{"role":"assistant","content":"a"}`)},
		{strictapi.Kimi, "O41", completions("", `"model":"kimi-k3","temperature":0.5`)},
		{strictapi.Kimi, "O45", completions("", openaiTool, `"model":"kimi-k2.6","tool_choice":"required"`)},
		{strictapi.DeepSeek, "O45", completions("", openaiTool, `"tool_choice":{"type":"function","function":{"name":"add"}}`)},
		{strictapi.DeepSeek, "O46", completions(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`)},
		{strictapi.Ollama, "O46", completions(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,AA=="}}]}`)},
		{strictapi.Ollama, "O43", completions("", `"reasoning_effort":"max"`)},
		{strictapi.LMStudio, "O42", completions("", openaiTool, `"tool_choice":{"type":"function","function":{"name":"add"}}`)},
		{strictapi.XAI, "O40", completions("", `"stop":["x"]`)},
		{strictapi.XAI, "O43", completions("", `"model":"grok-4","reasoning_effort":"high"`)},
		{strictapi.OpenAI, "O43", completions("", `"model":"gpt-5.1","reasoning_effort":"minimal"`)},
		{strictapi.OpenAI, "O44", completions("", openaiTool, `"model":"gpt-5.6"`)},
		{strictapi.Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`))},
		{strictapi.Gemini, "O49", completions("", schema(`{"type":"object","properties":{}}`))},
		{strictapi.Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`))},
		{strictapi.Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"type":"array"}}}`))},
		{strictapi.Gemini, "O49", completions("", schema(`{"type":"object","properties":{"a":{"enum":[1]}},"required":["b"]}`))},
		{strictapi.Gemini, "O50", completions(called, openaiTool, `"model":"gemini-3-pro-preview"`)},
	} {
		has := func(host strictapi.Host) bool {
			return slices.ContainsFunc(strictapi.CheckHost([]byte(c.body), host), func(v strictapi.Violation) bool { return v.Rule == c.rule })
		}
		if !has(c.host) {
			t.Errorf("%s: %s is not found in %s: %v", c.host, c.rule, c.body, strictapi.CheckHost([]byte(c.body), c.host))
		}
		if has(strictapi.Compatible) {
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

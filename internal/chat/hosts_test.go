package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

// strictHosts are the profiles, whose rules their requests are checked by, and
// models of theirs.
var strictHosts = []struct {
	profile string
	host    strictapi.Host
	models  []string
}{
	{"openai", strictapi.OpenAI, []string{"gpt-4.1", "gpt-5.1", "gpt-5-mini", "gpt-5.6-terra", "o3"}},
	{"azure", strictapi.OpenAI, []string{"gpt-5.2"}},
	{"openrouter", strictapi.Compatible, []string{"anthropic/claude-sonnet-4.5"}},
	{"vercel", strictapi.Compatible, []string{"openai/gpt-5"}},
	{"deepseek", strictapi.DeepSeek, []string{"deepseek-v4-flash"}},
	{"glm", strictapi.GLM, []string{"glm-4.6", "glm-5.2"}},
	{"kimi", strictapi.Kimi, []string{"kimi-k2.6", "kimi-k3", "kimi-k2.7-code"}},
	{"groq", strictapi.Groq, []string{"openai/gpt-oss-120b", "qwen/qwen3-32b", "llama-3.3-70b-versatile"}},
	{"xai", strictapi.XAI, []string{"grok-4", "grok-3-mini", "grok-4.3"}},
	{"mistral", strictapi.Mistral, []string{"mistral-large-latest", "mistral-small-latest", "magistral-medium-latest"}},
	{"ollama", strictapi.Ollama, []string{"qwen3:8b"}},
	{"llamacpp", strictapi.LlamaCpp, []string{"m"}},
	{"vllm", strictapi.VLLM, []string{"openai/gpt-oss-20b", "Qwen/Qwen3-8B"}},
	{"lmstudio", strictapi.LMStudio, []string{"m"}},
	{"gemini", strictapi.Gemini, []string{"gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-2.0-flash"}},
	{"huggingface", strictapi.Compatible, []string{"moonshotai/Kimi-K2-Instruct"}},
	{"avian", strictapi.Compatible, []string{"avian-kimi"}},
}

// awkwardTools have schemas of which some hosts read only a part.
var awkwardTools = []llm.Tool{
	{Name: "read", Description: "reads", Input: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"required":["path","gone"],
		"properties":{"path":{"type":"string","format":"uri"},"mode":{"const":"x"},"n":{"type":["integer","null"],"exclusiveMinimum":0},"list":{"type":"array"},"any":true,
			"one":{"oneOf":[{"type":"string"},{"type":"object","properties":{"k":{"enum":[1,2]}},"patternProperties":{"^x":{}}}]},"ref":{"$ref":"#/$defs/node"}},
		"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}`)},
	{Name: "nothing"},
}

// TestRequestsOfHosts has random transcripts, options and awkward schemas judged by
// each host's strict rules.
func TestRequestsOfHosts(t *testing.T) {
	known := map[string]bool{}
	for _, h := range strictHosts {
		known[h.profile] = true
		p := profileNamed(t, h.profile)
		for _, name := range h.models {
			t.Run(h.profile+"/"+name, func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(5, 6))
				for range 150 {
					seed := make([]byte, random.IntN(300))
					for i := range seed {
						seed[i] = byte(random.Uint32())
					}
					req := &llm.Request{System: "s", Messages: wiretest.Transcript(seed), Memo: &llm.Memo{}, Blocking: random.IntN(4) == 0}
					if len(req.Messages) == 0 {
						continue
					}
					options(req, random)
					body := bodyOf(t, p, name, req)
					lawful(t, body, h.host)
					fresh := *req
					fresh.Memo = nil
					if !bytes.Equal(body, bodyOf(t, p, name, &fresh)) {
						t.Error("the memo changes the request")
					}
					if t.Failed() {
						return
					}
				}
			})
		}
	}
	for _, p := range Profiles() {
		if !known[p.Name] {
			t.Errorf("the profile %s is not checked", p.Name)
		}
	}
}

func options(req *llm.Request, random *rand.Rand) {
	pick := func(n int) bool { return random.IntN(n) == 0 }
	if pick(2) {
		req.Tools = awkwardTools
	}
	if pick(3) {
		req.ToolChoice = []llm.ToolChoice{{Mode: llm.ChooseAny}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseTool, Name: "read"}}[random.IntN(3)]
		req.Tools = awkwardTools
	}
	req.Thinking = []llm.Thought{{}, {}, {Effort: "low"}, {Effort: "medium"}, {Effort: "high"}, {Effort: "max"}, {Budget: 3000}, {Mode: llm.ThinkOff}, {Mode: llm.ThinkAdaptive}}[random.IntN(9)]
	if pick(2) {
		req.MaxTokens = 1 + random.IntN(5000)
	}
	if pick(3) {
		req.Temperature = ptr(random.Float64() * 3)
	}
	if pick(3) {
		req.Stop = []string{"END", ""}
	}
}

func bodyOf(t testing.TB, p *Profile, name string, req *llm.Request) []byte {
	t.Helper()
	pieces, err := new(Client).Model(name).(*model).encode(req, p.target(name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(pieces, nil)
}

// TestIDsOfMistral shows that ids of other providers become nine letters and
// digits, the same ones in every request.
func TestIDsOfMistral(t *testing.T) {
	p := profileNamed(t, "mistral")
	req := &llm.Request{Messages: []llm.Message{user(txt("a"))}}
	ids := map[string]bool{}
	for i := range 300 {
		id := fmt.Sprintf("functions.f:%d", i)
		req.Messages = append(req.Messages, assistant(use(id, "f", `{}`), use(id, "f", `{}`), use("AbCdEf123", "f", `{}`)),
			user(answer(id, txt("x")), answer(id, txt("y")), answer("AbCdEf123", txt("z")), txt("go on")))
	}
	body := bodyOf(t, p, "m", req)
	lawful(t, body, strictapi.Mistral)
	if !bytes.Equal(body, bodyOf(t, p, "m", req)) {
		t.Error("the ids change from request to request")
	}
	var d struct {
		Messages []struct {
			ToolCalls []struct{ ID string } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	for _, m := range d.Messages {
		for i, c := range m.ToolCalls {
			if i < 2 && ids[c.ID] {
				t.Errorf("%s stands for two calls", c.ID)
			}
			ids[c.ID] = true
			if i == 2 && c.ID != "AbCdEf123" {
				t.Errorf("a good id became %s", c.ID)
			}
		}
	}
}

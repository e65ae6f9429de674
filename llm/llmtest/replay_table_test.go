package llmtest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

var (
	update    = flag.Bool("update", false, "write the tables of docs/providers.md")
	histories = flag.Int("histories", 300, "random histories in TestRandomHistories")
)

// origin is a place where a conversation begins, with what its models leave in it.
type origin struct {
	place
	thought llm.Block        // holds THOUGHT or SIGNED
	server  llm.Blocks       // a tool of the provider's own, with CITED in its text
	ids     func(int) string // of its calls
	extra   json.RawMessage  // beside its calls
}

func numbered(format string) func(int) string {
	return func(n int) string { return fmt.Sprintf(format, n) }
}

// origins are the places between which conversations move.
func origins() []origin {
	profile := func(name string) func(*http.Client, string, string) llm.Model {
		return func(h *http.Client, _, model string) llm.Model {
			p, ok := chat.ProfileOf(name)
			if !ok {
				panic("no profile " + name)
			}
			return (&chat.Client{APIKey: key, Profile: p, HTTP: h, BaseURL: azureBase(name)}).Model(model)
		}
	}
	search := llm.Blocks{
		llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`)},
		llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)},
		llm.Verbatim{Provider: "anthropic", Shown: "CITED", Raw: json.RawMessage(`{"type":"text","text":"CITED","citations":[]}`)},
	}
	found := llm.Blocks{
		llm.Verbatim{Provider: "openai-responses", Raw: json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`)},
		llm.Verbatim{Provider: "openai-responses", Shown: "CITED", Raw: json.RawMessage(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"CITED","annotations":[]}]}`)},
	}
	plain := llm.Thinking{Text: "THOUGHT"}
	signed := llm.Thinking{Text: "THOUGHT", Signature: "SIGNED"}
	return []origin{
		{place{"anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", onAnthropic, strictapi.CheckAnthropic}, signed, search, numbered("toolu_01A%d"), nil},
		{place{"bedrock", "", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", onBedrock, strictapi.CheckAnthropic}, signed, nil, numbered("toolu_bdrk_01%d"), nil},
		{place{"vertex", "", "claude-sonnet-4-5@20250929", onVertex, strictapi.CheckAnthropic}, signed, nil, numbered("toolu_vrtx_01%d"), nil},
		{place{"openai", "https://api.openai.com/v1", "gpt-5.2", onOpenAI, hosted(strictapi.OpenAI)}, nil, nil, numbered("call_9xQ%d"), nil},
		{place{"azure", "", "gpt-5.2", profile("azure"), hosted(strictapi.OpenAI)}, nil, nil, numbered("call_7zA%d"), nil},
		{place{"responses", "https://api.openai.com/v1", "gpt-5.2", onResponses, strictapi.CheckResponses},
			llm.Thinking{Text: "THOUGHT", Extra: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"THOUGHT"}],"encrypted_content":"SIGNED"}`)}, found, numbered("call_Rs%d"), nil},
		{place{"openrouter", "", "google/gemini-3-pro", profile("openrouter"), hosted(strictapi.Compatible)},
			llm.Thinking{Text: "THOUGHT", Extra: json.RawMessage(`[{"type":"reasoning.encrypted","data":"SIGNED"}]`)}, nil, numbered("tool_add_%d"), nil},
		{place{"deepseek", "", "deepseek-v4-pro", profile("deepseek"), hosted(strictapi.DeepSeek)}, plain, nil, numbered("call_00_%dTq"), nil},
		{place{"kimi", "", "kimi-k2.6", profile("kimi"), hosted(strictapi.Kimi)}, plain, nil, numbered("functions.add:%d"), nil},
		{place{"glm", "", "glm-4.6", profile("glm"), hosted(strictapi.GLM)}, plain, nil, numbered("call_-780725%d"), nil},
		{place{"mistral", "", "mistral-large-latest", profile("mistral"), hosted(strictapi.Mistral)}, nil, nil, numbered("D681PevK%d"), nil},
		{place{"gemini", "", "gemini-3-pro-preview", profile("gemini"), hosted(strictapi.Gemini)}, nil, nil, numbered("function-call-%d"), json.RawMessage(`{"google":{"thought_signature":"SIGNED"}}`)},
		{place{"groq", "", "openai/gpt-oss-120b", profile("groq"), hosted(strictapi.Groq)}, plain, nil, numbered("fc_0a%d"), nil},
		{place{"xai", "", "grok-4", profile("xai"), hosted(strictapi.XAI)}, plain, nil, numbered("call_1234567%d"), nil},
		{place{"ollama", "", "qwen3:8b", profile("ollama"), hosted(strictapi.Ollama)}, plain, nil, numbered("call_ol%d"), nil},
	}
}

// azureBase is an address for the one profile that has none.
func azureBase(profile string) string {
	if profile == "azure" {
		return "https://me.openai.azure.com/openai/v1"
	}
	return ""
}

var (
	photo  = wiretest.PNG(3, 3)
	chart  = wiretest.PNG(5, 5)
	report = []byte("%PDF-1.4 REPORT")
)

// begun is a conversation that began at o: with files in, thinking, a tool of the
// provider's, two calls at once, an image in a result and an answer.
func begun(o origin) []llm.Message {
	said := func(bs ...llm.Block) llm.Message {
		return llm.Message{Role: llm.Assistant, Model: o.model, Content: bs}
	}
	var first llm.Blocks
	if o.thought != nil {
		first = append(first, o.thought)
	}
	first = append(append(first, o.server...), llm.Text{Text: "I look."})
	one := llm.ToolUse{ID: o.ids(1), Name: "add", Input: json.RawMessage(`{"a":1}`), Extra: o.extra}
	two := llm.ToolUse{ID: o.ids(2), Name: "add", Input: json.RawMessage(`{"a":2}`)}
	return []llm.Message{
		llm.UserText("Look at these.", llm.Image{MediaType: "image/png", Data: photo}, llm.Document{MediaType: "application/pdf", Title: "report.pdf", Data: report}, llm.Document{MediaType: "text/plain", Title: "notes.txt", Data: []byte("NOTES")}),
		said(append(first, one, two)...),
		{Role: llm.User, Content: llm.Blocks{
			llm.ToolResult{ID: one.ID, Content: llm.Blocks{llm.Text{Text: "RESULT"}, llm.Image{MediaType: "image/png", Data: chart}}},
			llm.ToolResult{ID: two.ID, Content: llm.Blocks{llm.Text{Text: "no such thing"}}, IsError: true},
			llm.Text{Text: "hurry"},
		}},
		said(llm.Text{Text: "ANSWER"}),
		llm.UserText("Go on."),
	}
}

// crossing returns what to sends of a conversation, which its rules must allow.
func crossing(t testing.TB, to origin, msgs []llm.Message) []byte {
	t.Helper()
	req := &llm.Request{System: "Be brief.", Messages: msgs, Tools: []llm.Tool{addTool}, MaxTokens: 8192, Thinking: llm.Thought{Budget: 2048}}
	body := asked(t, func(h *http.Client) llm.Model { return to.make(h, to.base, to.model) }, req)
	for _, v := range to.check(body) {
		t.Errorf("to %s: %v\n%s", to.name, v, body)
	}
	return body
}

// survives says in a few letters what of a conversation from o is in body.
func survives(t testing.TB, o, to origin, body []byte) string {
	t.Helper()
	has := func(s string) bool { return bytes.Contains(body, []byte(s)) }
	picture := func(data []byte) bool { return has(base64.StdEncoding.EncodeToString(data)) }
	for _, s := range []string{"Look at these.", "I look.", "RESULT", "no such thing", "hurry", "ANSWER", "Go on.", "NOTES"} {
		if !has(s) {
			t.Errorf("%s to %s: %q is lost\n%s", o.name, to.name, s, body)
		}
	}
	cell := ""
	put := func(s string) { cell += s }
	switch {
	case has("SIGNED") || has("THOUGHT"):
		put("T")
	case o.thought == nil && o.extra == nil:
		put("·")
	default:
		put("t")
	}
	if has(`"`+o.ids(1)+`"`) && has(`"`+o.ids(2)+`"`) {
		put("C")
	} else {
		put("c")
	}
	switch {
	case picture(photo) && picture(chart) && !has("Attachment of the result"):
		put("I")
	case picture(photo) && picture(chart):
		put("i")
	case !picture(photo) && !picture(chart) && strings.Count(string(body), "[image left out") == 2:
		put("–")
	default:
		t.Errorf("%s to %s: an image is lost\n%s", o.name, to.name, body)
	}
	switch {
	case picture(report):
		put("P")
	case has("[document left out: application/pdf"):
		put("p")
	default:
		t.Errorf("%s to %s: the PDF is lost\n%s", o.name, to.name, body)
	}
	switch {
	case o.server == nil:
		put("·")
	case has("web_search"):
		put("S")
	case has("CITED"):
		put("s")
	default:
		t.Errorf("%s to %s: what the server tool said is lost\n%s", o.name, to.name, body)
	}
	return cell
}

// TestReplayTable has a conversation of each provider continue with each other and
// come back, and keeps docs/providers.md's table of what survives.
func TestReplayTable(t *testing.T) {
	places := origins()
	var b strings.Builder
	b.WriteString("| from ↓ to → |")
	for _, to := range places {
		b.WriteString(" " + to.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(places)) + "\n")
	for _, from := range places {
		b.WriteString("| **" + from.name + "** |")
		for _, to := range places {
			there := begun(from)
			b.WriteString(" `" + survives(t, from, to, crossing(t, to, there)) + "` |")
			// A turn there, and back: what the first provider made is as it made it.
			away := begun(to)
			both := append(there[:len(there):len(there)], away[1:]...)
			if from.name == to.name {
				continue
			}
			home, back := crossing(t, from, there), crossing(t, from, both)
			// Both bodies begin alike but for options, so that what was made here is the same, byte for byte.
			if a, z := made(home), made(back); !strings.HasPrefix(z, a) {
				t.Errorf("%s to %s and back: the beginning changed\n%s\n%s", from.name, to.name, a, z)
			}
		}
		b.WriteString("\n")
	}
	golden.Tables(t, "../../docs/providers.md", map[string]string{"replay": b.String()}, *update)
}

// made returns the part of a body with the conversation up to its answer, without
// breakpoints of a cache, which move.
func made(body []byte) string {
	s := strings.ReplaceAll(string(body), `,"cache_control":{"type":"ephemeral"}`, "")
	for _, name := range []string{`"messages":[`, `"input":[`} {
		if _, after, ok := strings.Cut(s, name); ok {
			s = after
		}
	}
	if end := strings.Index(s, "ANSWER"); end >= 0 {
		s = s[:end]
	}
	return s
}

// wander returns a history that moves between providers: each turn is made where
// the conversation is then, and looks as that provider's replies do.
func wander(r *rand.Rand, places []origin) []llm.Message {
	texts := []string{"hello", "", " \n", "hé \"q\" \\ \x01", "bad \xff utf-8", "ends with space ", "<html>&", strings.Repeat("long ", 50)}
	text := func() string { return texts[r.IntN(len(texts))] }
	msgs := []llm.Message{llm.UserText("begin " + text())}
	at := places[r.IntN(len(places))]
	for n := 1 + r.IntN(12); n > 0; n-- {
		if r.IntN(3) == 0 {
			at = places[r.IntN(len(places))]
		}
		said := llm.Message{Role: llm.Assistant, Model: at.model}
		if r.IntN(8) == 0 {
			said.Model = "" // made before models were on record
		}
		if at.thought != nil && r.IntN(2) == 0 {
			said.Content = append(said.Content, at.thought)
		}
		if r.IntN(4) == 0 {
			said.Content = append(said.Content, at.server[:r.IntN(len(at.server)+1)]...) // a turn may break off anywhere
		}
		if r.IntN(2) == 0 {
			said.Content = append(said.Content, llm.Text{Text: text()})
		}
		calls := r.IntN(4)
		var results llm.Message
		results.Role = llm.User
		for i := range calls {
			u := llm.ToolUse{ID: at.ids(r.IntN(4)), Name: []string{"add", "gone", "a.b"}[r.IntN(3)], Input: json.RawMessage(`{"a":1}`)}
			if i == 0 || r.IntN(3) == 0 {
				u.Extra = at.extra
			}
			if r.IntN(9) == 0 {
				u.Input, u.Invalid = json.RawMessage(`{}`), `{"a":`
			}
			said.Content = append(said.Content, u)
			if r.IntN(10) == 0 {
				continue // the result is lost
			}
			res := llm.ToolResult{ID: u.ID, IsError: r.IntN(4) == 0, Content: llm.Blocks{llm.Text{Text: text()}}}
			switch r.IntN(6) {
			case 0:
				res.Content = append(res.Content, llm.Image{MediaType: "image/png", Data: chart})
			case 1:
				res.Content = append(res.Content, llm.Document{MediaType: "application/pdf", Data: report})
			case 2:
				res.Content = nil
			}
			results.Content = append(results.Content, res)
		}
		msgs = append(msgs, said)
		if r.IntN(4) == 0 {
			results.Content = append(results.Content, llm.Text{Text: text()}, llm.Image{MediaType: "image/jpeg", Data: photo})
		}
		if len(results.Content) > 0 {
			msgs = append(msgs, results)
		}
		if calls == 0 || r.IntN(5) == 0 {
			msgs = append(msgs, llm.UserText(text()))
		}
	}
	return msgs
}

// TestRandomHistories has histories judged by the strict rules of every provider:
// half of them move between providers, half are made of arbitrary bytes. A sample
// is judged by the reference implementation of the rules too.
//
//	go test ./llm/llmtest -run TestRandomHistories -histories 10000
func TestRandomHistories(t *testing.T) {
	places := origins()
	r := rand.New(rand.NewPCG(9, uint64(*histories)))
	var sample []wiretest.Request
	requests := 0
	for i := range *histories {
		var msgs []llm.Message
		if i%2 == 0 {
			msgs = wander(r, places)
		} else {
			seed := make([]byte, r.IntN(300))
			for k := range seed {
				seed[k] = byte(r.Uint32())
			}
			msgs = wiretest.Transcript(seed)
		}
		for _, to := range places {
			req := &llm.Request{System: "s", Messages: msgs, Tools: []llm.Tool{addTool}, MaxTokens: 4096}
			if i%3 == 0 {
				req.Thinking = llm.Thought{Effort: "medium"}
			}
			body := asked(t, func(h *http.Client) llm.Model { return to.make(h, to.base, to.model) }, req)
			requests++
			for _, v := range to.check(body) {
				t.Errorf("history %d to %s: %v\n%s", i, to.name, v, body)
			}
			if hosts := map[string]string{"anthropic": "anthropic", "openai": "openai", "kimi": "kimi", "deepseek": "deepseek", "openrouter": "compat"}; i%max(1, *histories/100) == 0 && hosts[to.name] != "" {
				api := "openai"
				if to.name == "anthropic" {
					api = "anthropic"
				}
				sample = append(sample, wiretest.Request{Name: fmt.Sprint(to.name, i), API: api, Host: hosts[to.name], Body: body})
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	t.Logf("%d histories, %d requests, %d of them judged twice", *histories, requests, len(sample))
	wiretest.Check(t, sample)
}

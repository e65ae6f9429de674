package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A shore is a provider that conversations reach: how, what its models leave of
// their own in a conversation, and whose rules it has.
type shore struct {
	name  string
	host  string
	model func(*http.Client) llm.Model
	own   llm.Blocks
}

func shores() []shore {
	chat := func(base, name string) func(*http.Client) llm.Model {
		return func(h *http.Client) llm.Model {
			return (&openai.Client{APIKey: "k", BaseURL: base, HTTP: h}).Model(name)
		}
	}
	return []shore{
		{"anthropic", "", func(h *http.Client) llm.Model {
			return (&anthropic.Client{APIKey: "k", HTTP: h}).Model("claude-sonnet-4-5")
		}, llm.Blocks{
			llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`)},
			llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)},
		}},
		{"responses", "", func(h *http.Client) llm.Model {
			return (&responses.Client{APIKey: "k", HTTP: h, BaseURL: "https://api.openai.com/v1"}).Model("gpt-5.2")
		}, llm.Blocks{llm.Verbatim{Provider: "openai-responses", Raw: json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed"}`)}}},
		{"openai", "openai", chat("https://api.openai.com/v1", "gpt-5.2"), nil},
		{"deepseek", "deepseek", chat("https://api.deepseek.com", "deepseek-v4-pro"), nil},
		{"kimi", "kimi", chat("https://api.moonshot.ai/v1", "kimi-k2.6"), nil},
	}
}

// TestSessionChangesProvider starts a session with one provider, continues with another and
// returns. Each answer has thoughts, two calls at once, an image in a result and a tool of
// the provider. Strict servers judge every request. The first provider gets its own blocks
// back unchanged, and no other provider gets them.
func TestSessionChangesProvider(t *testing.T) {
	show := tool.New(tool.Spec{Name: "show", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		return &tool.Result{Content: llm.Blocks{llm.Text{Text: "seen"}, llm.Image{MediaType: "image/png", Data: picture()}}}, nil
	})
	for _, x := range shores() {
		for _, y := range shores() {
			if x.name == y.name {
				continue
			}
			t.Run(x.name+" "+y.name, func(t *testing.T) {
				from, to := llmtest.NewPipe(t), llmtest.NewPipe(t)
				from.Host, to.Host = x.host, y.host
				steps := func(s shore, words, id string) []llmtest.Step {
					content := append(llm.Blocks{llm.Thinking{Text: words}}, s.own...)
					return []llmtest.Step{
						{Content: append(content, llm.Text{Text: "I look."}, llmtest.Use(id+":0", "show", number{1}), llmtest.Use(id+":1", "double", number{2}))},
						{Thinking: words + " again", Text: "done by " + s.name},
					}
				}
				from.Steps = append(steps(x, "first thoughts", "a"), steps(x, "later thoughts", "c")...)
				to.Steps = steps(y, "other thoughts", "b")
				ag := &agent.Agent{Model: x.model(from.Client()), Tools: []tool.Tool{double, show}, Permissions: bypass, Sessions: session.Memory(),
					Thinking: llm.Thought{Budget: 2048}, MaxTokens: 8192}
				s := ag.Session("s")
				defer s.Close()
				ask := func(text string, more ...llm.Block) {
					t.Helper()
					if res, err := s.Prompt(t.Context(), text, more...); err != nil {
						t.Fatalf("%s: %v, %+v", text, err, res)
					}
				}
				ask("begin", llm.Image{MediaType: "image/png", Data: picture()}, llm.Document{MediaType: "application/pdf", Data: []byte("%PDF-1.4")})
				if err := s.SetModel(t.Context(), y.model(to.Client())); err != nil {
					t.Fatal(err)
				}
				ask("go on")
				if err := s.SetModel(t.Context(), x.model(from.Client())); err != nil {
					t.Fatal(err)
				}
				ask("come back")

				before, after, away := from.Requests()[1].Body, from.Requests()[2].Body, to.Requests()[0].Body
				turn := turnOf(before)
				if turn == "" || !bytes.Contains(after, []byte(turn)) {
					t.Errorf("%s made\n%s\nand gets back\n%s", x.name, turn, after)
				}
				if bytes.Contains(away, []byte("first thoughts")) {
					t.Errorf("the thoughts of %s reach %s:\n%s", x.name, y.name, away)
				}
				if bytes.Contains(after, []byte("other thoughts")) {
					t.Errorf("the thoughts of %s reach %s:\n%s", y.name, x.name, after)
				}
			})
		}
	}
}

// turnOf returns what the model made in its first turn, as the next request says it.
func turnOf(body []byte) string {
	for _, role := range []string{`{"role":"assistant"`, `{"type":"reasoning"`} {
		if at := bytes.Index(body, []byte(role)); at >= 0 {
			if end := bytes.Index(body[at:], []byte("seen")); end > 0 {
				return string(body[at : at+end])
			}
		}
	}
	return ""
}

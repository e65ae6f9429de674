package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/bedrock"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/llm/vertex"
)

// A place is where a conversation may go on: a model of a provider, and the rules
// that the provider has.
type place struct {
	name  string
	base  string
	model string
	make  func(*http.Client, string, string) llm.Model // transport, base URL, model
	check func([]byte) []strictapi.Violation
}

func onAnthropic(h *http.Client, base, model string) llm.Model {
	return (&anthropic.Client{APIKey: key, BaseURL: base, HTTP: h}).Model(model)
}

func onBedrock(h *http.Client, _, model string) llm.Model {
	return (&bedrock.Client{Region: "us-east-1", Credentials: bedrock.Static("AKIDEXAMPLE", "wJalrXUtnFEMI", ""), Client: anthropic.Client{HTTP: h}}).Model(model)
}

func onVertex(h *http.Client, _, model string) llm.Model {
	key := func(context.Context) (string, error) { return "token", nil }
	return (&vertex.Client{Project: "p", Client: anthropic.Client{HTTP: h, Key: key}}).Model(model)
}

func onOpenAI(h *http.Client, base, model string) llm.Model {
	return (&openai.Client{APIKey: key, BaseURL: base, HTTP: h}).Model(model)
}

func onResponses(h *http.Client, base, model string) llm.Model {
	return (&responses.Client{APIKey: key, BaseURL: base, HTTP: h}).Model(model)
}

func hosted(host strictapi.Host) func([]byte) []strictapi.Violation {
	return func(body []byte) []strictapi.Violation { return strictapi.CheckHost(body, host) }
}

// asked returns the body that a model sends for a request.
func asked(t testing.TB, m func(*http.Client) llm.Model, req *llm.Request) []byte {
	t.Helper()
	var sent bytes.Buffer
	h := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(&sent, r.Body); err != nil {
			return nil, err
		}
		return nil, io.ErrClosedPipe
	})}
	if _, err := llm.Collect(context.Background(), m(h), req); err == nil || sent.Len() == 0 {
		t.Fatalf("nothing was sent: %v", err)
	}
	return sent.Bytes()
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestThoughtsOfOtherModels sends thoughts back to the model that had them, to
// another one of the same provider, and where nobody knows whose they are.
func TestThoughtsOfOtherModels(t *testing.T) {
	item := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"SECRET"}`
	for _, tt := range []struct {
		name, base, model, sibling string
		make                       func(*http.Client, string, string) llm.Model
		thought                    llm.Block
	}{
		{"anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", "claude-opus-4-5", onAnthropic, llm.Thinking{Text: "hm", Signature: "SECRET"}},
		{"anthropic, redacted", "https://api.anthropic.com", "claude-sonnet-4-5-20250929", "claude-opus-4-8", onAnthropic, llm.RedactedThinking{Data: "SECRET"}},
		{"openrouter", "https://openrouter.ai/api/v1", "google/gemini-3-pro", "openai/gpt-5", onOpenAI, llm.Thinking{Extra: json.RawMessage(`[{"type":"reasoning.encrypted","data":"SECRET"}]`)}},
		{"deepseek", "https://api.deepseek.com", "deepseek-v4-pro", "deepseek-flash", onOpenAI, llm.Thinking{Text: "SECRET"}},
		{"responses", "https://api.openai.com/v1", "gpt-5.2", "gpt-5-mini", onResponses, llm.Thinking{Extra: json.RawMessage(item)}},
		{"responses, a search", "https://api.openai.com/v1", "gpt-5.2", "gpt-5-mini", onResponses, llm.Verbatim{Provider: "openai-responses", Raw: json.RawMessage(`{"type":"web_search_call","id":"SECRET"}`)}},
	} {
		for _, c := range []struct {
			maker string
			kept  bool
		}{{tt.model, true}, {"", true}, {tt.sibling, false}, {strings.ToUpper(tt.model), true}} {
			req := &llm.Request{Memo: &llm.Memo{}, Tools: []llm.Tool{addTool}, Messages: []llm.Message{
				llm.UserText("add"),
				{Role: llm.Assistant, Model: c.maker, Content: llm.Blocks{tt.thought, llmtest.Use("t1", "add", map[string]int{})}},
				{Role: llm.User, Content: llm.Blocks{llm.ToolResult{ID: "t1", Content: llm.Blocks{llm.Text{Text: "4"}}}}},
			}}
			body := asked(t, func(h *http.Client) llm.Model { return tt.make(h, tt.base, tt.model) }, req)
			if got := bytes.Contains(body, []byte("SECRET")); got != c.kept {
				t.Errorf("%s: made by %q: sent %v to %s\n%s", tt.name, c.maker, got, tt.model, body)
			}
		}
	}
}

var addTool = llm.Tool{Name: "add", Description: "Adds.", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`)}

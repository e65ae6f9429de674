package chat

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

// request is the least that a model can be asked.
var request = llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

// replayed returns a model that gets the item's reply.
func replayed(h *http.Client) llm.Model {
	return (&Client{BaseURL: "http://localhost", HTTP: h}).Model("gpt-4o")
}

func TestCorpus(t *testing.T) { wiretest.Play(t, wiretest.Items(t, "openai"), replayed, nil) }

// bases are base URLs under which an item's reply goes back to its provider.
var bases = map[string]string{
	"openrouter": "https://openrouter.ai/api/v1",
	"vercel":     "https://ai-gateway.vercel.sh/v1",
	"xai":        "https://api.x.ai/v1",
	"zai":        "https://api.z.ai/api/coding/paas/v4",
	"avian":      "https://api.avian.io/v1",
	"llamacpp":   "http://localhost:8080/v1",
	"azure":      "https://x.openai.azure.com/openai/v1",
	"openai":     DefaultBaseURL,
}

// TestReplay sends each recorded reply back, as the next request of its conversation.
func TestReplay(t *testing.T) {
	var checks []wiretest.Request
	for _, item := range wiretest.Items(t, "openai") {
		req := request
		req.Blocking = !item.Streaming
		got, err := collect(t, replayed(item.Replay(0)), &req)
		if err != nil {
			t.Fatal(err)
		}
		again := &llm.Request{Messages: wiretest.Next(got.Message), Tools: []llm.Tool{{Name: "weather"}}, MaxTokens: 100}
		base := bases[item.Provider]
		host := "compat"
		if ProfileAt(base).Limit == "max_completion_tokens" {
			host = "openai"
		}
		body := encoded(t, base, item.Expected.Model, again)
		checks = append(checks, wiretest.Request{Name: item.Name, API: "openai", Host: host, Body: body})
		if lost := item.Expected.Lost(body); len(lost) > 0 {
			t.Errorf("%s: encrypted reasoning is not sent back: %s", item.Name, lost)
		}
		if len(got.Message.ToolUses()) > 0 && item.Expected.Thinking != "" && !bytes.Contains(body, []byte(`"reasoning`)) {
			t.Errorf("%s: reasoning is not sent back", item.Name)
		}
	}
	wiretest.Check(t, checks)
}

// encoded returns the whole body of a request to the host of base.
func encoded(t testing.TB, base, name string, req *llm.Request) []byte {
	t.Helper()
	pieces, err := new(Client).Model(name).(*model).encode(req, ProfileAt(base).target(name))
	return wiretest.Body(t, pieces, err)
}

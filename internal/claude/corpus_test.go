package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

// request is the least that a model can be asked.
var request = llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

// replayed returns a model that gets the item's reply.
func replayed(h *http.Client) llm.Model {
	return (&Client{BaseURL: "http://localhost", HTTP: h}).Model("claude-sonnet-4")
}

func TestCorpus(t *testing.T) {
	items := append(wiretest.Items(t, "anthropic"), wiretest.Items(t, "anthropic_eventstream")...)
	wiretest.Play(t, items, replayed, func(t *testing.T, got *llm.Response, item wiretest.Item) {
		var kinds, want []string
		for _, b := range got.Message.Content {
			kinds = append(kinds, kindOf(b))
		}
		for _, b := range item.Expected.Blocks {
			var text string
			_ = json.Unmarshal(b["text"], &text)
			kind := string(bytes.Trim(b["type"], `"`))
			if kind != "text" || text != "" {
				want = append(want, kind)
			}
		}
		if item.Expected.Blocks != nil && !slices.Equal(kinds, want) {
			t.Errorf("blocks %q, want %q", kinds, want)
		}
	})
}

// kindOf returns the type that b has on the wire.
func kindOf(b llm.Block) string {
	switch b := b.(type) {
	case llm.Text:
		return "text"
	case llm.Thinking:
		return "thinking"
	case llm.ToolUse:
		return "tool_use"
	case llm.Verbatim:
		var head struct{ Type string }
		_ = json.Unmarshal(b.Raw, &head)
		return head.Type
	}
	return fmt.Sprintf("%T", b)
}

// TestReplay sends each recorded reply back, as the next request of its conversation.
func TestReplay(t *testing.T) {
	var checks []wiretest.Request
	for _, item := range wiretest.Items(t, "anthropic") {
		req := request
		req.Blocking = !item.Streaming
		got, err := collect(t, replayed(item.Replay(0)), &req)
		if err != nil {
			t.Fatal(err)
		}
		body := encoded(t, "claude-sonnet-4", &llm.Request{Messages: wiretest.Next(got.Message), Thinking: llm.Thought{Budget: 2000}})
		checks = append(checks, wiretest.Request{Name: item.Name, API: "anthropic", Body: body})
		if sig := item.Expected.Signature; sig != "" && !bytes.Contains(body, []byte(sig)) {
			t.Errorf("%s: the signature is not sent back", item.Name)
		}
	}
	wiretest.Check(t, checks)
}

// encoded returns the whole body of a request.
func encoded(t testing.TB, name string, req *llm.Request) []byte {
	t.Helper()
	pieces, err := new(Client).Model(name).(*model).encode(req)
	return wiretest.Body(t, pieces, err)
}

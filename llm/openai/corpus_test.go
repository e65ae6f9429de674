package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

// request is the least that a model can be asked.
var request = llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

// collect runs a request and checks that the deltas add up to the response.
func collect(t *testing.T, m llm.Model, req *llm.Request) (*llm.Response, error) {
	t.Helper()
	type built struct {
		block llm.Block
		text  string
	}
	var blocks []built
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			return nil, err
		}
		if d.Done == nil {
			if d.Block != nil {
				if d.Index != len(blocks) {
					t.Fatalf("block %d starts at %d", len(blocks), d.Index)
				}
				blocks = append(blocks, built{block: d.Block})
			}
			blocks[d.Index].text += d.Text
			continue
		}
		if len(blocks) != len(d.Done.Message.Content) {
			t.Fatalf("%d blocks were streamed, %d are in the response", len(blocks), len(d.Done.Message.Content))
		}
		for i, b := range d.Done.Message.Content {
			var text string
			switch b := b.(type) {
			case llm.Text:
				text = b.Text
			case llm.Thinking:
				text = b.Text
			case llm.ToolUse:
				text = blocks[i].text
			}
			if blocks[i].text != text || reflect.TypeOf(blocks[i].block) != reflect.TypeOf(b) {
				t.Fatalf("block %d: streamed %T %q, response %T %q", i, blocks[i].block, blocks[i].text, b, text)
			}
		}
		return d.Done, nil
	}
	t.Fatal("the stream ended without an end")
	return nil, nil
}

func thought(m llm.Message) (th llm.Thinking) {
	for _, b := range m.Content {
		if b, ok := b.(llm.Thinking); ok {
			th = b
		}
	}
	return th
}

// replayed returns a client that gets the item's reply.
func replayed(item wiretest.Item, piece int) *Client {
	return &Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(item.Header["Content-Type"], item.Body, piece, nil)}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func TestCorpus(t *testing.T) {
	for _, item := range wiretest.Items(t, "openai") {
		for _, piece := range []int{0, 7, 1} {
			t.Run(fmt.Sprintf("%s/%d", item.Name, piece), func(t *testing.T) {
				t.Parallel()
				req := request
				req.Blocking = !item.Streaming
				got, err := collect(t, replayed(item, piece).Model("gpt-4o"), &req)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, got, item.Expected)
			})
		}
	}
}

func compare(t *testing.T, got *llm.Response, want wiretest.Expected) {
	t.Helper()
	if text := got.Message.Text(); text != want.Text {
		t.Errorf("text %q, want %q", text, want.Text)
	}
	th := thought(got.Message)
	if th.Text != want.Thinking || th.Signature != want.Signature {
		t.Errorf("thinking %q, %q, want %q, %q", th.Text, th.Signature, want.Thinking, want.Signature)
	}
	for _, e := range want.Extras.Encrypted {
		var blob struct{ Data string }
		if json.Unmarshal(e, &blob) != nil || !bytes.Contains(th.Extra, []byte(`"`+blob.Data+`"`)) {
			t.Errorf("encrypted reasoning is not kept: %s in %s", e, th.Extra)
		}
	}
	uses := got.Message.ToolUses()
	if len(uses) != len(want.Calls) {
		t.Fatalf("%d calls, want %d", len(uses), len(want.Calls))
	}
	for i, u := range uses {
		if w := want.Calls[i]; u.ID != w.ID || u.Name != w.Name || u.Invalid != "" || !sameJSON(u.Input, w.Input) {
			t.Errorf("call %d: %+v, want %+v", i, u, w)
		}
	}
	usage := llm.Usage{Input: want.Usage.Input, Output: want.Usage.Output, CacheRead: want.Usage.CacheRead, CacheWrite: want.Usage.CacheWrite}
	if n := want.Usage.Reasoning; n != nil {
		usage.Reasoning = *n
	}
	if n := want.Extras.OutputWithReasoning; n > 0 {
		usage.Output = n
	}
	if got.Usage != usage {
		t.Errorf("usage %+v, want %+v", got.Usage, usage)
	}
	if string(got.Stop) != want.StopReason || got.ID != want.MessageID || got.Model != want.Model {
		t.Errorf("got %s %s %s, want %s %s %s", got.Stop, got.ID, got.Model, want.StopReason, want.MessageID, want.Model)
	}
}

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
		got, err := collect(t, replayed(item, 0).Model("gpt-4o"), &req)
		if err != nil {
			t.Fatal(err)
		}
		next := []llm.Message{llm.UserText("hi"), got.Message}
		results := llm.Message{Role: llm.User}
		for _, u := range got.Message.ToolUses() {
			results.Content = append(results.Content, llm.ToolResult{ID: u.ID, Content: llm.Blocks{llm.Text{Text: "done"}}})
		}
		if len(results.Content) == 0 {
			results = llm.UserText("thanks")
		}
		again := &llm.Request{Messages: append(next, results), Tools: []llm.Tool{{Name: "weather"}}, MaxTokens: 100}
		base := bases[item.Provider]
		host := "compat"
		if profileAt(base).Limit == "max_completion_tokens" {
			host = "openai"
		}
		body := encoded(t, base, item.Expected.Model, again)
		checks = append(checks, wiretest.Request{Name: item.Name, API: "openai", Host: host, Body: body})
		for _, e := range item.Expected.Extras.Encrypted {
			var blob struct{ Data string }
			if json.Unmarshal(e, &blob) != nil || !bytes.Contains(body, []byte(`"`+blob.Data+`"`)) {
				t.Errorf("%s: encrypted reasoning is not sent back", item.Name)
			}
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
	m := new(Client).Model(name).(*model)
	pieces, err := m.encode(req, profileAt(base).target(name))
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Join(pieces, nil)
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	return body
}

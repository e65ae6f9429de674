package anthropic

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
		var text, thinking string
		for _, b := range blocks {
			switch b.block.(type) {
			case llm.Text:
				text += b.text
			case llm.Thinking:
				thinking += b.text
			}
		}
		if want := shown(d.Done.Message); text != want {
			t.Fatalf("the deltas say %q, the response %q", text, want)
		}
		if want, _ := thought(d.Done.Message); thinking != want {
			t.Fatalf("the deltas think %q, the response %q", thinking, want)
		}
		return d.Done, nil
	}
	t.Fatal("the stream ended without an end")
	return nil, nil
}

// shown returns the text of m with that of verbatim blocks.
func shown(m llm.Message) string {
	s := ""
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			s += b.Text
		case llm.Verbatim:
			s += b.Shown
		}
	}
	return s
}

func thought(m llm.Message) (text, signature string) {
	for _, b := range m.Content {
		if th, ok := b.(llm.Thinking); ok {
			text, signature = text+th.Text, signature+th.Signature
		}
	}
	return text, signature
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
	for _, item := range append(wiretest.Items(t, "anthropic"), wiretest.Items(t, "anthropic_eventstream")...) {
		for _, piece := range []int{0, 7, 1} {
			t.Run(fmt.Sprintf("%s/%d", item.Name, piece), func(t *testing.T) {
				t.Parallel()
				req := request
				req.Blocking = !item.Streaming
				got, err := collect(t, replayed(item, piece).Model("claude-sonnet-4"), &req)
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
	if text := shown(got.Message); text != want.Text {
		t.Errorf("text %q, want %q", text, want.Text)
	}
	if text, signature := thought(got.Message); text != want.Thinking || signature != want.Signature {
		t.Errorf("thinking %q, %q, want %q, %q", text, signature, want.Thinking, want.Signature)
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
	if string(got.Stop) != want.StopReason || got.ID != want.MessageID || got.Model != want.Model || got.Usage != usage {
		t.Errorf("got %s %s %s %+v, want %+v", got.Stop, got.ID, got.Model, got.Usage, want)
	}
	var kinds, wantKinds []string
	for _, b := range got.Message.Content {
		kinds = append(kinds, kindOf(b))
	}
	for _, b := range want.Blocks {
		var text string
		_ = json.Unmarshal(b["text"], &text)
		kind := string(bytes.Trim(b["type"], `"`))
		if kind != "text" || text != "" {
			wantKinds = append(wantKinds, kind)
		}
	}
	if want.Blocks != nil && !reflect.DeepEqual(kinds, wantKinds) {
		t.Errorf("blocks %q, want %q", kinds, wantKinds)
	}
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
		got, err := collect(t, replayed(item, 0).Model("claude-sonnet-4"), &req)
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
		body := encoded(t, "claude-sonnet-4", &llm.Request{Messages: append(next, results), Thinking: llm.Thought{Budget: 2000}})
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
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Join(pieces, nil)
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	return body
}

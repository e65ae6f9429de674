package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// Events is the media type of a stream.
const Events = "text/event-stream"

// Framed makes a stream out of the data of its events, each with its type as its name.
func Framed(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var head struct{ Type string }
		_ = json.Unmarshal([]byte(d), &head)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", head.Type, d)
	}
	return b.String()
}

// Class returns the class of an error, "" if it has none.
func Class(err error) llm.Class {
	var e *llm.APIError
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// Collect runs a request and checks that the deltas add up to the response: the same
// blocks in the same order, but for streamed ones that stayed empty, and text that
// turned out to be a block which only its provider understands.
func Collect(t testing.TB, m llm.Model, req *llm.Request) (*llm.Response, error) {
	t.Helper()
	var blocks []streamed
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			return nil, err
		}
		if d.Done != nil {
			for _, b := range d.Done.Message.Content {
				for len(blocks) > 0 && !blocks[0].is(b) && blocks[0].empty() {
					blocks = blocks[1:]
				}
				if len(blocks) == 0 || !blocks[0].is(b) {
					t.Fatalf("streamed %+v, the response goes on with %T %+v", blocks, b, b)
				}
				blocks = blocks[1:]
			}
			for _, s := range blocks {
				if !s.empty() {
					t.Fatalf("streamed %+v, which the response lacks", s)
				}
			}
			return d.Done, nil
		}
		if d.Block != nil {
			if d.Index != len(blocks) {
				t.Fatalf("block %d starts at %d", len(blocks), d.Index)
			}
			blocks = append(blocks, streamed{block: d.Block})
		}
		blocks[d.Index].text += d.Text
	}
	t.Fatal("the stream ended without an end")
	return nil, nil
}

type streamed struct {
	block llm.Block
	text  string
}

func (s streamed) is(b llm.Block) bool {
	same := reflect.TypeOf(s.block) == reflect.TypeOf(b)
	switch b := b.(type) {
	case llm.Text:
		return same && s.text == b.Text
	case llm.Thinking:
		return same && s.text == b.Text
	case llm.Verbatim:
		_, text := s.block.(llm.Text)
		return (same || text) && s.text == b.Shown
	}
	return same
}

func (s streamed) empty() bool {
	switch s.block.(type) {
	case llm.Text, llm.Thinking:
		return s.text == ""
	}
	return false
}

// SamePieces checks that the result of ask for a reply does not depend on the size of the
// pieces in which it comes, 0 being one piece, and that it can be stored.
func SamePieces(t testing.TB, ask func(size int) (*llm.Response, error)) {
	t.Helper()
	a, err1 := ask(0)
	b, err2 := ask(3)
	if !reflect.DeepEqual(a, b) || Class(err1) != Class(err2) {
		t.Errorf("whole: %+v, %v; in pieces: %+v, %v", a, err1, b, err2)
	}
	if a != nil {
		if _, err := json.Marshal(a.Message); err != nil {
			t.Errorf("the message cannot be stored: %v", err)
		}
	}
}

// Deltas measures a delta of a reply: start, 10,000 times the event and end. client
// returns a model whose client gets that reply.
func Deltas(b *testing.B, start, event, end string, model func(body string) llm.Model) {
	const size = 10_000
	m := model(start + strings.Repeat(event, size) + end)
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	b.ResetTimer()
	for n := 0; n < b.N; n += size {
		if _, err := llm.Collect(b.Context(), m, req); err != nil {
			b.Fatal(err)
		}
	}
}

// Play has a model answer each item as it was recorded, whole and in pieces, and compares
// the result with the expected one; check, if not nil, checks more.
func Play(t *testing.T, items []Item, model func(*http.Client) llm.Model, check func(t *testing.T, got *llm.Response, item Item)) {
	for _, item := range items {
		for _, piece := range []int{0, 7, 1} {
			t.Run(fmt.Sprintf("%s/%d", item.Name, piece), func(t *testing.T) {
				t.Parallel()
				req := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Blocking: !item.Streaming}
				got, err := Collect(t, model(item.Replay(piece)), req)
				if err != nil {
					t.Fatal(err)
				}
				Compare(t, got, item.Expected)
				if check != nil {
					check(t, got, item)
				}
			})
		}
	}
}

// Compare checks a response against the normalised form of its item.
func Compare(t testing.TB, got *llm.Response, want Expected) {
	t.Helper()
	text, th := spoken(got.Message)
	if text != want.Text {
		t.Errorf("text %q, want %q", text, want.Text)
	}
	if th.Text != want.Thinking || th.Signature != want.Signature {
		t.Errorf("thinking %q, %q, want %q, %q", th.Text, th.Signature, want.Thinking, want.Signature)
	}
	if lost := want.Lost(th.Extra); len(lost) > 0 {
		t.Errorf("encrypted reasoning is not kept: %s in %s", lost, th.Extra)
	}
	uses := got.Message.ToolUses()
	if len(uses) != len(want.Calls) {
		t.Fatalf("%d calls, want %d", len(uses), len(want.Calls))
	}
	for i, u := range uses {
		if w := want.Calls[i]; u.ID != w.ID || u.Name != w.Name || u.Invalid != "" || !SameJSON(u.Input, w.Input) {
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

// spoken returns a message's text and thinking, with the visible part of its verbatim
// blocks.
func spoken(m llm.Message) (text string, th llm.Thinking) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			text += b.Text
		case llm.Verbatim:
			text += b.Shown
		case llm.Thinking:
			th.Text, th.Signature, th.Extra = th.Text+b.Text, th.Signature+b.Signature, append(th.Extra, b.Extra...)
		}
	}
	return text, th
}

// Lost returns the encrypted reasoning that is not in body.
func (e Expected) Lost(body []byte) []json.RawMessage {
	var lost []json.RawMessage
	for _, raw := range e.Extras.Encrypted {
		var blob struct{ Data string }
		if json.Unmarshal(raw, &blob) != nil || !bytes.Contains(body, []byte(`"`+blob.Data+`"`)) {
			lost = append(lost, raw)
		}
	}
	return lost
}

// SameJSON reports whether a and b are valid JSON of the same value.
func SameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Body joins the pieces of a request, which must be JSON.
func Body(t testing.TB, pieces [][]byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Join(pieces, nil)
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	return body
}

package wiretest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// PNG returns the start of a PNG image of that size, which is all that clients look at.
func PNG(width, height int) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, uint32(width))
	b = binary.BigEndian.AppendUint32(b, uint32(height))
	return append(b, make([]byte, 9)...)
}

// Seeds returns n slices of arbitrary bytes, the same for the same kind.
func Seeds(n int, kind uint64) [][]byte {
	random := rand.New(rand.NewPCG(kind, kind+1))
	all := make([][]byte, n)
	for i := range all {
		all[i] = make([]byte, random.IntN(300))
		for j := range all[i] {
			all[i][j] = byte(random.Uint32())
		}
	}
	return all
}

// Grow encodes a request with a transcript that grows by a message each time, checks
// that a memo changes nothing but the cost, and hands some of the bodies to check.
func Grow(t testing.TB, req llm.Request, msgs []llm.Message, encode func(*llm.Request) []byte, check func(body []byte)) {
	t.Helper()
	req.Memo = &llm.Memo{}
	for n := 1; n <= len(msgs); n++ {
		req.Messages = msgs[:n]
		body := encode(&req)
		if n%8 != 0 && n != len(msgs) {
			continue
		}
		check(body)
		fresh := req
		fresh.Memo = nil
		if !bytes.Equal(body, encode(&fresh)) {
			t.Errorf("the memo changes the request")
		}
	}
}

// Next returns a conversation that continues after an answer: a prompt, the answer, and the
// results of its calls, or thanks.
func Next(answer llm.Message) []llm.Message {
	results := llm.Message{Role: llm.User}
	for _, u := range answer.ToolUses() {
		results.Content = append(results.Content, llm.ToolResult{ID: u.ID, Content: llm.Blocks{llm.Text{Text: "done"}}})
	}
	if len(results.Content) == 0 {
		results = llm.UserText("thanks")
	}
	return []llm.Message{llm.UserText("hi"), answer, results}
}

// Transcript makes a transcript of arbitrary bytes, with everything that a careless program
// or a hostile model can cause: turns of one role in a row, calls without results and
// results without calls, ids that repeat or are illegal, blocks in the wrong role, empty
// ones, foreign ones.
func Transcript(data []byte) []llm.Message {
	next := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	ids := []string{"", "toolu_1", "functions.add:0", "call_2", strings.Repeat("x", 70), "functions.add_0", "h\u00e9"}
	id := func() string { return ids[int(next())%len(ids)] }
	texts := []string{"hello", "", " \n", "h\u00e9 \"quoted\" \\ \x01", "bad \xff utf-8", "ends with space ", "\x1c", "<html>&"}
	text := func() string { return texts[int(next())%len(texts)] }
	var msgs []llm.Message
	for len(data) > 0 && len(msgs) < 60 {
		m := llm.Message{Role: []llm.Role{llm.User, llm.Assistant}[int(next())%2]}
		if m.Role == llm.Assistant {
			m.Model = []string{"", "", "claude-sonnet-4-5", "gpt-5.2", "kimi-k2.6", "m"}[next()%6]
		}
		for n := int(next()) % 5; n > 0; n-- {
			m.Content = append(m.Content, block(next, id, text))
		}
		msgs = append(msgs, m)
	}
	if len(msgs) == 0 {
		msgs = append(msgs, llm.UserText("hi"))
	}
	return msgs
}

func block(next func() byte, id, text func() string) llm.Block {
	inputs := []string{`{}`, ``, `{"a": 1,
 "b":"\ud800"}`, `[1]`, `{"a":`, `null`}
	images := []llm.Image{
		{MediaType: "image/jpeg", Data: PNG(2, 2)},
		{MediaType: "image/png", Data: PNG(9000, 2)},
		{MediaType: "image/png", Data: PNG(3000, 2)},
		{MediaType: "image/png", Data: []byte("none")},
	}
	switch next() % 17 {
	case 0, 1:
		return llm.Text{Text: text()}
	case 2, 3:
		return llm.ToolUse{ID: id(), Name: []string{"read", "", "a.b", strings.Repeat("n", 200)}[next()%4], Input: json.RawMessage(inputs[int(next())%len(inputs)])}
	case 4, 5:
		return llm.ToolResult{ID: id(), IsError: next()%2 == 0, Content: llm.Blocks{llm.Text{Text: text()}}}
	case 6:
		return llm.ToolResult{ID: id(), IsError: next()%2 == 0, Content: llm.Blocks{llm.Text{Text: text()}, images[next()%4]}}
	case 7:
		return llm.Thinking{Text: text(), Signature: []string{"", "c2ln"}[next()%2]}
	case 8:
		return llm.Thinking{Text: text(), Signature: []string{"", "c2ln"}[next()%2], Extra: json.RawMessage(`[{"type":"reasoning.text","text":"t"}]`)}
	case 9:
		return llm.RedactedThinking{Data: []string{"", "ZGF0YQ=="}[next()%2]}
	case 10:
		return images[next()%4]
	case 11:
		return []llm.Document{
			{MediaType: "application/pdf", Data: []byte("%PDF-1.4"), Title: text()}, {MediaType: "application/pdf"},
			{MediaType: "text/plain", Data: []byte(text()), Title: text()}, {MediaType: "text/csv", Data: []byte("a,b")},
		}[next()%4]
	case 12:
		return []llm.Verbatim{
			{Provider: "anthropic", Raw: json.RawMessage(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`)},
			{Provider: "anthropic", Raw: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`)},
			{Provider: "anthropic", Shown: text(), Raw: json.RawMessage(`{"type":"text","text":"cited","citations":[]}`)},
			{Provider: "other", Shown: text(), Raw: json.RawMessage(`{"foo":1}`)},
		}[next()%4]
	case 13:
		return []llm.Thinking{
			{Text: text(), Extra: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`)},
			{Text: text(), Extra: json.RawMessage(`{"type":"reasoning","id":"item_1","summary":null,"content":[{"type":"reasoning_text","text":"t"}]}`)},
			{Text: text(), Extra: json.RawMessage(`{"type":"reasoning","id":"rs_2","summary":[]}`)},
			{Text: text(), Extra: json.RawMessage(`{"type":`)},
		}[next()%4]
	case 14:
		return []llm.Verbatim{
			{Provider: "openai-responses", Raw: json.RawMessage(`{"type":"phase","phase":"commentary"}`)},
			{Provider: "openai-responses", Raw: json.RawMessage(`{"type":"web_search_call","status":"completed"}`)},
			{Provider: "openai-responses", Shown: text(), Raw: json.RawMessage(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"cited","annotations":[]}]}`)},
			{Provider: "openai-responses", Shown: text(), Raw: json.RawMessage(`{"type":"custom_tool_call","call_id":"c"}`)},
		}[next()%4]
	case 15:
		return llm.ToolUse{ID: id(), Name: "read", Input: json.RawMessage(`{"path":"x"}`), Extra: json.RawMessage([]string{`{"google":{"thought_signature":"s"}}`, `{`, `{"google":null}`}[next()%3])}
	}
	return llm.ToolUse{ID: id(), Name: "read", Input: json.RawMessage(`{"path":"x"}`)}
}

package contentjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// Content that is written can be read again.
func TestRoundTrip(t *testing.T) {
	all := llm.Blocks{
		llm.Text{Text: "hi <b>"}, llm.Thinking{Text: "hm", Signature: "s"}, llm.RedactedThinking{Data: "d"},
		llm.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}, llm.Document{MediaType: "text/plain", Title: "t", Data: []byte("text")},
		llm.Document{MediaType: "application/pdf", Data: []byte("%PDF")}, llm.ToolUse{ID: "u", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
		llm.ToolResult{ID: "u", Content: llm.Blocks{llm.Text{Text: "a"}}, IsError: true},
		llm.ToolResult{ID: "v", Content: llm.Blocks{llm.Text{Text: "a"}, llm.Image{MediaType: "image/png", Data: []byte{1}}}},
		llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"server_tool_use","id":"x"}`)},
	}
	data, err := json.Marshal(Blocks(all))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("%v\n%#v\n%#v", err, got, all)
	}
}

// Content of any other form is kept as it is, or is an error.
func TestParse(t *testing.T) {
	for raw, want := range map[string]llm.Blocks{
		`"text"`: {llm.Text{Text: "text"}},
		`[{"type":"text","text":"cited","citations":[1]}]`: {llm.Verbatim{Provider: "anthropic", Shown: "cited", Raw: json.RawMessage(`{"type":"text","text":"cited","citations":[1]}`)}},
		`[7,{"type":9}]`: {llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`7`)}, llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":9}`)}},
		`[{"type":"image","source":{"type":"url","url":"http://x"}}]`: {llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"image","source":{"type":"url","url":"http://x"}}`)}},
		`[{"type":"tool_result","tool_use_id":"u","content":{}}]`:     {llm.Verbatim{Provider: "anthropic", Raw: json.RawMessage(`{"type":"tool_result","tool_use_id":"u","content":{}}`)}},
	} {
		if got, err := Parse(json.RawMessage(raw)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %#v", raw, err, got)
		}
	}
	for _, raw := range []string{`{}`, `7`, ``, `null x`} {
		if got, err := Parse(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: %v", raw, got)
		}
	}
	if Short(llm.Blocks{llm.Text{Text: "a"}, llm.Text{Text: "b"}}) != "ab" {
		t.Error("a text is a list")
	}
	if got := string(Input(llm.ToolUse{Input: json.RawMessage(`{`)})); got != "{}" {
		t.Error(got)
	}
	if _, err := (Source{Type: "url"}).Bytes(); err == nil || !strings.Contains(err.Error(), "send the content") {
		t.Error(err)
	}
}

package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/tool"
)

// With a schema that is open, a member of another case is not another way to give a member.
func TestOpenSchemaCaseFolding(t *testing.T) {
	type in struct {
		Path  string `json:"path"`
		Limit int    `json:"limit,omitempty"`
		Mode  string `json:"mode,omitempty"`
	}
	var got in
	x := tool.New(tool.Spec{Name: "x", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","maximum":10},"mode":{"type":"string","enum":["safe"]}},"required":["path"]}`)},
		func(_ context.Context, _ tool.Call, i in) (*tool.Result, error) { got = i; return tool.Text("ok"), nil })
	for _, input := range []string{`{"path":"a","PATH":"b"}`, `{"path":"a","LIMIT":1000}`, `{"path":"a","Mode":"unsafe"}`} {
		got = in{}
		_, err := x.Run(t.Context(), tool.Call{Input: json.RawMessage(input)})
		if err == nil && (got.Path != "a" || got.Limit > 10 || got.Mode != "") {
			t.Errorf("%s is read as %+v, against the schema", input, got)
		}
	}
}

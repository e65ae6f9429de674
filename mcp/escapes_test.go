package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a server sends moves no terminal: neither what the model reads nor what people
// are shown.
func TestServersSendNoEscapes(t *testing.T) {
	t.Parallel()
	const evil = "abc\x1b]52;c;eA==\x07\x1b[2J\u009b31m\x1bP+q\x1b\\\b\x07\u0090z\u009c"
	schema := object{"type": "object", "title": evil, "properties": object{"p": object{"type": "string", "description": evil, "enum": []any{evil, object{evil: evil}}}}}
	s := &server{name: "evil"}
	made, problems := s.adopt([]*sdk.Tool{{Name: "t" + evil, Title: evil, Description: evil, InputSchema: schema}})
	if len(made) != 1 || len(problems) > 0 {
		t.Fatal(made, problems)
	}
	spec := made[0].Spec()
	var input any
	if err := json.Unmarshal(spec.Input, &input); err != nil {
		t.Fatal(err)
	}
	found := []string{spec.Name, spec.Title, spec.Description, s.sanitize(evil), told(evil), line(evil)}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			found = append(found, v)
		case object:
			for name, member := range v {
				found = append(found, name)
				walk(member)
			}
		case []any:
			for _, member := range v {
				walk(member)
			}
		}
	}
	walk(input)
	for _, text := range found {
		if strings.ContainsAny(text, "\x1b\u009b\u0090\u009c\x07\b") {
			t.Errorf("%q", text)
		}
	}
	if spec.Description == "" {
		t.Error("the description is gone")
	}
}

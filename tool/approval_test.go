package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
)

func TestAskMatching(t *testing.T) {
	for _, c := range []struct{ schema, input, want string }{
		{`true`, `{}`, "the tool asks for approval"},
		{`false`, `{}`, ""},
		{`{"description":"large\u001b[31m","properties":{"n":{"minimum":100}},"required":["n"]}`, `{"n":100}`, "large"},
		{`{"properties":{"n":{"minimum":100}},"required":["n"]}`, `{"n":99}`, ""},
		{`{"properties":{"n":{"minimum":100}},"required":["n"]}`, `{}`, ""},
		{`false`, `{`, "its input cannot be read: unexpected end of JSON input"},
		{`{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"not":{"properties":{"a":{"$ref":"#"}}}}]}`, strings.Repeat(`{"a":`, 40) + `{}` + strings.Repeat(`}`, 40),
			"its input: it cannot be checked: that takes more than 1000000 checks, because its schema refers to the same schemas in several ways; give less of it"},
		{`{"description":"` + strings.Repeat("x", 300) + `"}`, `{}`, strings.Repeat("x", 197) + "…"},
	} {
		needs, err := tool.AskMatching(json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if got := needs(tool.Call{Input: json.RawMessage(c.input)}); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.schema, c.input, got, c.want)
		}
	}
	for _, schema := range []string{``, `7`, `"yes"`, `{"type":7}`, `{"$ref":"#/nowhere"}`, `{"$ref":"#"}`, `{"$schema":"unknown"}`} {
		if _, err := tool.AskMatching(json.RawMessage(schema)); err == nil {
			t.Errorf("%q is taken for a schema", schema)
		}
	}
}

package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
)

func TestAcceptable(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"properties":{"x":`, 40) + `{}` + strings.Repeat(`}}`, 40)
	for _, c := range []struct{ name, in, want, err string }{
		{"as it is", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, ""},
		{"none", `null`, `{"properties":{},"type":"object"}`, ""},
		{"no object", `["x"]`, `{"properties":{},"type":"object"}`, ""},
		{"no type", `{"properties":{"a":{}}}`, `{"properties":{"a":{}},"type":"object"}`, ""},
		{"several types", `{"type":["object","null"]}`, `{"properties":{},"type":"object"}`, ""},
		{"a dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, `{"properties":{},"type":"object"}`, ""},
		{"alternatives", `{"type":"object","additionalProperties":false,"oneOf":[{"properties":{"a":{}},"required":["a","c"]},{"properties":{"b":{}},"required":["b","c"]}]}`,
			`{"properties":{"a":{},"b":{}},"required":["c"],"type":"object"}`, ""},
		{"all of", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`, `{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`, ""},
		{"a reference", `{"$ref":"#/$defs/In","$defs":{"In":{"properties":{"a":{}},"required":["a"]}}}`,
			`{"$defs":{"In":{"properties":{"a":{}},"required":["a"]}},"properties":{"a":{}},"required":["a"],"type":"object"}`, ""},
		{"a loop", `{"$ref":"#"}`, `{"properties":{},"type":"object"}`, ""},
		{"a loop of parts", `{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"properties":{},"type":"object"}`, ""},
		{"conditions", `{"if":{},"then":{},"not":{},"enum":[1]}`, `{"properties":{},"type":"object"}`, ""},
		{"a name that is optional", `{"properties":{"a b":{},"c":{}}}`, `{"properties":{"c":{}},"type":"object"}`, ""},
		{"a name that is required", `{"properties":{"a b":{}},"required":["a b"]}`, "", `a member "a b"`},
		{"nesting", nested, "", "nested"},
		{"size", `{"description":"` + strings.Repeat("x", maxSchema) + `"}`, "", "64 KB"},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.in), &v); err != nil {
			t.Fatal(err)
		}
		got, err := acceptable(v)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v", c.name, got, err)
		}
		if err := (tool.Spec{Name: "x", Input: got}).Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

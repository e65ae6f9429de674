package strict_test

import (
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/internal/strict"
)

// Forms holds schemas and what becomes of them, "" for none.
var forms = map[string][3]string{
	"plain": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
	"optional": {`{"properties":{"b":{"type":"integer","minimum":1},"a":{"enum":["x","y"]},"c":{"const":1},"d":{"type":["null","string"]}},"required":["b"]}`,
		`{"type":"object","properties":{"b":{"type":"integer","minimum":1},"a":{"type":["string","null"],"enum":["x","y",null]},"c":{"type":["number","null"],"enum":[1,null]},"d":{"type":["null","string"]}},"required":["b","a","c","d"],"additionalProperties":false}`,
		`{"type":"object","properties":{"b":{"type":"integer","description":"(minimum: 1)"},"a":{"type":"string","enum":["x","y"]},"c":{"type":"number","const":1},"d":{"type":["null","string"]}},"required":["b"],"additionalProperties":false}`},
	"bounds": {`{"type":"object","properties":{"a":{"description":"A name.","type":"string","minLength":2,"pattern":"^a","format":"uri"},"b":{"type":"array","items":{"type":"number"},"minItems":2}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{"type":"string","description":"A name. (minLength: 2, pattern: ^a, format: uri)"},"b":{"type":"array","items":{"type":"number"},"minItems":2}},"required":["a","b"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string","description":"A name. (minLength: 2, pattern: ^a)","format":"uri"},"b":{"type":"array","items":{"type":"number"},"description":"(minItems: 2)"}},"required":["a","b"],"additionalProperties":false}`},
	"alternatives": {`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":[],"additionalProperties":false}`},
	"tree": {`{"type":"object","properties":{"left":{"$ref":"#"}}}`,
		`{"type":"object","properties":{"left":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["left"],"additionalProperties":false}`, ``},
	"circle": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"additionalProperties":false,"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"additionalProperties":false}}}`, ``},
	"no members":           {`{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`},
	"map":                  {`{"type":"object","additionalProperties":{"type":"string"}}`, ``, ``},
	"any object":           {`{"type":"object"}`, ``, ``},
	"anything":             {`{"type":"object","properties":{"a":{}}}`, ``, ``},
	"true":                 {`{"type":"object","properties":{"a":true}}`, ``, ``},
	"list of anything":     {`{"type":"object","properties":{"a":{"type":"array"}}}`, ``, ``},
	"all of":               {`{"type":"object","properties":{"a":{"allOf":[{"type":"string"}]}}}`, ``, ``},
	"no object":            {`{"type":"string"}`, ``, ``},
	"elsewhere":            {`{"type":"object","properties":{"a":{"$ref":"http://example.com/x"}}}`, ``, ``},
	"required and unnamed": {`{"type":"object","properties":{},"required":["a"]}`, ``, ``},
	"no JSON":              {`{`, ``, ``},
}

func TestForms(t *testing.T) {
	for name, f := range forms {
		t.Run(name, func(t *testing.T) {
			for i, write := range []func(json.RawMessage) ([]byte, bool){strict.OpenAI, strict.Anthropic} {
				got, ok := write(json.RawMessage(f[0]))
				if ok != (f[1+i] != "") || string(got) != f[1+i] {
					t.Errorf("form %d of %s:\n got %s\nwant %s", i, f[0], got, f[1+i])
				}
			}
			if fits := strict.Fits(json.RawMessage(f[0])); fits != (f[1] != "" && f[2] != "") {
				t.Errorf("fits: %v", fits)
			}
		})
	}
}

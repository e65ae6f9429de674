package llmtest

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
)

// Each schema breaks the rule of the one provider, the other, both or none.
func TestSchemaRules(t *testing.T) {
	for schema, want := range map[string][]string{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                                nil,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                                 {"O29"},
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"],"additionalProperties":false}`:                                                     {"A55"},
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}`:                                   {"A55"},
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`:                                  {"A55", "O29"},
		`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`:                                                               {"A55", "O29"},
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{}}}},"required":["a"],"additionalProperties":false}`:       {"A55", "O29"},
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],"additionalProperties":false,"$defs":{"x":{"oneOf":[{"type":"string"}]}}}`: {"A55", "O29"},
		`{"type":"string"}`: {"A55", "O29"},
		`{"type":"object","properties":{},"required":["a"],"additionalProperties":false}`: {"A55", "O29"},
	} {
		got := rulesOf(strictapi.CheckAnthropic([]byte(`{"model":"claude-sonnet-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}}`)))
		got = append(got, rulesOf(strictapi.CheckOpenAI([]byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":`+schema+`}}}`)))...)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", schema, got, want)
		}
	}
}

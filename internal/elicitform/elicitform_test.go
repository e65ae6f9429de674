package elicitform

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
)

// member is the form of one member, which is required where it begins with "!".
func member(t *testing.T, schema string) *Field {
	t.Helper()
	required := ""
	if rest, ok := strings.CutPrefix(schema, "!"); ok {
		schema, required = rest, `,"required":["a"]`
	}
	fields, err := Parse(json.RawMessage(`{"type":"object","properties":{"a":` + schema + `}` + required + `}`))
	if err != nil || len(fields) != 1 {
		t.Fatalf("%s: %v, %v", schema, fields, err)
	}
	return &fields[0]
}

func TestValue(t *testing.T) {
	for _, c := range []struct{ schema, answer, value, problem string }{
		{`{"type":"string"}`, "x", `"x"`, ""},
		{`{"type":"string"}`, "", "", ""},
		{`!{"type":"string"}`, " ", "", "an answer is needed"},
		{`!{"type":"string","default":"d"}`, "", `"d"`, ""},
		{`{"type":"string","minLength":2}`, "é", "", "at least 2 characters are needed"},
		{`{"type":"string","maxLength":2}`, "éé", `"éé"`, ""},
		{`{"type":"string","maxLength":2}`, "ééé", "", "at most 2 characters are taken"},
		{`{"type":"integer"}`, "1.5", "", "a whole number is needed"},
		{`{"type":"integer","minimum":2}`, "1", "", "at least 2 is needed"},
		{`{"type":"number","maximum":2}`, "2.5", "", "at most 2 is taken"},
		{`{"type":"number"}`, "NaN", "", "a number is needed"},
		{`{"type":"number"}`, "2.5", "2.5", ""},
		{`{"type":"boolean"}`, "YES", "true", ""},
		{`{"type":"boolean"}`, "maybe", "", `"maybe" is not one of the choices`},
		{`{"type":"string","enum":["r","g"],"enumNames":["Red"]}`, "red", `"r"`, ""},
		{`{"type":"string","enum":["r","g"],"enumNames":["Red"]}`, "g", `"g"`, ""},
		{`{"type":"string","oneOf":[{"const":"r","title":"Red"}]}`, "blue", "", `"blue" is not one of the choices`},
		{`{"type":"array","items":{"type":"string","enum":["a","b"]}}`, "a, b", `["a","b"]`, ""},
		{`{"type":"array","minItems":2,"items":{"type":"string"}}`, "a", "", "at least 2 are needed"},
		{`{"type":"array","maxItems":1,"items":{"type":"string"}}`, "a,b", "", "at most 1 are taken"},
	} {
		value, problem := member(t, c.schema).Value(tool.Answer{Text: c.answer})
		if string(value) != c.value || problem != c.problem {
			t.Errorf("%s %q: %s, %q", c.schema, c.answer, value, problem)
		}
	}
}

func TestQuestion(t *testing.T) {
	for _, c := range []struct{ schema, problem, text string }{
		{`{"type":"string","title":"Your\u001b[2J name","description":"one\ntwo"}`, "", "Your name: one\ntwo (may be left out)"},
		{`!{"type":"string"}`, "it is empty", "it is empty. a"},
		{`!{"type":"integer","default":3}`, "", "a (without an answer: 3)"},
	} {
		if q := member(t, c.schema).Question("MCP", c.problem); q.Text != c.text || q.Header != "MCP" {
			t.Errorf("%s: %+v", c.schema, q)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	many := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return strings.Join(list, ",")
	}
	for _, c := range []struct{ schema, says string }{
		{`[`, "unexpected end"},
		{`{"properties":[]}`, "not an object"},
		{`{"properties":{"a":1}}`, `its member "a"`},
		{`{"properties":{` + many(maxFields+1, `"m%d":{}`) + `}}`, "more than 20 members"},
		{`{"properties":{"a":{"enum":[` + many(maxChoices+1, `"%d"`) + `]}}}`, "more than 50 values"},
	} {
		if fields, err := Parse(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60s: %v, %v", c.schema, fields, err)
		}
	}
}

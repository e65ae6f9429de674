package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
)

// chain is a schema of n+1 schemas, each of which refers to the next one as the pattern says.
func chain(n int, pattern string) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"a%d":%s`, i, strings.ReplaceAll(pattern, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1))))
	}
	defs = append(defs, fmt.Sprintf(`"a%d":{}`, n))
	return `{"type":"object","$ref":"#/$defs/a0","$defs":{` + strings.Join(defs, ",") + `}}`
}

func nested(n int, before, inner, after string) string {
	return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
}

// Schemas that check without end, or nearly, are refused.
func TestResolve(t *testing.T) {
	const itself, ways, long, deep, missing = "refers to itself", "in more than 10000 ways", "more than 100 schemas", "more than 200 levels", "not there"
	for _, c := range []struct{ schema, want string }{
		{`{"$ref":"#"}`, itself},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, itself},
		{`{"$defs":{"unused":{"$ref":"#/$defs/unused"}}}`, itself},
		{`{"properties":{"p":{"$ref":"#/properties/p"}}}`, itself},
		{`{"properties":{"a%b":{"$ref":"#/properties/a%25b"}}}`, itself},
		{`{"properties":{"p":{"$anchor":"x","allOf":[{"$ref":"#x"}]}}}`, itself},
		{`{"properties":{"p":{"$id":"http://h/x/y","allOf":[{"$ref":"y"}]}}}`, itself},
		{`{"properties":{"p":{"$id":"http://h/x","anyOf":[{"$ref":"#"}]}}}`, itself},
		{`{"anyOf":[{"$ref":"#"}]}`, itself},
		{`{"oneOf":[{},{"$ref":"#"}]}`, itself},
		{`{"allOf":[{"allOf":[{"$ref":"#/allOf/0"}]}]}`, itself},
		{`{"not":{"$ref":"#"}}`, itself},
		{`{"if":{"$ref":"#"}}`, itself},
		{`{"if":{},"then":{"$ref":"#"}}`, itself},
		{`{"if":false,"else":{"$ref":"#"}}`, itself},
		{`{"dependentSchemas":{"a":{"$ref":"#"}}}`, itself},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, itself},
		{`{"$dynamicRef":"#"}`, itself},
		{`{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, itself},
		{`{"$dynamicAnchor":"x","anyOf":[{"$dynamicRef":"#x"}]}`, itself},
		{`{"$id":"http://h/1","$dynamicAnchor":"x","$ref":"2","$defs":{"b":{"$id":"http://h/2","$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x"}}}}}`, itself},
		{chain(26, `{"allOf":[NEXT,NEXT]}`), ways},
		{chain(26, `{"anyOf":[NEXT,{"not":NEXT}]}`), ways},
		{`{"properties":{"p":{"anyOf":[` + strings.Repeat(`{},`, 10_000) + `{}]}}}`, ways},
		{chain(200, `NEXT`), long},
		{nested(150, `{"not":`, `{}`, `}`), long},
		{nested(201, `{"items":`, `{}`, `}`), deep},
		{`{"$ref":"#/not"}`, missing},
		{`{"$ref":"#/nowhere"}`, "cannot be resolved"},
		{`{"$ref":"http://h/x"}`, "cannot be resolved"},
		{`7`, "is not a JSON Schema"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "is not known"},

		{`true`, ""}, {`false`, ""}, {`{}`, ""},
		{`{"properties":{"a":{"$ref":"#"}}}`, ""},
		{`{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}},"additionalProperties":false}`, ""},
		{`{"items":{"$ref":"#"},"prefixItems":[{"$ref":"#"}],"contains":{"$ref":"#"},"unevaluatedItems":{"$ref":"#"}}`, ""},
		{`{"propertyNames":{"$ref":"#"},"patternProperties":{"a":{"$ref":"#"}},"unevaluatedProperties":{"$ref":"#"}}`, ""},
		{`{"$dynamicAnchor":"x","additionalProperties":{"$dynamicRef":"#x"}}`, ""},
		{`{"$ref":"#/$defs/e","$defs":{"e":{"anyOf":[{"type":"string"},{"properties":{"of":{"items":{"$ref":"#/$defs/e"}}}}]}}}`, ""},
		{`{"$ref":"#/properties/a","properties":{"a":{}}}`, ""},
		{chain(80, `NEXT`), ""},
		{chain(8, `{"allOf":[NEXT,NEXT]}`), ""},
		{nested(199, `{"items":`, `{}`, `}`), ""},
	} {
		_, err := ResolveJSON([]byte(c.schema))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.200s: %v, want %q", c.schema, err, c.want)
		}
	}
}

// Values that a schema would check in too many ways, or too deep, are refused before.
func TestResolvedValidate(t *testing.T) {
	const twice = `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`
	const once = `{"properties":{"a":{"$ref":"#"}},"additionalProperties":{"type":"string"}}`
	for _, c := range []struct {
		schema, value string
		want          error
	}{
		{twice, nested(40, `{"a":`, `{}`, `}`), ErrUnchecked},
		{chain(30, `{"allOf":[{"properties":{"a":NEXT}},{"properties":{"a":NEXT}}]}`), nested(40, `{"a":`, `{}`, `}`), ErrUnchecked},
		{`{"anyOf":[{"items":{"$ref":"#"}},{"not":{"items":{"$ref":"#"}}}]}`, nested(40, `[`, ``, `]`), ErrUnchecked},
		{`{"items":{"$ref":"#"}}`, nested(9_000, `[`, ``, `]`), ErrUnchecked},
		{once, nested(9_000, `{"a":`, `{}`, `}`), ErrUnchecked},
		{twice, nested(8, `{"a":`, `{}`, `}`), nil},
		{once, nested(200, `{"a":`, `{"b":"x"}`, `}`), nil},
		{`{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"integer"}}}`, `[` + strings.Repeat(`1,`, 50_000) + `1]`, nil},
		{`{"items":{"type":"integer"}}`, `[` + strings.Repeat(`1,`, 50_000) + `1]`, nil},
	} {
		r, err := ResolveJSON([]byte(c.schema))
		if err != nil {
			t.Errorf("%.100s: %v", c.schema, err)
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(c.value), &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); !errors.Is(err, c.want) {
			t.Errorf("%.100s, %.50s: %v, want %v", c.schema, c.value, err, c.want)
		}
	}
	r, err := ResolveJSON([]byte(once))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(map[string]any{"b": 1.0}); err == nil || errors.Is(err, ErrUnchecked) {
		t.Errorf("a wrong value: %v", err)
	}
}

// tangle makes a schema of bytes: some definitions that refer to each other.
func tangle(data []byte) string {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	ref := func() string {
		return []string{`{"$ref":"#/$defs/a%d"}`, `{"$ref":"#x%d"}`, `{"$dynamicRef":"#x%d"}`, `{"$ref":"#/$defs/a%d/not"}`}[min(next()%8, 3)]
	}
	var defs []string
	for i := range 5 {
		kinds := []string{`"allOf":[R,R]`, `"anyOf":[R,R]`, `"oneOf":[R]`, `"not":R`, `"if":R,"then":R,"else":R`, `"dependentSchemas":{"a":R}`,
			`"properties":{"a":R,"b":R}`, `"additionalProperties":R`, `"items":R`, `"prefixItems":[R,R]`, `"contains":R`, `"propertyNames":R`,
			`"patternProperties":{"a":R}`, `"unevaluatedProperties":R`, `"unevaluatedItems":R`}
		members := []string{fmt.Sprintf(`"$dynamicAnchor":"x%d"`, i)}
		for k := range next() % 3 {
			at := next() % len(kinds)
			m := kinds[at]
			kinds = append(kinds[:at:at], kinds[at+1:]...)
			for strings.Contains(m, "R") && k < 3 {
				m = strings.Replace(m, "R", fmt.Sprintf(ref(), next()%5), 1)
			}
			members = append(members, m)
		}
		defs = append(defs, fmt.Sprintf(`"a%d":{%s}`, i, strings.Join(members, ",")))
	}
	return `{"$ref":"#/$defs/a0","$defs":{` + strings.Join(defs, ",") + `}}`
}

// A schema that was taken checks any value without an overflow, and soon.
func FuzzResolve(f *testing.F) {
	for i := range 300 {
		data := make([]byte, 60)
		n := uint32(i)*2654435761 + 1
		for j := range data {
			n = n*1664525 + 1013904223
			data[j] = byte(n >> 24)
		}
		f.Add(data)
	}
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	var values []any
	for _, text := range []string{`1`, nested(40, `{"a":`, `1`, `}`), nested(40, `[`, `1`, `]`), nested(300, `{"b":`, `{}`, `}`), nested(12, `[{"a":`, `1`, `},[]]`)} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			f.Fatal(err)
		}
		values = append(values, v)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, schema := range []string{tangle(data), string(data)} {
			r, err := ResolveJSON([]byte(schema))
			if err != nil {
				continue
			}
			for _, v := range values {
				_ = r.Validate(v)
			}
		}
	})
}

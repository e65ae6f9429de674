package toolschema

import (
	"encoding/json"
	"reflect"
	"testing"
)

type sample struct {
	Path   string            `json:"path" jsonschema:"the file"`
	Limit  int               `json:"limit,omitempty"`
	Ratio  float64           `json:"ratio,omitempty"`
	All    bool              `json:"all,omitempty"`
	Tags   []string          `json:"tags,omitempty"`
	Sizes  []int             `json:"sizes,omitempty"`
	Point  *point            `json:"point,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Count  uint8             `json:"count,omitempty"`
	Any    any               `json:"any,omitempty"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	Bytes  []byte            `json:"bytes,omitempty"`
}

type point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// A type has the same schema each time, byte for byte.
func TestSameSchemaEachTime(t *testing.T) {
	first, err := inferShape(reflect.TypeFor[sample]())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if s, err := inferShape(reflect.TypeFor[sample]()); err != nil || string(s.Schema) != string(first.Schema) {
			t.Fatalf("the schema's bytes differ: %s, %v", s.Schema, err)
		}
	}
}

// FuzzInput: an input that is taken satisfies the schema by the reference
// validator, strings in it are as they were, and nothing panics.
func FuzzInput(f *testing.F) {
	for _, s := range []string{
		`{"path":"a","limit":"42","tags":"[\"x\"]","point":"{\"x\":\"1\",\"y\":2.0}"}`, `{"path":"a","labels":{"\u0061":"1"}}`,
		`{"path":"\ud800","any":{"a":[1,2,{"b":null}]}}`, `{"path":"a" , "sizes" : [ "1" , 2.0 , -0 ] }`, `[]`, `"{}"`, `{"path":"\\\""}`,
	} {
		f.Add(s)
	}
	sh, err := Of(reflect.TypeFor[sample]())
	if err != nil {
		f.Fatal(err)
	}
	var full *Shape
	if full, err = New(sh.Schema); err != nil {
		f.Fatal(err)
	}
	schema, err := parseSchema(full.Schema)
	if err != nil {
		f.Fatal(err)
	}
	reference, err := schema.Resolve(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, repaired, err := sh.Read([]byte(in))
		if err != nil {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%q became %q: %v", in, out, err)
		}
		if err := reference.Validate(any(v)); err != nil {
			t.Fatalf("%q became %q, which breaks the schema: %v", in, out, err)
		}
		var was map[string]any
		if json.Unmarshal([]byte(in), &was) == nil {
			if was["path"] != v["path"] || !reflect.DeepEqual(was["any"], v["any"]) && was["any"] != nil {
				t.Fatalf("%q became %q", in, out)
			}
			if repaired == nil && !reflect.DeepEqual(was, v) && len(was) > 0 {
				t.Fatalf("%q became %q without a word", in, out)
			}
		}
	})
}

func BenchmarkInputFits(b *testing.B) {
	b.ReportAllocs()
	sh, _ := Of(reflect.TypeFor[sample]())
	in := []byte(`{"path":"/some/where/file.go","limit":20,"tags":["a","b"],"point":{"x":1,"y":2}}`)
	for b.Loop() {
		if !sh.Fits(in) {
			b.Fatal("does not fit")
		}
	}
}

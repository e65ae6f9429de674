package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/permission"
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

// echo answers with the input as its function got it.
func echo(spec Spec) *Typed[sample] {
	spec.Name = "Echo"
	return New(spec, func(_ context.Context, call Call, in sample) (*Result, error) {
		return Text(string(call.Input)), nil
	})
}

func TestInputRepair(t *testing.T) {
	for _, c := range []struct{ in, want, repaired string }{
		{`{"path":"a"}`, `{"path":"a"}`, ``},
		{` { "path" : "a" , "tags" : [ "x" , "y" ] } `, `{ "path" : "a" , "tags" : [ "x" , "y" ] }`, ``},
		{`{"path":"true"}`, `{"path":"true"}`, ``},
		{`{"path":"42","limit":"42"}`, `{"path":"42","limit":42}`, `["limit"]`},
		{`{"path":"a","limit":" 7 "}`, `{"path":"a","limit":7}`, `["limit"]`},
		{`{"path":"a","limit":42.0}`, `{"path":"a","limit":42}`, `["limit"]`},
		{`{"path":"a","ratio":"0.5","all":"true"}`, `{"path":"a","ratio":0.5,"all":true}`, `["ratio","all"]`},
		{`{"path":"a","all":"false"}`, `{"path":"a","all":false}`, `["all"]`},
		{`{"path":"a","tags":"[\"x\",\"1\"]"}`, `{"path":"a","tags":["x","1"]}`, `["tags"]`},
		{`{"path":"[1]","tags":["[2]","{}","null"]}`, `{"path":"[1]","tags":["[2]","{}","null"]}`, ``},
		{`{"path":"a","sizes":["1",2]}`, `{"path":"a","sizes":[1,2]}`, `["sizes[0]"]`},
		{`{"path":"a","sizes":"[\"1\"]"}`, `{"path":"a","sizes":[1]}`, `["sizes","sizes[0]"]`},
		{`{"path":"a","point":"{\"x\":1,\"y\":\"2\"}"}`, `{"path":"a","point":{"x":1,"y":2}}`, `["point","point.y"]`},
		{`{"path":"a","limit":null,"tags":null}`, `{"path":"a"}`, `["limit","tags"]`},
		{`{"path":"a","any":"42","raw":"true"}`, `{"path":"a","any":"42","raw":"true"}`, ``},
		{`{"path":"a","labels":{"k":"1"}}`, `{"path":"a","labels":{"k":"1"}}`, ``},
		{`"{\"path\":\"a\"}"`, `{"path":"a"}`, `[""]`},
		{`{"p\u0061th":"a"}`, `{"p\u0061th":"a"}`, ``},
		{`{"path":"a","bytes":"aGk="}`, `{"path":"a","bytes":"aGk="}`, ``},
	} {
		r, err := echo(Spec{}).Run(t.Context(), Call{Input: json.RawMessage(c.in)})
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		var details struct{ Repaired json.RawMessage }
		_ = json.Unmarshal(r.Details, &details)
		if r.Text() != c.want || string(details.Repaired) != c.repaired {
			t.Errorf("%s\n got %s repaired %s\nwant %s repaired %s", c.in, r.Text(), details.Repaired, c.want, c.repaired)
		}
	}
}

func TestInputErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{}`, "path is required but missing"},
		{``, "path is required but missing"},
		{`{"path":1}`, "path must be a string, not 1"},
		{`{"path":null}`, "path must be a string, not null"},
		{`{"path":"a","limit":"ten"}`, `limit must be an integer, not the string "ten"`},
		{`{"path":"a","limit":1.5}`, "limit must be an integer, not 1.5"},
		{`{"path":"a","limit":"1.5"}`, "limit must be an integer"},
		{`{"path":"a","limit":1e3}`, "limit must be an integer"},
		{`{"path":"a","limit":99999999999999999999}`, "limit"},
		{`{"path":"a","all":"yes"}`, "all must be true or false"},
		{`{"path":"a","all":1}`, "all must be true or false"},
		{`{"path":"a","tags":"x"}`, "tags must be an array"},
		{`{"path":"a","tags":"{}"}`, "tags must be an array"},
		{`{"path":"a","tags":[1]}`, "tags[0] must be a string, not 1"},
		{`{"path":"a","point":{"x":1}}`, "point.y is required but missing"},
		{`{"path":"a","point":{"x":1,"y":2,"z":3}}`, "point.z is unknown"},
		{`{"path":"a","labels":{"k":1}}`, "labels.k must be a string"},
		{`{"path":"a","count":300}`, "count must be from 0 to 255, not 300"},
		{`{"path":"a","count":-1}`, "count must be from 0 to 255, not -1"},
		{`{"path":"a","lmit":3}`, "lmit is unknown (did you mean limit?)"},
		{`{"Path":"a"}`, "Path is unknown (did you mean path?)"},
		{`{"path":"a","path":"b"}`, "path is given twice"},
		{`[]`, "the input must be an object, not the array []"},
		{`"x"`, "the input must be an object"},
		{`{"path":`, "not valid JSON"},
		{`{"path":"a","bytes":"?"}`, "base64"},
	} {
		ran := false
		tl := New(Spec{Name: "T"}, func(context.Context, Call, sample) (*Result, error) { ran = true; return Text(""), nil })
		_, err := tl.Run(t.Context(), Call{Input: json.RawMessage(c.in)})
		var input *InputError
		if !errors.As(err, &input) || ran {
			t.Errorf("%s: got %v, ran %v", c.in, err, ran)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.in, err, c.want)
		}
		if !strings.HasPrefix(err.Error(), "invalid input for T: ") || !strings.Contains(err.Error(), `expected: {"path": string, "limit"?: integer, "ratio"?: number, "all"?: boolean, "tags"?: [string, …]`) {
			t.Errorf("%s: tool or form is missing: %v", c.in, err)
		}
	}
}

func TestManyProblemsAreBounded(t *testing.T) {
	var in strings.Builder
	in.WriteString(`{"path":"a"`)
	for i := range 1000 {
		fmt.Fprintf(&in, `,"%s%d":1`, strings.Repeat("x", 1000), i)
	}
	in.WriteString("}")
	_, err := echo(Spec{}).Run(t.Context(), Call{Input: json.RawMessage(in.String())})
	if err == nil || len(err.Error()) > 20_000 {
		t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestSchemaGiven(t *testing.T) {
	raw := Raw(Spec{Name: "T", Input: json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"properties": {
			"mode": {"enum": ["on", "off"]},
			"id": {"type": "string", "pattern": "^[a-z]+$"},
			"n": {"type": ["integer", "null"], "minimum": 1},
			"either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}
		},
		"required": ["id"]
	}`)}, func(_ context.Context, call Call) (*Result, error) { return Text(string(call.Input)), nil })
	spec := raw.Spec()
	if err := spec.Check(); err != nil || strings.Contains(string(spec.Input), "$schema") {
		t.Errorf("%v: %s", err, spec.Input)
	}
	for in, want := range map[string]string{
		`{"id":"a","other":1}`:        "",
		`{"id":"a","n":null}`:         "",
		`{"id":"a","n":"5"}`:          "",
		`{"id":"a","either":5}`:       "",
		`{"id":"a","either":"5"}`:     "",
		`{"id":"a","either":true}`:    "anyOf",
		`{"id":"A"}`:                  "pattern",
		`{"id":"a","mode":"auto"}`:    "mode must be one of on, off",
		`{"id":"a","n":0}`:            "n must be at least 1, not 0",
		`{"mode":"on"}`:               "id is required",
		`{"id":"a","n":"x"}`:          "n must be an integer or null",
		`{"id":"a","mode":["o","n"]}`: "mode",
	} {
		_, err := raw.Run(t.Context(), Call{Input: json.RawMessage(in)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
	}
}

func TestSchemaInferred(t *testing.T) {
	got := string(echo(Spec{}).Spec().Input)
	want := `{"type":"object","properties":{"path":{"type":"string","description":"the file"},"limit":{"type":"integer"},"ratio":{"type":"number"},"all":{"type":"boolean"},` +
		`"tags":{"type":"array","items":{"type":"string"}},"sizes":{"type":"array","items":{"type":"integer"}},` +
		`"point":{"type":["null","object"],"properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x","y"],"additionalProperties":false},` +
		`"labels":{"type":"object","additionalProperties":{"type":"string"}},"count":{"type":"integer","minimum":0,"maximum":255},"any":true,"raw":true,"bytes":{"type":"string","contentEncoding":"base64"}},` +
		`"required":["path"],"additionalProperties":false}`
	if !sameJSON(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	empty := New(Spec{Name: "T"}, func(context.Context, Call, struct{}) (*Result, error) { return Text("ok"), nil })
	for _, in := range []string{`{}`, ``, `null`, ` `} {
		if r, err := empty.Run(t.Context(), Call{Input: json.RawMessage(in)}); err != nil || r.Text() != "ok" {
			t.Errorf("no input, given %q: %v", in, err)
		}
	}
	if _, err := empty.Run(t.Context(), Call{Input: json.RawMessage(`{"a":1}`)}); err == nil {
		t.Error("a tool without input takes one")
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func TestNewPanics(t *testing.T) {
	for name, make := range map[string]func(){
		"name": func() { Func(Spec{Name: "a b"}, func(context.Context, struct{}) (string, error) { return "", nil }) },
		"type": func() { Func(Spec{Name: "T"}, func(context.Context, string) (string, error) { return "", nil }) },
		"func": func() {
			Func(Spec{Name: "T"}, func(context.Context, struct{ F func() }) (string, error) { return "", nil })
		},
		"root": func() { Raw(Spec{Name: "T", Input: json.RawMessage(`{"type":"object","anyOf":[{}]}`)}, nil) },
		"kind": func() { Raw(Spec{Name: "T", Input: json.RawMessage(`{"type":"array"}`)}, nil) },
		"json": func() { Raw(Spec{Name: "T", Input: json.RawMessage(`{`)}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			make()
		}()
	}
}

func TestSpecCheck(t *testing.T) {
	for in, ok := range map[string]bool{
		``: true, `{"type":"object"}`: true, `{"type":"object","properties":{"a":{"oneOf":[{}]}}}`: true,
		`{}`: false, `{"type":"string"}`: false, `[]`: false, `{"type":"object","oneOf":[{}]}`: false,
		`{"type":"object","$schema":"x"}`: false, `{"type":"object","allOf":[]}`: false,
	} {
		s := Spec{Name: "T"}
		if in != "" {
			s.Input = json.RawMessage(in)
		}
		if err := s.Check(); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
	if err := (Spec{Name: "T", Output: json.RawMessage(`{"type":3}`)}).Check(); err == nil || !strings.Contains(err.Error(), "output schema") {
		t.Errorf("an output schema that is none: %v", err)
	}
	for _, name := range []string{"", "a.b", "ä", strings.Repeat("a", 65)} {
		if (Spec{Name: name}).Check() == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
}

func TestFunc(t *testing.T) {
	type out struct {
		N int `json:"n"`
	}
	text := Func(Spec{Name: "T"}, func(_ context.Context, in point) (string, error) { return fmt.Sprint(in.X + in.Y), nil })
	if r, err := text.Run(t.Context(), Call{Input: json.RawMessage(`{"x":1,"y":2}`)}); err != nil || r.Text() != "3" || r.Details != nil {
		t.Errorf("%v, %v", r, err)
	}
	object := Func(Spec{Name: "T"}, func(context.Context, struct{}) (out, error) { return out{7}, nil })
	if r, err := object.Run(t.Context(), Call{}); err != nil || r.Text() != `{"n":7}` || string(r.Details) != `{"n":7}` {
		t.Errorf("%v, %v", r, err)
	}
	list := Func(Spec{Name: "T"}, func(context.Context, struct{}) ([]int, error) { return []int{1}, nil })
	if r, err := list.Run(t.Context(), Call{}); err != nil || r.Text() != `[1]` || r.Details != nil {
		t.Errorf("%v, %v", r, err)
	}
	result := Func(Spec{Name: "T"}, func(context.Context, struct{}) (*Result, error) { return Errorf("no"), nil })
	if r, err := result.Run(t.Context(), Call{}); err != nil || !r.IsError {
		t.Errorf("%v, %v", r, err)
	}
	fails := Func(Spec{Name: "T"}, func(context.Context, struct{}) (string, error) { return "", errors.New("no") })
	if _, err := fails.Run(t.Context(), Call{}); err == nil {
		t.Error("the error is lost")
	}
}

func TestClassify(t *testing.T) {
	tl := echo(Spec{ReadOnly: true}).OnClassify(func(_ Call, in sample) Traits {
		return Traits{Touches: []string{in.Path}, Access: []permission.Access{{Kind: permission.ReadFile, Target: in.Path}}}
	}).OnPreview(func(_ Call, in sample) string { return "diff " + in.Path })
	call := Call{Input: json.RawMessage(`{"path":"p","limit":"3"}`)}
	if c := tl.Classify(call); c.ReadOnly || !slices.Equal(c.Touches, []string{"p"}) {
		t.Errorf("got %+v", c)
	}
	if s := tl.Preview(call); s != "diff p" {
		t.Errorf("got %q", s)
	}
	call.Input = json.RawMessage(`{"path":1}`)
	if c := tl.Classify(call); !c.ReadOnly || c.Access != nil || tl.Preview(call) != "" {
		t.Errorf("a broken input gives %+v", c)
	}
}

// TestRunDoesNotAlterResults: a tool may return the same Result each time.
func TestRunDoesNotAlterResults(t *testing.T) {
	shared := Text("x")
	shared.Details = json.RawMessage(`{"a":1}`)
	tl := New(Spec{Name: "T"}, func(context.Context, Call, point) (*Result, error) { return shared, nil })
	r, err := tl.Run(t.Context(), Call{Input: json.RawMessage(`{"x":"1","y":2}`)})
	if err != nil || string(r.Details) != `{"a":1,"repaired":["x"]}` || string(shared.Details) != `{"a":1}` {
		t.Errorf("%s, %s, %v", r.Details, shared.Details, err)
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for range 10 {
			echo(Spec{})
		}
	}
}

func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	tl := New(Spec{Name: "T"}, func(context.Context, Call, sample) (*Result, error) { return nil, nil })
	call := Call{Input: json.RawMessage(`{"path":"/some/where/file.go","limit":20,"tags":["a","b"],"point":{"x":1,"y":2}}`)}
	for b.Loop() {
		if _, err := tl.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// A function that takes no struct is refused with a remedy.
func TestInputIsNoStruct(t *testing.T) {
	defer func() {
		const want = `tool count: the input schema is not of type "object", but "integer"; let the function take a struct, not a value of type int`
		if got := recover(); got != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}()
	Func(Spec{Name: "count"}, func(context.Context, int) (string, error) { return "", nil })
}

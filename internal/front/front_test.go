package front

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ file, matter, text, wrong string }{
		{"---\na: 1\n---\ntext\n", "a: 1\n", "text\n", ""},
		{"\uFEFF---\r\na: 1\r\n---\r\ntext", "a: 1\r\n", "text", ""},
		{"--- \n---", "", "", ""},
		{"only text\n---\n", "", "only text\n---\n", ""},
		{"", "", "", ""},
		{"---\na: 1\n", "", "", "no end"},
		{"---", "", "", "no end"},
		{"---\na: 1\n... \ntext\n---\n", "a: 1\n", "text\n---\n", ""},
		{"---\na: 1\n", "", "", "more than 100 bytes, or no end"},
		{"---\n" + strings.Repeat("a", 101) + "\n---\n", "", "", "more than 100 bytes"},
	} {
		matter, text, err := Split([]byte(c.file), !strings.HasSuffix(c.wrong, "or no end"), 100)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %v", c.file, err)
			}
			continue
		}
		if err != nil || string(matter) != c.matter || string(text) != c.text {
			t.Errorf("%q: %q, %q, %v", c.file, matter, text, err)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		matter string
		want   any // of the key a
		note   bool
		wrong  string
	}{
		{matter: "a: x y", want: "x y"},
		{matter: "\"a\": |\n  one\n  two", want: "one\ntwo"},
		{matter: "a: how to: a guide", want: "how to: a guide", note: true},
		{matter: "b: x\na: Use it. Example: user: \"do it's\" <x>", want: "Use it. Example: user: \"do it's\" <x>", note: true},
		{matter: "# nothing", want: nil},
		{matter: "", want: nil},
		{matter: "b: 1\na: 1\na: 2", wrong: "line"},
		{matter: "a: &x [1]\nb: *x", wrong: "line 2: a: anchors"},
		{matter: "a: [x] [y]", want: "[x] [y]", note: true},
		{matter: "b: 1\na:\n  - [1, 2", wrong: "line"},
		{matter: "- a\n- b", wrong: "keys with values"},
		{matter: "a: 1\n...\n---\nb: 1", wrong: "document"},
	} {
		values, note, err := Parse([]byte(c.matter))
		var f *Fault
		if c.wrong != "" {
			if !errors.As(err, &f) || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %v", c.matter, err)
			}
			continue
		}
		var got any
		for _, v := range values {
			if v.Key == "a" {
				got = v.value
			}
		}
		if err != nil || got != c.want || (note != nil) != c.note {
			t.Errorf("%q: %v, %v, %v", c.matter, got, note, err)
		}
	}
}

func TestValues(t *testing.T) {
	value := func(yaml string) Value {
		values, _, err := Parse([]byte("first: 1\nv: " + yaml + "\n"))
		if err != nil || len(values) != 2 {
			t.Fatalf("%s: %v, %v", yaml, values, err)
		}
		return values[1]
	}
	type get func(Value) (any, error)
	text := func(v Value) (any, error) { return v.Text() }
	items := func(v Value) (any, error) { return v.Items() }
	count := func(v Value) (any, error) { return v.Count(10) }
	yes := func(v Value) (any, error) { return v.Bool() }
	json := func(v Value) (any, error) { data, err := v.JSON(); return string(data), err }
	for _, c := range []struct {
		yaml string
		get  get
		want any // nil: an error
	}{
		{"x", text, "x"}, {"7", text, "7"}, {"true", text, "true"}, {"", text, ""}, {"[a]", text, nil}, {"{a: b}", text, nil},
		{"a, B(c, d),", items, []string{"a", "B(c, d)"}}, {"[a, 'b, c']", items, []string{"a", "b, c"}}, {"", items, []string(nil)}, {"[1]", items, nil}, {"{a: b}", items, nil}, {"[]", items, []string(nil)},
		{"3", count, 3}, {"10", count, 10}, {"11", count, nil}, {"0", count, nil}, {"-1", count, nil}, {"many", count, nil}, {"1.5", count, nil}, {"99999999999999999999", count, nil},
		{"true", yes, true}, {"false", yes, false}, {"", yes, false}, {"'true'", yes, nil},
		{"{a: [1, x], b: {c: true}}", json, `{"a":[1,"x"],"b":{"c":true}}`}, {"{1: x}", json, `{"1":"x"}`}, {".inf", json, nil},
	} {
		got, err := c.get(value(c.yaml))
		var f *Fault
		if c.want == nil {
			if !errors.As(err, &f) || f.Line != 3 || !strings.HasPrefix(f.Text, "v: ") {
				t.Errorf("%s: %v, %v", c.yaml, got, err)
			}
		} else if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, %v", c.yaml, got, err)
		}
	}
}

// Nothing that someone writes makes the reader of YAML panic or take long.
func FuzzParse(f *testing.F) {
	for _, unit := range []string{"[", "{a: ", "- ", "? ", "a:\n", "!!x ", "\"", "'", "|\n", "a: b: ", "&a ", "<<: *a\n", "\t"} {
		f.Add([]byte(strings.Repeat(unit, 2000)))
	}
	f.Add([]byte("a: [x, {b: 'c'}]\nd: |\n  text\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		matter, _, err := Split(append([]byte("---\n"), append(bytes.Clone(data), "\n---\n"...)...), true, 32<<10)
		if err != nil {
			return
		}
		values, _, err := Parse(matter)
		var fault *Fault
		if err != nil && (!errors.As(err, &fault) || fault.Line < 1) {
			t.Fatalf("%v", err)
		}
		for _, v := range values {
			v.Text()
			v.Items()
			v.JSON()
		}
	})
}

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{"", 1, "the file is empty"},
		{" \n\t", 1, "the file is empty"},
		{"\xef\xbb\xbf", 1, "the file is empty"},
		{"{\n  // models\n}", 2, "no comments"},
		{"{\n  \"a\": 1, # one\n  \"b\": 2}", 2, "no comments"},
		{"{\n\"a\": 1,\n\n}", 2, "a comma after the last value"},
		{"{\"a\": [1,\n2,]}", 2, "a comma after the last value"},
		{"{\n'a': 1}", 2, "double quotes"},
		{"{\"a\": 1\n\"b\": 2}", 2, "a comma or colon is missing"},
		{"{\"a\"\n\"b\"}", 2, "a comma or colon is missing"},
		{"{\"a\": 1", 1, "ends too early"},
		{"{\n\"a\": \"x", 2, "ends too early"},
		{"{}\n{}", 2, "the text is not JSON"},
		{"{\"a\":\ntru}", 2, "the text is not JSON"},
		{"{\"a\":\n\"\xff\"}", 2, "not UTF-8"},
		{"{\"a\": 1,\n\"\\u0061\": 2}", 2, `"a" is there twice, first in line 1`},
		{"{\"a\": [{\"b\": 1,\n\"b\": 2}]}", 2, "twice"},
		{strings.Repeat("[", 66) + strings.Repeat("]", 66), 1, "nested more than 64"},
		{strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19), 1, "exceeded max depth"},
		{`"` + strings.Repeat("x", maxFile) + `"`, 1, "more than 1048576 bytes"},
	} {
		n, err := parse([]byte(c.text))
		if err == nil {
			err = n.once()
		}
		var at *lineError
		if !errors.As(err, &at) || at.line != c.line || !strings.Contains(at.text, c.want) {
			t.Errorf("%.60q: %v, want line %d: %s", c.text, err, c.line, c.want)
		}
	}
}

// TestLines checks the places of all kinds of values.
func TestLines(t *testing.T) {
	t.Parallel()
	text := "\xef\xbb\xbf\r\n{\r\n \"a\" : [ 1.5e3 ,\n\n true, null ],\n\"b\\\"\":{\"c\":\"}\\\\\"} }\n"
	n, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a, b := n.member("a"), n.member(`b"`)
	if n.line != 2 || a == nil || a.line != 3 || b == nil || b.line != 6 {
		t.Fatalf("%+v", n)
	}
	for i, want := range []struct {
		line int
		kind kind
		text string
	}{{3, isNumber, "1.5e3"}, {5, isBool, "true"}, {5, isNull, "null"}} {
		item := a.value.items[i]
		if got := text[item.start:item.end]; item.line != want.line || item.kind != want.kind || got != want.text {
			t.Errorf("item %d: %+v %q", i, item, got)
		}
	}
	if c := b.value.member("c"); c == nil || text[c.value.start:c.value.end] != `"}\\"` {
		t.Errorf("%+v", b.value)
	}
}

// FuzzParse holds the parser against encoding/json: what one reads the other
// reads, and all places are those of what is there.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"{}", `{"a":[1,{"b":null}],"c":"\u00e9\""}`, "\xef\xbb\xbf[1 , 2]", "{\n\t\"x\" : -1.5E+3\r\n}", `{"a":1,"a":2}`, "[1,]", `"\ud800"`, "// x", "nul", "[[[]]]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := parse(data)
		text := bytes.TrimPrefix(data, mark)
		if valid := json.Valid(text) && utf8.Valid(data) && len(data) <= maxFile; valid != (err == nil) {
			if err != nil && strings.Contains(err.Error(), "nested") {
				return
			}
			t.Fatalf("%q: encoding/json says %v, we say %v", data, valid, err)
		}
		if err != nil {
			return
		}
		same(t, data, n)
	})
}

// same compares a node with what encoding/json reads at its place.
func same(t *testing.T, data []byte, n *node) {
	var v any
	if err := json.Unmarshal(data[n.start:n.end], &v); err != nil {
		t.Fatalf("%q: %v", data[n.start:n.end], err)
	}
	if want := 1 + bytes.Count(data[:n.start], []byte("\n")); n.line != want {
		t.Fatalf("%q is in line %d, not %d", data[n.start:n.end], want, n.line)
	}
	got := map[reflect.Kind]kind{reflect.Map: isObject, reflect.Slice: isList, reflect.String: isText, reflect.Float64: isNumber, reflect.Bool: isBool, reflect.Invalid: isNull}[reflect.ValueOf(v).Kind()]
	if n.kind != got {
		t.Fatalf("%q is %s, not %s", data[n.start:n.end], got, n.kind)
	}
	for _, m := range n.members {
		if _, ok := v.(map[string]any)[m.name]; !ok {
			t.Fatalf("%q has no member %q", data[n.start:n.end], m.name)
		}
		same(t, data, m.value)
	}
	if list, ok := v.([]any); ok && len(list) != len(n.items) {
		t.Fatalf("%q has %d items, not %d", data[n.start:n.end], len(list), len(n.items))
	}
	for _, item := range n.items {
		same(t, data, item)
	}
}

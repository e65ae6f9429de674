package strictyaml

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Line int    `yaml:",line"`
	Name string `yaml:"name"`
}

type outer struct {
	Text  string            `yaml:"text"`
	Count int               `yaml:"count"`
	Cost  float64           `yaml:"cost"`
	On    bool              `yaml:"on"`
	Time  time.Duration     `yaml:"time"`
	Raw   json.RawMessage   `yaml:"raw"`
	Texts []string          `yaml:"texts"`
	Files map[string]string `yaml:"files"`
	Part  *inner            `yaml:"part"`
	List  []inner           `yaml:"list"`
}

func TestDecode(t *testing.T) {
	var o outer
	faults := Decode("a.yaml", []byte(`# a comment
text: |
  two
  lines
count: 3
cost: 0.5
on: true
time: 1m30s
raw: {type: object, required: [a], minimum: 1}
texts: [a, 2, "c d"]
files:
  a/b.txt: one
part:
  name: inside
list:
  - name: x
  - name: 1.50
`), &o)
	if faults != nil {
		t.Fatal(faults)
	}
	want := outer{Text: "two\nlines\n", Count: 3, Cost: 0.5, On: true, Time: 90 * time.Second, Raw: json.RawMessage(`{"minimum":1,"required":["a"],"type":"object"}`),
		Texts: []string{"a", "2", "c d"}, Files: map[string]string{"a/b.txt": "one"}, Part: &inner{14, "inside"}, List: []inner{{16, "x"}, {17, "1.50"}}}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got  %+v\nwant %+v", o, want)
	}
}

// Every mistake is reported at once, with its line.
func TestFaults(t *testing.T) {
	var o outer
	faults := Decode("a.yaml", []byte(`text: [a]
cuont: 3
count: 0
cost: -1
on: maybe
time: soon
texts: a
part:
  nmae: x
list:
  - surprising: 1
files: 3
raw:
`), &o)
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.Error())
	}
	want := `a.yaml:1: text must be a text
a.yaml:2: there is no key "cuont"; did you mean "count"?
a.yaml:3: count must be a whole number of at least 1
a.yaml:4: cost must be a number of at least 0
a.yaml:5: on must be true or false
a.yaml:6: time must be a time, such as 90s or 10m
a.yaml:7: texts must be a list, such as [a, b]
a.yaml:9: there is no key "nmae" in part; did you mean "name"?
a.yaml:11: there is no key "surprising" in a member of list; the keys are name
a.yaml:12: files must have keys with values
a.yaml:13: raw has no value; add one, or remove the key`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestNotYAML(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "a.yaml:1: the file is empty"},
		{"# only a comment\n", "a.yaml:1: the file is empty"},
		{"text: a\ntext: b\n", "a.yaml:2: "},
		{"text: \"a\nb", "a.yaml:"},
		{"- a\n", "a.yaml:1: the file must have keys with values"},
		{"text: a\n---\ntext: b\n", "a.yaml:3: the file has more than one YAML document; keep one"},
		{"text: &x a\ncount: *x\n", "a.yaml:1: anchors and aliases"},
		{"\x00", "a.yaml:"},
	} {
		var o outer
		faults := Decode("a.yaml", []byte(c.data), &o)
		if len(faults) == 0 || !strings.HasPrefix(faults[0].Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.data, faults, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("text: a\nlist: [{name: x}]\n"))
	f.Add([]byte("raw: {a: [1, 2, {b: c}]}\n? x\n: y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var o outer
		Decode("a.yaml", data, &o)
	})
}

// The keys of an embedded struct are keys of the struct around it.
func TestEmbedded(t *testing.T) {
	var v struct {
		inner
		Count int `yaml:"count"`
	}
	if faults := Decode("a.yaml", []byte("count: 2\nname: x\n"), &v); faults != nil || v.Name != "x" || v.Count != 2 || v.Line != 1 {
		t.Errorf("%+v, %v", v, faults)
	}
	if faults := Decode("a.yaml", []byte("nmae: x\n"), &v); len(faults) != 1 || !strings.Contains(faults[0].Text, `did you mean "name"?`) {
		t.Errorf("%v", faults)
	}
}

// A number or a time out of its range is a mistake: as a limit it would be none.
func TestRanges(t *testing.T) {
	for value, wrong := range map[string]bool{
		"cost: 0": false, "cost: 0.25": false, "cost: -0.5": true, "cost: .inf": true, "cost: -.inf": true, "cost: .nan": true,
		"count: 2147483647": false, "count: 2147483648": true, "count: 18446744073709551615": true, "count: 0": true, "count: -3": true, "count: 1.5": true,
		"time: 90s": false, "time: 0s": true, "time: -5s": true, "time: 90": true,
		"text:": true, "texts: [a, ~]": true, "part: {name: }": true,
	} {
		var o outer
		if faults := Decode("a.yaml", []byte(value+"\n"), &o); wrong != (len(faults) == 1) {
			t.Errorf("%s: %v, %+v", value, faults, o)
		}
	}
}

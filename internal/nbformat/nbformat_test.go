package nbformat

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// standard is a notebook as Jupyter writes it: one space a level, sorted keys.
const standard = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Títle \u00e9 </b>\n",
    "text"
   ],
   "attachments": {"a.png": {"image/png": "aGk="}}
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "run-1",
   "metadata": {"tags": ["x" , "y"],  "n": 1.0e2},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "hi } ] \" \\\n"
     ]
    }
   ],
   "source": [
    "print('hi')"
   ]
  },
  {
   "cell_type": "raw",
   "id": "last",
   "metadata": {},
   "source": "one string\nof two lines"
  }
 ],
 "metadata": {
  "kernelspec": {"name": "python3"},
  "zz": [],
  "aa": {}
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

// fixtures are the same notebook as other programs write it.
func fixtures(t testing.TB) map[string]string {
	t.Helper()
	two := regexp.MustCompile(`(?m)^ +`).ReplaceAllStringFunc(standard, func(s string) string { return s + s })
	var compact strings.Builder
	for l := range strings.Lines(standard) {
		compact.WriteString(strings.TrimSpace(l))
	}
	spaced := regexp.MustCompile(`,("|\{)`).ReplaceAllString(compact.String(), `, $1`)
	return map[string]string{
		"one space":     standard,
		"two spaces":    two,
		"no indent":     regexp.MustCompile(`(?m)^ +`).ReplaceAllString(standard, ""),
		"tabs":          regexp.MustCompile(`(?m)^ +`).ReplaceAllStringFunc(standard, func(s string) string { return strings.Repeat("\t", len(s)) }),
		"crlf":          strings.ReplaceAll(standard, "\n", "\r\n"),
		"no newline":    strings.TrimSuffix(standard, "\n"),
		"compact":       strings.ReplaceAll(compact.String(), `": `, `":`),
		"python":        spaced,
		"mixed":         strings.Replace(standard, "  {\n   \"cell_type\": \"raw\",\n   \"id\": \"last\",\n   \"metadata\": {},\n   \"source\"", `  { "cell_type":"raw", "id": "last","metadata" : {}, "source"`, 1),
		"white space":   "\n \t" + strings.ReplaceAll(standard, "},\n  {", "}\n ,\n\n  {") + "\n\n",
		"before ids":    regexp.MustCompile(`(?m)^ +"id".*\n`).ReplaceAllString(strings.Replace(standard, `minor": 5`, `minor": 4`, 1), ""),
		"minor is text": strings.Replace(standard, `minor": 5`, `minor": "x"`, 1),
	}
}

func parse(t testing.TB, text string) *Notebook {
	t.Helper()
	n, err := Parse(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return n
}

// rest is the content of a notebook beside its cells.
func rest(n *Notebook) [2]string { return [2]string{n.text[:n.array.open], n.text[n.array.close:]} }

// untouched fails unless all but one cell have the bytes that they had. at is the
// number of that cell, before and after -1 where it was not or is not there.
func untouched(t *testing.T, old, new *Notebook, before, after int) {
	t.Helper()
	if !json.Valid([]byte(new.text)) {
		t.Fatalf("it is no JSON any more:\n%s", new.text)
	}
	if rest(old) != rest(new) {
		t.Errorf("what is beside the cells changed:\n%s", new.text)
	}
	var was, is []string
	for i := range old.Len() {
		if i != before {
			was = append(was, old.raw(i))
		}
	}
	for i := range new.Len() {
		if i != after {
			is = append(is, new.raw(i))
		}
	}
	if !slices.Equal(was, is) {
		t.Errorf("other cells changed:\n%q\n%q", was, is)
	}
}

func TestRead(t *testing.T) {
	for name, text := range fixtures(t) {
		n := parse(t, text)
		if n.String() != text || n.Len() != 3 {
			t.Errorf("%s: %d cells", name, n.Len())
		}
		want := []Cell{{"intro", Markdown, "# Títle é </b>\ntext"}, {"run-1", Code, "print('hi')"}, {"last", Raw, "one string\nof two lines"}}
		for i, w := range want {
			if name == "before ids" {
				w.ID = ""
			}
			if got, err := n.Cell(i); err != nil || got != w {
				t.Errorf("%s: cell %d is %+v, %v", name, i, got, err)
			}
			if at, err := n.Find(w.ID); w.ID != "" && (err != nil || at != i) {
				t.Errorf("%s: %s is cell %d, %v", name, w.ID, at, err)
			}
		}
		if _, err := n.Find("none"); err == nil {
			t.Errorf("%s: an id that is not there was found", name)
		}
		if n.ids != (name != "before ids" && name != "minor is text") {
			t.Errorf("%s: ids %v", name, n.ids)
		}
	}
}

// TestOthersKeepTheirBytes: whatever is done with whichever cell.
func TestOthersKeepTheirBytes(t *testing.T) {
	for name, text := range fixtures(t) {
		old := parse(t, text)
		for i := range old.Len() + 1 {
			for _, source := range []string{"", "x", "a\nb\n", "\"\\\t\r\n\x01é\u2028😀</script>"} {
				for _, kind := range []string{Code, Markdown, Raw} {
					n, err := old.Insert(i, kind, source)
					if err != nil {
						t.Fatal(err)
					}
					untouched(t, old, n, -1, i)
					checkCell(t, name, n, i, kind, source)
					if i == old.Len() {
						continue
					}
					if n, err = old.Replace(i, kind, source); err != nil {
						t.Fatal(err)
					}
					untouched(t, old, n, i, i)
					checkCell(t, name, n, i, kind, source)
					was, _ := old.Cell(i)
					if is, _ := n.Cell(i); is.ID != was.ID {
						t.Errorf("%s: the id %q became %q", name, was.ID, is.ID)
					}
					if strings.Contains(source, "é") && !strings.Contains(n.raw(i), "é\u2028😀</script>") {
						t.Errorf("%s: needless escapes: %s", name, n.raw(i))
					}
				}
			}
			if i == old.Len() {
				continue
			}
			n, err := old.Delete(i)
			if err != nil {
				t.Fatal(err)
			}
			untouched(t, old, n, i, -1)
		}
	}
}

// checkCell checks a cell that was written against the schema of nbformat.
func checkCell(t *testing.T, name string, n *Notebook, i int, kind, source string) {
	t.Helper()
	if c, err := n.Cell(i); err != nil || c.Type != kind || c.Source != source {
		t.Errorf("%s: cell %d is %+v, %v; want %s %q", name, i, c, err, kind, source)
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(n.raw(i)), &members); err != nil {
		t.Fatal(err)
	}
	want := []string{"cell_type", "metadata", "source"}
	if kind == Code {
		want = append(want, "execution_count", "outputs")
		if members["execution_count"] != nil || !reflect.DeepEqual(members["outputs"], []any{}) {
			t.Errorf("%s: outputs stay: %v", name, members)
		}
	}
	for _, key := range want {
		if _, ok := members[key]; !ok {
			t.Errorf("%s: a %s cell without %s: %s", name, kind, key, n.raw(i))
		}
		delete(members, key)
	}
	if id, ok := members["id"].(string); n.ids != ok || ok && !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(id) {
		if name != "minor is text" {
			t.Errorf("%s: id %q", name, id)
		}
	}
	delete(members, "id")
	if kind != Code {
		delete(members, "attachments")
	}
	if len(members) > 0 {
		t.Errorf("%s: a %s cell with %v", name, kind, members)
	}
}

// TestLayout: new parts look like the rest of the file.
func TestLayout(t *testing.T) {
	cell := func(text string) string {
		return regexp.MustCompile(`"[0-9a-f]{8}"`).ReplaceAllString(text, `"ID"`)
	}
	for name, want := range map[string]string{
		"one space":  ",\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }\n ]",
		"two spaces": ",\n    {\n      \"cell_type\": \"code\",\n      \"execution_count\": null,\n      \"id\": \"ID\",\n      \"metadata\": {},\n      \"outputs\": [],\n      \"source\": [\n        \"a\\n\",\n        \"b\"\n      ]\n    }\n  ]",
		"crlf":       ",\r\n  {\r\n   \"cell_type\": \"code\",\r\n   \"execution_count\": null,\r\n   \"id\": \"ID\",\r\n   \"metadata\": {},\r\n   \"outputs\": [],\r\n   \"source\": [\r\n    \"a\\n\",\r\n    \"b\"\r\n   ]\r\n  }\r\n ]",
		"no indent":  ",\n{\n\"cell_type\": \"code\",\n\"execution_count\": null,\n\"id\": \"ID\",\n\"metadata\": {},\n\"outputs\": [],\n\"source\": [\n\"a\\n\",\n\"b\"\n]\n}\n]",
		"compact":    `,{"cell_type":"code","execution_count":null,"id":"ID","metadata":{},"outputs":[],"source":["a\n","b"]}]`,
		"python":     `, {"cell_type": "code", "execution_count": null, "id": "ID", "metadata": {}, "outputs": [], "source": ["a\n", "b"]}]`,
	} {
		old := parse(t, fixtures(t)[name])
		n, err := old.Insert(old.Len(), Code, "a\nb")
		if err != nil {
			t.Fatal(err)
		}
		if got := cell(n.text[n.array.items[2].end : n.array.close+1]); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
		}
		// A changed cell has the layout of a new one.
		if n, err = n.Replace(3, Code, "c"); err != nil {
			t.Fatal(err)
		}
		if n, err = n.Replace(3, Code, "a\nb"); err != nil {
			t.Fatal(err)
		}
		if got := cell(n.text[n.array.items[2].end : n.array.close+1]); got != want {
			t.Errorf("%s, replaced:\ngot  %q\nwant %q", name, got, want)
		}
	}
	// Only the source, the outputs and the count of a cell are new.
	n, err := parse(t, standard).Replace(1, Code, "x\ny")
	want := strings.Replace(standard, "    \"print('hi')\"\n", "    \"x\\n\",\n    \"y\"\n", 1)
	want = strings.Replace(want, `"execution_count": 3`, `"execution_count": null`, 1)
	want = regexp.MustCompile(`(?s)"outputs": \[.*?\n   \]`).ReplaceAllString(want, `"outputs": []`)
	if err != nil || n.text != want {
		t.Errorf("%v\n%s", err, n)
	}
	// A source that is one string stays one.
	if n, err = parse(t, standard).Replace(2, Raw, "x\ny"); err != nil || !strings.Contains(n.text, `"source": "x\ny"`) {
		t.Errorf("%v\n%s", err, n)
	}
	// A type alone leaves the source as it was written.
	if n, err = parse(t, standard).Replace(0, Raw, "# Títle é </b>\ntext"); err != nil || n.text != strings.Replace(standard, `"markdown"`, `"raw"`, 1) {
		t.Errorf("%v\n%s", err, n)
	}
}

func TestEmptied(t *testing.T) {
	for name, text := range fixtures(t) {
		n := parse(t, text)
		old := n
		var err error
		for n.Len() > 0 {
			if n, err = n.Delete(n.Len() - 1); err != nil {
				t.Fatal(err)
			}
		}
		if rest(old) != rest(n) || n.text[n.array.open:n.array.close+1] != "[]" {
			t.Errorf("%s:\n%s", name, n)
		}
		if n, err = n.Insert(0, Code, "x"); err != nil {
			t.Fatal(err)
		}
		checkCell(t, name, n, 0, Code, "x")
		if name == "one space" && !strings.HasPrefix(n.text, "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",") {
			t.Errorf("%s", n)
		}
		if n, err = n.Insert(1, Raw, "y"); err != nil {
			t.Fatal(err)
		}
		checkCell(t, name, n, 1, Raw, "y")
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "not valid JSON",
		"{":                                      "not valid JSON",
		"[]":                                     "not an object",
		"1":                                      "not an object",
		"{}":                                     "no list of cells",
		`{"cells":{},"nbformat":4}`:              "no list of cells",
		`{"cells":[]}`:                           "its nbformat is missing",
		`{"cells":[],"nbformat":3}`:              "its nbformat is 3",
		`{"cells":[],"nbformat":5}`:              "its nbformat is 5",
		`{"worksheets":[],"nbformat":3}`:         "no list of cells",
		`{"cells":[1],"nbformat":4}`:             "cell 0 is not an object",
		`{"cells":[],"cells":[{}],"nbformat":4}`: `the key "cells" twice`,
		`{"cells":[],"\u0063ells":[],"nbformat":4}`:                          `the key "cells" twice`,
		`{"cells":[` + strings.Repeat("{},", MaxCells) + `{}],"nbformat":4}`: "more than 100000 cells",
		`{"cells":[],"nbformat":4` + members(2000) + `}`:                     "more than 1000 members",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`{}`:                                             "its cell_type is missing",
		`{"cell_type":"heading","source":""}`:            `its cell_type is "heading"`,
		`{"cell_type":1,"source":""}`:                    "its cell_type is 1",
		`{"cell_type":"code"}`:                           "its source is neither",
		`{"cell_type":"code","source":{}}`:               "its source is neither",
		`{"cell_type":"code","source":["a",1]}`:          "its source is neither",
		`{"cell_type":"code","source":"","id":5}`:        "its id is not text",
		`{"cell_type":"code","source":"a","source":"b"}`: `the key "source" twice`,
		`{"cell_type":"code","source":"a"}`:              "",
	} {
		n := parse(t, `{"cells":[`+text+`],"nbformat":4,"nbformat_minor":5}`)
		_, err := n.Cell(0)
		_, err2 := n.Replace(0, Code, "x")
		if want == "" && (err != nil || err2 != nil) || want != "" && (err == nil || err2 == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", text, err, err2)
		}
	}
	two := parse(t, `{"cells":[{"id":"a"},{"id":"a"},{"id":"b"}],"nbformat":4}`)
	if _, err := two.Find("a"); err == nil || !strings.Contains(err.Error(), `0 and 1 both have the id`) {
		t.Error(err)
	}
}

// members returns n members of an object, each after a comma.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":%d`, i, i)
	}
	return b.String()
}

// FuzzEdit: whatever the notebook, a change gives a notebook in which the other
// cells have their bytes.
func FuzzEdit(f *testing.F) {
	for _, text := range fixtures(f) {
		f.Add(text, 1, "a\nb", uint8(0))
	}
	f.Add(`{"cells":[ ] , "nbformat":4}`, 0, "x", uint8(1))
	f.Add(`{"nbformat":4,"nbformat_minor":5,"cells":[{"source":"","cell_type":"code"} ]}`, 0, "\x00", uint8(5))
	f.Fuzz(func(t *testing.T, text string, i int, source string, how uint8) {
		old, err := Parse(text)
		if err != nil || i < 0 || i > old.Len() {
			return
		}
		source = strings.ToValidUTF8(source, "")
		kind := []string{Code, Markdown, Raw}[how/3%3]
		before, after := i, i
		var n *Notebook
		switch {
		case how%3 == 0:
			before = -1
			n, err = old.Insert(i, kind, source)
		case i == old.Len():
			return
		case how%3 == 1:
			n, err = old.Replace(i, kind, source)
		default:
			after = -1
			n, err = old.Delete(i)
		}
		if err != nil {
			return
		}
		untouched(t, old, n, before, after)
		if after < 0 {
			return
		}
		if c, err := n.Cell(after); err != nil || c.Type != kind || c.Source != source {
			t.Fatalf("%+v, %v:\n%s", c, err, n)
		}
	})
}

func BenchmarkReplace(b *testing.B) {
	n := parse(b, standard)
	for range 200 {
		var err error
		if n, err = n.Insert(1, Code, strings.Repeat("x = 'a line of code'\n", 40)); err != nil {
			b.Fatal(err)
		}
	}
	text := n.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		n, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := n.Replace(100, Code, "y = 1\n"); err != nil {
			b.Fatal(err)
		}
	}
}

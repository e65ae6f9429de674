package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

const smallNotebook = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"intro\",\n   \"metadata\": {},\n   \"source\": [\n    \"# Title\"\n   ]\n  },\n" +
	"  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 2,\n   \"id\": \"run\",\n   \"metadata\": {},\n   \"outputs\": [\n    {\"name\": \"stdout\", \"output_type\": \"stream\", \"text\": [\"hi\"]}\n   ],\n   \"source\": [\n    \"a = 1\\n\",\n    \"print(a)\"\n   ]\n  }\n ],\n" +
	" \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"

func notebookChanged(t testing.TB, r *tool.Result) notebookChange {
	t.Helper()
	var c notebookChange
	if err := json.Unmarshal(r.Details, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNotebookEdit(t *testing.T) {
	d := newDesk(t)
	ne := NotebookEdit(d.files)
	tooltest.Check(t, ne)
	path := d.put("nb.ipynb", smallNotebook)
	replace := `{"file_path":"nb.ipynb","command":"replace","cell_id":"run","source":"a = 2\nprint(a)"}`
	d.fails(ne, replace, "has not been read in this session")
	d.ok(d.read, readInput{FilePath: "nb.ipynb"})

	call := tool.Call{Dir: d.dir, Input: json.RawMessage(replace)}
	preview := ne.(tool.Previewer).Preview(call)
	if class := toolrun.Classify(ne, call); class.ReadOnly || len(class.Access) != 1 || class.Access[0] != (permission.Access{Kind: permission.EditFile, Target: path}) || class.Touches[0] != path {
		t.Errorf("%+v", class)
	}
	r := d.do(ne, replace)
	c := notebookChanged(t, r)
	if r.IsError || r.Text() != "Replaced cell 1 (code, id run) of "+path+", which has 2 cells now. Its outputs are cleared." || r.Title != "Replaced cell 1 of nb.ipynb (+1 −1)" {
		t.Errorf("%q, %q", r.Title, r.Text())
	}
	if !strings.Contains(c.Diff, "-a = 1\n+a = 2\n print(a)") || c.Diff != preview || c.FilePath != path || c.Cell != 1 || c.CellID != "run" || c.CellType != "code" || c.Command != "replace" {
		t.Errorf("%+v", c)
	}
	want := strings.NewReplacer("a = 1", "a = 2", ": 2,", ": null,", "[\n    {\"name\": \"stdout\", \"output_type\": \"stream\", \"text\": [\"hi\"]}\n   ]", "[]").Replace(smallNotebook)
	if got := d.get("nb.ipynb"); got != want {
		t.Errorf("%s", got)
	}

	// After a cell, at a number, and clamped to the end; a written file counts as read.
	d.ok(ne, `{"file_path":"nb.ipynb","command":"insert","cell_id":"intro","cell_type":"markdown","source":"second"}`)
	d.ok(ne, `{"file_path":"nb.ipynb","command":"insert","cell_number":0,"source":"first"}`)
	r = d.do(ne, `{"file_path":"nb.ipynb","command":"insert","cell_number":99,"source":"last"}`)
	if c := notebookChanged(t, r); c.Cell != 4 || len(c.CellID) != 8 || c.CellType != "code" || c.Additions != 1 {
		t.Errorf("%+v", c)
	}
	shown := d.ok(d.read, readInput{FilePath: "nb.ipynb"})
	at := 0
	for _, part := range []string{"cell 1: code", "first", "cell 2: markdown, id intro", "# Title", "cell 3: markdown", "second", "cell 4: code, id run", "a = 2", "cell 5: code", "last"} {
		i := strings.Index(shown[at:], part)
		if i < 0 {
			t.Fatalf("%q is not in its place in %s", part, shown)
		}
		at += i
	}
	d.ok(ne, `{"file_path":"nb.ipynb","command":"replace","cell_number":0,"cell_type":"markdown"}`)
	for _, n := range []int{0, 1, 2} {
		d.ok(ne, fmt.Sprintf(`{"file_path":"nb.ipynb","command":"delete","cell_number":%d}`, 2-n))
	}
	if r = d.do(ne, `{"file_path":"nb.ipynb","command":"delete","cell_number":"1"}`); r.IsError || !strings.HasSuffix(r.Text(), "which has 1 cell now.") {
		t.Errorf("%s", r.Text())
	}
	if got := d.get("nb.ipynb"); !strings.Contains(got, `"id": "run"`) || strings.Contains(got, "last") {
		t.Errorf("%s", got)
	}
}

// TestNotebookEditFamiliar: inputs with the names of Claude Code's tool work.
func TestNotebookEditFamiliar(t *testing.T) {
	d := newDesk(t)
	ne := NotebookEdit(d.files)
	path := d.put("nb.ipynb", smallNotebook)
	d.ok(d.read, readInput{FilePath: "nb.ipynb"})
	call := tool.Call{Dir: d.dir, Input: json.RawMessage(`{"notebook_path":"nb.ipynb","cell_id":"run","new_source":"b"}`)}
	if class := toolrun.Classify(ne, call); len(class.Access) != 1 || class.Access[0].Target != path || !strings.Contains(ne.(tool.Previewer).Preview(call), "+b") {
		t.Errorf("%+v", class)
	}
	for _, c := range []struct{ in, want string }{
		{string(call.Input), "Replaced cell 1 (code, id run)"},
		{`{"notebook_path":"nb.ipynb","new_source":"x","edit_mode":"insert","cell_type":"code"}`, "Inserted cell 0 (code"},
		{`{"notebook_path":"nb.ipynb","new_source":"y","edit_mode":"insert","cell_type":"markdown","cell_id":"intro"}`, "Inserted cell 2 (markdown"},
		{`{"notebook_path":"nb.ipynb","new_source":"","edit_mode":"delete","cell_id":"intro"}`, "Deleted cell 1 (markdown, id intro)"},
	} {
		if got := d.ok(ne, c.in); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", c.in, got)
		}
	}
	d.fails(ne, `{"notebook_path":"nb.ipynb","file_path":"other","new_source":"x"}`, "notebook_path")
}

func TestNotebookEditRefuses(t *testing.T) {
	d := newDesk(t)
	ne := NotebookEdit(d.files)
	put := func(name, content string) {
		d.put(name, content)
		d.state[d.dir+"/"+name] = json.RawMessage(strings.TrimSuffix(strings.SplitN(string(sight("", []byte(content))), ":", 2)[1], "}"))
	}
	put("nb.ipynb", smallNotebook)
	put("old.ipynb", `{"nbformat":3,"worksheets":[]}`)
	put("bad.ipynb", "no JSON")
	put("bad16.ipynb", "\xfe\xff\x00a\xd8\x00")
	put("twice.ipynb", strings.Replace(smallNotebook, `"intro"`, `"run"`, 1))
	if err := os.Mkdir(d.dir+"/dir.ipynb", 0o755); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"file_path":"nb.ipynb","command":"replace","cell_number":2,"source":"x"}`:                               "there is no cell 2: the notebook has 2 cells, numbered from 0",
		`{"file_path":"nb.ipynb","command":"delete","cell_number":-1}`:                                            "there is no cell -1",
		`{"file_path":"nb.ipynb","command":"insert","cell_number":-1}`:                                            "there is no cell -1",
		`{"file_path":"nb.ipynb","command":"delete","cell_id":"none","cell_number":0}`:                            `no cell has the id "none"`,
		`{"file_path":"nb.ipynb","command":"delete"}`:                                                             "give cell_id or cell_number",
		`{"file_path":"nb.ipynb","command":"insert","source":"x"}`:                                                "give cell_id or cell_number",
		`{"file_path":"nb.ipynb","command":"replace","cell_number":0}`:                                            "would change nothing",
		`{"file_path":"nb.ipynb","command":"replace","cell_number":0,"source":"# Title"}`:                         "would change nothing",
		`{"file_path":"nb.ipynb","command":"move","cell_number":0}`:                                               "command",
		`{"file_path":"nb.ipynb","command":"insert","cell_number":0,"cell_type":"heading"}`:                       "cell_type",
		`{"command":"delete","cell_number":0}`:                                                                    "file_path",
		`{"file_path":"none.ipynb","command":"delete","cell_number":0}`:                                           "does not exist",
		`{"file_path":"dir.ipynb","command":"delete","cell_number":0}`:                                            "is a folder",
		`{"file_path":"../x.ipynb","command":"delete","cell_number":0}`:                                           "is outside the folders",
		`{"file_path":"old.ipynb","command":"delete","cell_number":0}`:                                            "not a notebook of nbformat 4",
		`{"file_path":"bad.ipynb","command":"delete","cell_number":0}`:                                            "not valid JSON",
		`{"file_path":"bad16.ipynb","command":"delete","cell_number":0}`:                                          "not well-formed UTF-16",
		`{"file_path":"twice.ipynb","command":"delete","cell_id":"run"}`:                                          "both have the id",
		`{"file_path":"nb.ipynb","command":"delete","cell_number":0,"cell_id":"` + strings.Repeat("x", 99) + `"}`: "no cell has the id",
	} {
		d.fails(ne, in, want)
		if got := ne.(tool.Previewer).Preview(tool.Call{Dir: d.dir, Input: json.RawMessage(in)}); got != "" {
			t.Errorf("%s: preview %q", in, got)
		}
	}
	if d.get("nb.ipynb") != smallNotebook || d.get("twice.ipynb") != strings.Replace(smallNotebook, `"intro"`, `"run"`, 1) {
		t.Error("changed all the same")
	}
}

// TestNotebookEditLarge: a huge notebook and a huge source.
func TestNotebookEditLarge(t *testing.T) {
	d := newDesk(t)
	ne := NotebookEdit(d.files)
	big := strings.Replace(smallNotebook, `["hi"]`, `["`+strings.Repeat("x", 2<<20)+`"]`, 1)
	d.put("nb.ipynb", big)
	d.ok(d.read, readInput{FilePath: "nb.ipynb"})
	source := strings.Repeat("a line of code\n", 20_000)
	in := map[string]any{"file_path": "nb.ipynb", "command": "replace", "cell_number": 0, "source": source}
	r := d.do(ne, in)
	if c := notebookChanged(t, r); r.IsError || !c.DiffCut || len(c.Diff) > maxDiff || c.Additions != 20_000 || len(r.Text()) > 1000 {
		t.Errorf("%.200s: %d bytes of diff", r.Text(), len(c.Diff))
	}
	if got := d.get("nb.ipynb"); len(got) < len(big)+len(source) || !strings.HasSuffix(got, big[strings.Index(big, "  {\n   \"cell_type\": \"code\""):]) {
		t.Error("the rest changed")
	}
}

// TestNotebookEditsTogether: of two edits made from the same reading one wins.
func TestNotebookEditsTogether(t *testing.T) {
	d := newDesk(t)
	ne := NotebookEdit(d.files)
	d.put("nb.ipynb", smallNotebook)
	d.ok(d.read, readInput{FilePath: "nb.ipynb"})
	state := toolapi.Details(d.state)
	results := make([]*tool.Result, 2)
	var wg sync.WaitGroup
	for i := range results {
		in := fmt.Sprintf(`{"file_path":"nb.ipynb","command":"insert","cell_number":%d,"source":"new"}`, i)
		wg.Go(func() {
			results[i] = tooltest.RunCall(t, ne, tool.Call{Dir: d.dir, State: state, Input: json.RawMessage(in)})
		})
	}
	wg.Wait()
	if results[0].IsError == results[1].IsError || strings.Count(d.get("nb.ipynb"), `"new"`) != 1 {
		t.Errorf("%s; %s", results[0].Text(), results[1].Text())
	}
}

func BenchmarkNotebookEdit(b *testing.B) {
	file := []byte(strings.Replace(smallNotebook, `["hi"]`, `["`+strings.Repeat("x", 1<<20)+`"]`, 1))
	number, source := 0, "other"
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := reviseNotebook("/nb.ipynb", file, notebookEditInput{Command: "replace", CellNumber: &number, Source: &source}); err != nil {
			b.Fatal(err)
		}
	}
}

package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// detailTypes are the types of the Details that programs may rely on.
var detailTypes = []struct {
	tools string
	zero  any
}{
	{"Bash, BashOutput, KillShell", bashDetails{}},
	{"Edit, MultiEdit, Write", fileChange{}},
	{"ApplyPatch", patchChange{}},
	{"NotebookEdit", notebookChange{}},
	{"Read, of a text", readDetails{}},
	{"Glob", globDetails{}},
	{"Grep", grepDetails{}},
	{"CodeSearch", codeSearchDetails{}},
	{"LSP", lspDetails{}},
	{"TodoWrite, TodoRead", todoList{}},
	{"Agent", agentDetails{}},
	{"ExitPlanMode", planDetails{}},
	{"WebFetch", pageDetails{}},
	{"WebSearch", searchDetails{}},
}

// TestDetailsDocs keeps the table of details in testdata/tools.md equal to the types.
func TestDetailsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| tool | members of `Details` |\n|---|---|\n")
	for _, d := range detailTypes {
		fmt.Fprintf(&b, "| %s | %s |\n", d.tools, strings.Join(members(reflect.TypeOf(d.zero)), ", "))
	}
	golden.Tables(t, "testdata/tools.md", map[string]string{"details": b.String()}, flag.Lookup("update").Value.String() == "true")
}

// members lists the members of a struct in JSON, those of an embedded one included.
func members(of reflect.Type) []string {
	var all []string
	for f := range of.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all = append(all, members(f.Type)...)
			continue
		case !f.IsExported() || name == "":
			continue
		}
		optional := ""
		if strings.Contains(option, "omit") {
			optional = "?"
		}
		word := "`" + name + "`" + optional
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			word += " (list: " + strings.Join(members(f.Type.Elem()), ", ") + ")"
		}
		all = append(all, word)
	}
	return all
}

// What tools return has the members of its type, and no others.
func TestDetailsContract(t *testing.T) {
	d := newDesk(t)
	c := newConsole(t)
	d.put("a.txt", "one\ntwo\n")
	of := func(name string) reflect.Type {
		for _, x := range detailTypes {
			if strings.Contains(", "+x.tools+",", ", "+name+",") {
				return reflect.TypeOf(x.zero)
			}
		}
		t.Fatalf("no type of the details of %s", name)
		return nil
	}
	check := func(name string, r *tool.Result) {
		t.Helper()
		into := reflect.New(of(name))
		dec := json.NewDecoder(bytes.NewReader(r.Details))
		dec.DisallowUnknownFields()
		if err := dec.Decode(into.Interface()); err != nil {
			t.Errorf("%s: details %s: %v", name, r.Details, err)
		}
		var has map[string]json.RawMessage
		if err := json.Unmarshal(r.Details, &has); err != nil {
			t.Errorf("%s: details %s: %v", name, r.Details, err)
		}
		for _, m := range members(of(name)) {
			word := strings.Trim(strings.Fields(m)[0], "`")
			if has[word] == nil && !strings.HasSuffix(m, "?") && !strings.Contains(m, "`?") {
				t.Errorf("%s: details %s have no %s", name, r.Details, word)
			}
		}
	}
	file := filepath.Join(d.dir, "a.txt")
	check("Read, of a text", d.do(d.read, readInput{FilePath: file}))
	check("Edit", d.do(d.edit, map[string]any{"file_path": file, "old_string": "one", "new_string": "1"}))
	check("MultiEdit", d.do(MultiEdit(d.files), map[string]any{"file_path": file, "edits": []any{map[string]any{"old_string": "two", "new_string": "2"}}}))
	check("Write", d.do(d.write, map[string]any{"file_path": filepath.Join(d.dir, "b.txt"), "content": "x\n"}))
	check("ApplyPatch", d.do(ApplyPatch(d.files), body("*** Add File: c.txt", "+x")))
	check("Glob", d.do(Glob(d.files), map[string]any{"pattern": "*.txt"}))
	check("Grep", d.do(Grep(d.files), map[string]any{"pattern": "x"}))
	check("CodeSearch", d.do(codeSearchTool(d.files), map[string]any{"query": "x"}))
	check("TodoWrite", tooltest.Run(t, TodoWrite(), `{"todos":[{"content":"a","status":"pending"}]}`))
	check("TodoRead", tooltest.Run(t, newTodoRead(), `{}`))
	check("Agent", tooltest.Run(t, newAgent(newFakeSpawner()), `{"prompt":"x","description":"y"}`))
	r, _ := c.bash(t, "echo hi; exit 3")
	check("Bash", r)
	var status struct{ ExitCode *int }
	if err := json.Unmarshal(r.Details, &status); err != nil || status.ExitCode == nil || *status.ExitCode != 3 {
		t.Errorf("details %s", r.Details)
	}
	started, job := c.call(t.Context(), t, "Bash", map[string]any{"command": "sleep 1000", "run_in_background": true})
	check("Bash", started)
	r, _ = c.call(t.Context(), t, "BashOutput", map[string]any{"bash_id": job.ShellID})
	check("BashOutput", r)
	r, _ = c.call(t.Context(), t, "KillShell", map[string]any{"shell_id": job.ShellID})
	check("KillShell", r)
}

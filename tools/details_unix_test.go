//go:build unix

package tools

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

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

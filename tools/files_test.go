package tools

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

// A desk is a workspace with the tools for files, and the state that their
// session would keep.
type desk struct {
	testing.TB
	dir               string
	files             *workspace.Workspace
	read, write, edit tool.Tool
	state             map[string]json.RawMessage
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: dir}
	return &desk{TB: t, dir: dir, files: ws, read: Read(ws), write: Write(ws), edit: Edit(ws), state: map[string]json.RawMessage{}}
}

// put writes a file behind the tools' back.
func (d *desk) put(name, content string) string {
	d.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		d.Fatal(err)
	}
	return path
}

func (d *desk) get(name string) string {
	d.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return string(data)
}

// do runs a tool in the session.
func (d *desk) do(tl tool.Tool, in any) *tool.Result {
	d.Helper()
	call := tool.Call{Input: tooltest.Input(d, in), Dir: d.dir}
	if len(d.state) > 0 {
		call.State, _ = json.Marshal(d.state)
	}
	r := tooltest.RunCall(d, tl, call)
	var patch map[string]json.RawMessage
	if r.Patch.State != nil {
		if err := json.Unmarshal(r.Patch.State, &patch); err != nil {
			d.Fatal(err)
		}
	}
	maps.Copy(d.state, patch)
	return r
}

// ok runs a tool that must succeed and returns its text.
func (d *desk) ok(tl tool.Tool, in any) string {
	d.Helper()
	r := d.do(tl, in)
	if r.IsError {
		d.Fatalf("%s: %s", tl.Spec().Name, r.Text())
	}
	return r.Text()
}

// fails runs a tool that must answer with an error that holds want.
func (d *desk) fails(tl tool.Tool, in any, want string) {
	d.Helper()
	r := d.do(tl, in)
	if !r.IsError || !strings.Contains(r.Text(), want) {
		d.Errorf("%s: got %q, want an error with %q", tl.Spec().Name, r.Text(), want)
	}
	if r.Patch.State != nil {
		d.Errorf("%s: a failure counts as reading", tl.Spec().Name)
	}
}

func changeOf(t testing.TB, r *tool.Result) fileChange {
	t.Helper()
	var c fileChange
	if err := json.Unmarshal(r.Details, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCore(t *testing.T) {
	ws := &workspace.Workspace{Root: t.TempDir()}
	defer ws.Close()
	var names []string
	for _, tl := range Core(ws) {
		if err := tl.Spec().Check(); err != nil {
			t.Error(err)
		}
		names = append(names, tl.Spec().Name)
	}
	if got := strings.Join(names, " "); got != "Read Write Edit ApplyPatch Glob Grep Bash BashOutput KillShell AskUser ToolSearch WebFetch WebSearch" {
		t.Errorf("got %s", got)
	}
}

func TestContract(t *testing.T) {
	d := newDesk(t)
	for _, tl := range []tool.Tool{d.read, d.write, d.edit} {
		tooltest.Check(t, tl)
	}
}

package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// Marks are in files whose contents must be in no result.
const (
	hiddenMark  = "MARK-OF-THE-HIDDEN-FILE"
	outsideMark = "MARK-OF-THE-OUTSIDE-FILE"
)

// fileTools are the tools that work on real files.
var fileTools = []string{"Read", "Read", "Read", "Edit", "Write", "Grep", "Grep", "Glob"}

// filePaths are how the model names files. Rules deny to read those below hidden and to change
// those below locked, and the workspace has nothing outside. ROOT stands for the folder.
var filePaths = []string{"open/a.txt", "open/a.txt", "open/a.txt", "open/b.txt", "./open/../open/a.txt", ".", "open",
	"hidden/k.txt", "hidden", "open/../hidden/k.txt", "hidden//k.txt", "ROOT/hidden/k.txt", "open/link.txt", "open/folder/k.txt", "open/folder", "open/folder/../hidden/k.txt",
	"locked/c.txt", "ROOT/open/../locked/c.txt", "open/lockedlink.txt", "../outside.txt", "open/outsidelink.txt", "ROOT/../outside.txt"}

// filesTop is the folder of the files. Its name is the same in all runs of a process.
var filesTop = sync.OnceValues(func() (string, error) {
	name, err := os.MkdirTemp("/dev/shm", "sim-files")
	if err != nil {
		name, err = os.MkdirTemp("", "sim-files")
	}
	if err == nil {
		name, err = filepath.EvalSymlinks(name)
	}
	return name, err
})

// files gives an agent the tools for files.
func files(w *world, l *life, a *agent.Agent) {
	if w.filesRoot == "" {
		w.makeFiles()
	}
	ws := &workspace.Workspace{Root: w.filesRoot, OutputDir: filepath.Join(filepath.Dir(w.filesRoot), "out")}
	l.closers = append(l.closers, ws.Close)
	a.Dir = w.filesRoot
	a.Tools = append(a.Tools, tools.Read(ws), tools.Edit(ws), tools.Write(ws), tools.Grep(ws), tools.Glob(ws))
	a.Permissions.Deny = append(a.Permissions.Deny, "Read(/hidden/**)", "Edit(/locked/**)")
}

var fileContents = map[string]string{
	"w/open/a.txt":   "the first line\npassword " + secret + "\nthe last line\n",
	"w/open/b.txt":   "another file\n",
	"w/hidden/k.txt": "the line of " + hiddenMark + "\n",
	"w/locked/c.txt": "the line that stays\n",
	"outside.txt":    "the line of " + outsideMark + "\n",
}

// makeFiles makes the files of a run.
func (w *world) makeFiles() {
	top, err := filesTop()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = os.RemoveAll(top) })
	w.filesRoot = filepath.Join(top, "w")
	try := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	try(os.RemoveAll(top))
	for i, name := range sorted(fileContents) {
		path := filepath.Join(top, name)
		try(os.MkdirAll(filepath.Dir(path), 0o700))
		try(os.WriteFile(path, []byte(fileContents[name]), 0o600))
		at := time.Date(2000, 1, 1, i, 0, 0, 0, time.UTC) // searches sort by it
		try(os.Chtimes(path, at, at))
	}
	for name, to := range map[string]string{"link.txt": "../hidden/k.txt", "folder": "../hidden", "lockedlink.txt": "../locked/c.txt", "outsidelink.txt": "../../outside.txt"} {
		try(os.Symlink(to, filepath.Join(w.filesRoot, "open", name)))
	}
}

// checkFiles checks that the files have not changed that nobody may change.
func (w *world) checkFiles() {
	if w.filesRoot == "" {
		return
	}
	for _, name := range sorted(fileContents) {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(w.filesRoot), name))
		changed := err != nil || string(data) != fileContents[name]
		if changed && name == "w/open/a.txt" {
			w.meet("file changed")
			if w.Mode == permission.DontAsk && !w.modesChange() {
				w.wrong("permission", "%s was changed in mode dontAsk", name)
			}
		} else if changed && name != "w/open/b.txt" && name != "w/hidden/k.txt" {
			w.wrong("permission", "%s was changed: %q, %v", name, data, err)
		}
	}
}

// checkMarks checks that what nobody may read is in no fact and no request.
func (w *world) checkMarks(where string, data []byte) {
	for _, mark := range []string{hiddenMark, outsideMark} {
		if bytes.Contains(data, []byte(mark)) {
			w.wrong("permission", "%s holds %s: %s", where, mark, data)
		}
	}
}

// seesFile notes what a fact says of a call of a tool for files.
func (w *world) seesFile(p string, j *journal, e event.Event) {
	switch d := e.Data.(type) {
	case event.ToolStart:
		if name := j.names[d.Call]; d.Mode == permission.Plan && (name == "Edit" || name == "Write") {
			w.wrong("permission", "%s starts call %s of %s in plan mode", p, d.Call, name)
		}
	case event.ToolResult:
		if slices.Contains(fileTools, j.names[d.Call]) {
			w.meet("file tool")
		}
	}
}

// fileInput returns the input of a call of a tool for files.
func (w *world) fileInput(c Call, tag string) any {
	path := strings.ReplaceAll(c.Target, "ROOT", w.filesRoot)
	switch c.Tool {
	case "Edit":
		return map[string]any{"file_path": path, "old_string": "line", "new_string": "line of " + tag, "replace_all": true}
	case "Write":
		return map[string]any{"file_path": path, "content": "the line of " + tag + "\n"}
	case "Grep":
		return map[string]any{"pattern": "line|password", "path": path, "output_mode": "content", "-C": 1}
	case "Glob":
		return map[string]any{"pattern": "**/*.txt", "path": path}
	}
	return map[string]any{"file_path": path}
}

func fileCall(g *gen, _ int) Call {
	return Call{Tool: pick(g, fileTools...), Target: pick(g, filePaths...)}
}

// filePrompt is a prompt that is all about files.
func filePrompt(g *gen) Op {
	g.prompts++
	p := Prompt{Session: g.IntN(3), Name: fmt.Sprint("p", g.prompts), Turns: []Turn{{Calls: []Call{{Tool: "Read", Target: "open/a.txt"}}}}}
	for range 1 + g.IntN(4) {
		c := fileCall(g, 0)
		if g.one(2) {
			c.Target = "open/a.txt"
		}
		p.Turns = append(p.Turns, Turn{Calls: []Call{c}})
	}
	return p
}

package tools

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

func TestUnchanged(t *testing.T) {
	for err, want := range map[string]string{
		"It is gone":             "It is gone. Nothing was changed.",
		"Copy it from there.":    "Copy it from there. Nothing was changed.",
		"Near:\n  3: x := a(b).": "Near:\n  3: x := a(b).\nNothing was changed.",
	} {
		if got := unchanged(errors.New(err)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A count of one uses the singular.
func TestOneOfAThing(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	notebook := `{"cells":[{"cell_type":"code","source":"x","metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":4}`
	if err := os.WriteFile(filepath.Join(dir, "n.ipynb"), []byte(notebook), 0o644); err != nil {
		t.Fatal(err)
	}
	r := tooltest.Run(t, Write(ws), map[string]any{"file_path": "a.txt", "content": "a"})
	if !strings.Contains(r.Text(), "(1 line, 1 byte)") {
		t.Errorf("got %q", r.Text())
	}
	if r = tooltest.Run(t, Read(ws), map[string]any{"file_path": "a.txt"}); !strings.Contains(r.Title, "(1 line)") {
		t.Errorf("got %q", r.Title)
	}
	if r = tooltest.Run(t, Read(ws), map[string]any{"file_path": "n.ipynb"}); !strings.HasPrefix(r.Text(), "Notebook with 1 cell.\n") {
		t.Errorf("got %q", r.Text())
	}
	if r = tooltest.Run(t, Read(ws), map[string]any{"file_path": "a.txt", "offset": 5}); !strings.Contains(r.Text(), "has 1 line:") {
		t.Errorf("got %q", r.Text())
	}
	if r = tooltest.Run(t, TaskList(stored(newOffice(t).store)), nil); r.Title != "0 tasks" {
		t.Errorf("got %q", r.Title)
	}
	if r = tooltest.Run(t, newConfig(&toolapi.SettingsFile{Settings: []toolapi.Setting{{Key: "a"}}}), `{"action":"list"}`); r.Title != "1 setting" {
		t.Errorf("got %q", r.Title)
	}
}

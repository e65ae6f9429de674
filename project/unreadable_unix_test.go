//go:build unix

package project

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent"
)

// A pipe in the place of a file of instructions is told about, unless the file is hidden.
func TestPipeInPlaceOfInstructions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "CLAUDE.local.md"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := new(Notes).Load(agent.Place{Dir: dir})
	if len(files) != 3 {
		t.Fatalf("%+v", files)
	}
	for i, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		f := files[i]
		if filepath.Base(f.Path) != name || f.Problem == nil || f.Text != "" || !strings.Contains(f.noteText(), "is not included") || !strings.Contains(f.noteText(), "it is a pipe") {
			t.Errorf("%+v, note %q", f, f.noteText())
		}
	}
	if files[2].Problem != nil || files[0].sum() == files[1].sum() {
		t.Errorf("%+v", files)
	}
	hidden := new(Notes).Load(agent.Place{Dir: dir, Hides: func(path string) bool { return strings.HasSuffix(path, "AGENTS.md") }})
	if len(hidden) != 2 || filepath.Base(hidden[0].Path) != "CLAUDE.md" {
		t.Errorf("%+v", hidden)
	}
}

//go:build unix

package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A line that needs bash does not run where there is only sh.
func TestNoBash(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	bin := t.TempDir()
	if err := os.Symlink(sh, filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	ws := &Workspace{Root: t.TempDir()}
	defer ws.Close()
	if _, err := ws.Run(t.Context(), CommandLine{Session: "s", Command: "[[ a > b ]]", Bash: true}); !errors.Is(err, errNoBash) {
		t.Errorf("it ran in sh: %v", err)
	}
	if _, _, err := ws.StartJob(t.Context(), CommandLine{Session: "s", Command: "[[ a > b ]]", Bash: true}); !errors.Is(err, errNoBash) {
		t.Errorf("it ran in sh in the background: %v", err)
	}
	if o, err := ws.Run(t.Context(), CommandLine{Session: "s", Command: "echo a"}); err != nil || o.Text != "a\n" {
		t.Errorf("%+v %v", o, err)
	}
}

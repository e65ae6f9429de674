package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/fact"
)

// A run without a folder of its own is where the program is at that moment, by the
// name without symlinks.
func TestWorkingDirectory(t *testing.T) {
	a := &agent.Agent{Model: &caller{1}}
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{link: real, real: real, other: other} {
		t.Chdir(to)
		for e, err := range a.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := e.Data.(fact.Configured); ok && c.Dir != want {
				t.Errorf("in %s: %s, not %s", to, c.Dir, want)
			}
		}
	}
}

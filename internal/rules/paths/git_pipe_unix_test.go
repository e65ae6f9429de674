//go:build unix

package paths

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe in the place of a file of git is not waited for.
func TestGitPipes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"index", "config", "HEAD"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !mayHaveModules(dir) {
		t.Error("an index that cannot be read has no submodules")
	}
	for _, name := range []string{"config", "HEAD"} {
		if text, ok := readSmall(filepath.Join(dir, name)); ok {
			t.Errorf("%s holds %q", name, text)
		}
	}
}

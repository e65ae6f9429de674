// Package permtest holds what tests of several packages of permission need.
package permtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Tree makes a folder with links that lead in and out of it.
func Tree(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "w")
	for _, d := range []string{"w/src/deep", "w/secret", "w/.git", "out"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"w/a.txt", "w/b.txt", "w/src/main.go", "w/secret/key", "w/.env", "out/data"} {
		if err := os.WriteFile(filepath.Join(base, f), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"w/leak": "../out/data", "w/away": "../out", "w/in": "src", "w/self": "self"} {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
		if got, err := os.Readlink(filepath.Join(base, name)); err != nil || filepath.ToSlash(got) != to {
			t.Skip("no symbolic links here: ", got, err)
		}
	}
	return dir
}

// NeedBash skips a test where there is no bash to compare with.
func NeedBash(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		tb.Skip("no bash to compare with")
	}
}

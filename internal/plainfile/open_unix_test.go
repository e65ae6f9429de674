//go:build unix

package plainfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Named pipes, folders and, for what is added to, links are refused at once.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"pipe", "", "none"} {
		if f, err := Open(in(name)); err == nil {
			f.Close()
			t.Errorf("%q was opened", name)
		}
	}
	if err := os.WriteFile(in("file"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "file", "dangling": "made"} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe", "", "link", "dangling"} {
		if f, err := Append(in(name)); err == nil {
			f.Close()
			t.Errorf("%q is added to", name)
		}
	}
	if _, err := os.Lstat(in("made")); err == nil {
		t.Error("a link's target was made")
	}
	for _, name := range []string{"file", "new"} {
		f, err := Append(in(name))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if info, err := os.Stat(in(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	f, err := Open(in("link"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

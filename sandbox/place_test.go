package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A path that a confined command has replaced by a symlink is not one that the user allowed
// to write.
func TestWritablePathsDoNotLeadOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, link := range []string{"build", "deep"} {
		if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "within")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		allow []string
		roots []string
		wrong string // in the error, "" for none
	}{
		{allow: []string{"build"}, wrong: "build"},
		{allow: []string{"deep/new/folder"}, wrong: "deep"},
		{allow: []string{filepath.Join(dir, "build")}, wrong: "build"},
		{roots: []string{filepath.Join(dir, "build")}, wrong: "build"},
		{allow: []string{"real"}},
		{allow: []string{"within"}},
		{allow: []string{outside}},
		{allow: []string{"build", outside}},
	} {
		_, err := Settings{Filesystem: Filesystem{AllowWrite: c.allow}}.At(Place{Dir: dir, Roots: c.roots})
		if (err != nil) != (c.wrong != "") || err != nil && (!strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), "symlink")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

package walk

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFolder(t *testing.T) {
	deep := strings.Repeat("d/", 40)
	dir := plant(t, map[string]string{"a": "at the top", "b/c": "below", "b/d/e": "further", "bb/c": "another", deep + "f": "deep", strings.Repeat("d/", 20) + "f": "half", "empty": ""})
	at, err := OpenFolder(open(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	for _, tt := range []struct{ folder, file, want string }{
		{"", "a", "at the top"}, {"b", "c", "below"}, {"b/d", "e", "further"}, {"b", "c", "below"}, {"bb", "c", "another"}, {"", "empty", ""},
		{deep[:len(deep)-1], "f", "deep"}, {strings.TrimSuffix(strings.Repeat("d/", 20), "/"), "f", "half"}, {deep[:len(deep)-1], "f", "deep"}, {"", "a", "at the top"},
	} {
		if err := at.Go(tt.folder); err != nil {
			t.Fatal(err)
		}
		f, err := at.Open(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(data) != tt.want {
			t.Errorf("%s of %s: %q, %v", tt.file, tt.folder, data, err)
		}
	}
	for _, folder := range []string{"none", "a", "b/none", "../" + filepath.Base(dir)} {
		if err := at.Go(folder); err == nil {
			t.Errorf("%s was entered", folder)
		}
	}
	if err := at.Go("b"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d", "none", "..", "../a"} {
		if f, err := at.Open(name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

// Names may become links between the walk that finds them and their opening.
func TestFolderLinks(t *testing.T) {
	dir := plant(t, map[string]string{"in/a": "", "out/secret": "secret", "out/d/secret": "secret"})
	in := filepath.Join(dir, "in")
	for link, to := range map[string]string{"file": "../out/secret", "folder": "../out", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(in, link)); err != nil {
			t.Skip("no symlinks here:", err)
		}
	}
	at, err := OpenFolder(open(t, in))
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	if f, err := at.Open("file"); err == nil {
		f.Close()
		t.Error("a link to a file was followed")
	}
	for _, folder := range []string{"folder", "folder/d", "up/out"} {
		if err := at.Go(folder); err == nil {
			t.Errorf("%s was entered", folder)
		}
	}
}

// A Folder holds few descriptors, however deep the tree.
func TestFolderHolds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this counts descriptors in /proc")
	}
	path := strings.TrimSuffix(strings.Repeat("d/", 100), "/")
	root := open(t, plant(t, map[string]string{path + "/f": ""}))
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := count()
	at, err := OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Go(path); err != nil {
		t.Fatal(err)
	}
	if n := count() - before; n < 2 || n > 30 {
		t.Errorf("%d more descriptors at the bottom", n)
	}
	if err := at.Go("d/d"); err != nil {
		t.Fatal(err)
	}
	if n := count() - before; n > 3 {
		t.Errorf("%d more descriptors near the top", n)
	}
	if at.Close(); count() != before {
		t.Errorf("%d more descriptors at the end", count()-before)
	}
}

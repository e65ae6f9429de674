//go:build unix

package plainfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file that is not regular is refused at once, with an error that names its kind, and so
// is a file without an end.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/dev/zero", in("device")); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"sparse": 1 << 30, "large": 11, "fits": 10} {
		if err := os.WriteFile(in(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(in(name), size); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"pipe": "it is a pipe, not a regular file; put a file", "device": "it is a device", "": "it is a folder",
		"sparse": "it is larger than 10 bytes; make it smaller", "large": "it is larger than 10 bytes", "none": "no such file",
	} {
		if data, err := ReadFile(in(name), 10); err == nil || data != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), in(name)) {
			t.Errorf("%q: %d bytes, %v", name, len(data), err)
		}
	}
	if data, err := ReadFile(in("fits"), 10); err != nil || len(data) != 10 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"pipe", "device", "fits", "none"} {
		if f, err := OpenFolder(in(name)); err == nil {
			f.Close()
			t.Errorf("%q was opened as a folder", name)
		}
		if f, err := OpenFolderIn(root, name); err == nil {
			f.Close()
			t.Errorf("%q was opened as a folder of the root", name)
		}
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

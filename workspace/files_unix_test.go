//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSpecialFilesAreRefused(t *testing.T) {
	dir := layout(t, map[string]string{"null": "->/dev/null"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skipf("no socket here: %v", err)
	}
	defer l.Close()
	w := &Workspace{Root: dir, Dirs: []string{"/dev"}}
	for name, want := range map[string]string{"pipe": "named pipe", "s": "socket", "null": "device", "/dev/zero": "device"} {
		if f, err := w.Open(t.Context(), "", name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, %v", name, f, err)
		}
		if os.Getuid() == 0 && want == "device" {
			continue // without the check, the rest would replace the machine's own devices
		}
		if err := w.WriteFile(t.Context(), "", name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("WriteFile(%s): %v", name, err)
		}
		if root, _, err := w.openRoot("", name); err == nil { // a pipe's writer is not waited for
			t.Errorf("OpenRoot(%s) = %v", name, root.Name())
		}
	}
}

func TestReadOnlyFileStays(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write to every file")
	}
	dir := layout(t, map[string]string{"ro": "x"})
	if err := os.Chmod(filepath.Join(dir, "ro"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := (&Workspace{Root: dir}).WriteFile(t.Context(), "", "ro", []byte("y")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func TestNewFilesObeyTheUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	dir := layout(t, nil)
	if err := (&Workspace{Root: dir}).WriteFile(t.Context(), "", "d/f", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"d": 0o750, "d/f": 0o640} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

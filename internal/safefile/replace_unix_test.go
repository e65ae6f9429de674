//go:build unix

package safefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func mode(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// The mode of the new file is the one asked for, whatever the umask and the old file say.
func TestReplaceMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o277))
	name := filepath.Join(t.TempDir(), "file")
	for _, want := range []fs.FileMode{0, 0o644, 0o640, 0} {
		if err := (Replacement{Mode: want}).Bytes(name, nil); err != nil {
			t.Fatal(err)
		}
		if want == 0 {
			want = 0o600
		}
		if got := mode(t, name); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// A link is replaced, and its target stays as it is. A link in the place of the temporary
// file is not written through.
func TestReplaceLink(t *testing.T) {
	dir := t.TempDir()
	name, target := filepath.Join(dir, "file"), filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{name, name + ".tmp"} {
		if err := os.Symlink("target", link); err != nil {
			t.Fatal(err)
		}
	}
	if err := (Replacement{Temp: "file.tmp"}).Bytes(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if read(t, name) != "new" || read(t, target) != "old" || !mode(t, name).IsRegular() {
		t.Errorf("%q, %q, %v", read(t, name), read(t, target), mode(t, name))
	}
}

// Open makes private what it can write to, and nothing else.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag int
		want fs.FileMode
	}{{os.O_RDONLY, 0o644}, {os.O_RDWR, 0o600}} {
		f, err := Open(name, c.flag)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got := mode(t, name); got != c.want {
			t.Errorf("opened with %x: %v, want %v", c.flag, got, c.want)
		}
	}
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, bad := range []string{link, pipe, dir} {
		if f, err := Open(bad, os.O_RDONLY); err == nil {
			f.Close()
			t.Errorf("%s was opened", bad)
		}
	}
}

// A folder is synced, a pipe in its place is not waited for, and one that may not be
// read is left to the system.
func TestSyncFolderRefusals(t *testing.T) {
	dir := t.TempDir()
	if err := SyncFolder(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that does not exist was synced")
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := SyncFolder(pipe); err == nil {
		t.Error("a pipe was synced")
	}
	if os.Geteuid() == 0 {
		t.Skip("root may read every folder")
	}
	if err := os.Chmod(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if err := SyncFolder(dir); err != nil {
		t.Error(err)
	}
}

// Only errors that say "this file system does not do that" are passed over.
func TestUnsyncable(t *testing.T) {
	for err, want := range map[syscall.Errno]bool{
		syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EIO: false, syscall.ENOSPC: false, syscall.EBADF: false,
	} {
		if got := unsyncable(&fs.PathError{Op: "sync", Err: err}); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

//go:build unix

package safefile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An opening with OpenFlags follows no link and waits for no pipe.
func TestOpenFlags(t *testing.T) {
	dir := t.TempDir()
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.Symlink("elsewhere", link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if f, err := os.OpenFile(link, os.O_RDWR|os.O_CREATE|OpenFlags, 0o600); err == nil {
		f.Close()
		t.Error("a link was followed")
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("a file was made behind a link")
	}
	f, err := os.OpenFile(pipe, os.O_RDONLY|OpenFlags, 0) // it would wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

//go:build unix

package plainfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe is refused at once: it may never get a writer.
func TestReadPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, _, err := Read(root, "pipe", 10); err == nil {
		t.Error("a pipe was read")
	}
}

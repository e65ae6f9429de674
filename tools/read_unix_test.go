//go:build unix

package tools

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadPipe would hang if the pipe were opened as a file.
func TestReadPipe(t *testing.T) {
	d := newDesk(t)
	if err := syscall.Mkfifo(filepath.Join(d.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.fails(d.read, readInput{FilePath: "pipe"}, "named pipe")
	d.fails(d.write, writeInput{FilePath: "pipe"}, "named pipe")
}

//go:build unix

package attach_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/attach"
)

// Opening a named pipe does not wait for a writer.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := attach.File(name); err == nil {
		t.Error("a pipe was read")
	}
}

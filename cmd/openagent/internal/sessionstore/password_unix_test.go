//go:build unix

package sessionstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// TestPasswordFile: a file with passwords that others can read is refused, as psql does.
func TestPasswordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(path, []byte("host:1:db:me:hidden-word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"PGPASSFILE": path}
	h := &cli.IO{Getenv: func(name string) string { return vars[name] }}
	if err := checkPasswordFile(h); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := checkPasswordFile(h); err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), "hidden-word") {
		t.Errorf("a file that the group can read: %v", err)
	}
	vars["PGPASSWORD"] = "given"
	if err := checkPasswordFile(h); err != nil {
		t.Errorf("the file is not used: %v", err)
	}
}

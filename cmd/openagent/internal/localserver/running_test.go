package localserver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// Only servers that run are found, those of the folder first. What a killed server has left behind is
// no server, and the next start removes it.
func TestRunning(t *testing.T) {
	home := t.TempDir()
	h := &cli.IO{Getenv: func(name string) string { return map[string]string{"OPENAGENT_HOME": home, "HOME": home}[name] }}
	check := func(want string) {
		t.Helper()
		if got, err := Running(h, "/here"); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
	check("[]")
	a, err := Announce(h, Server{"http://127.0.0.1:1", "/there"})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(home, "serve", "running")
	left := filepath.Join(folder, "0.json")
	if err := os.WriteFile(left, []byte(`{"address":"http://127.0.0.1:2","dir":"/here"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	check("[{http://127.0.0.1:1 /there}]")
	sweep(folder)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file of the killed server is there: %v", err)
	}
	check("[{http://127.0.0.1:1 /there}]")
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	check("[]")
	a, err = Announce(h, Server{"http://127.0.0.1:1", "/there"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(a.file.Name()); err != nil { // as another server does on Windows, once the lock is free
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

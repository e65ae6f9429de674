// Package outside builds programs outside the modules of this checkout, as a user does.
// There, Go refuses every import of an internal package. For tests.
package outside

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const library = "github.com/openagent-go/agent"

// Module returns a new folder with a module that uses the library of this checkout, in
// the versions of this checkout.
func Module(t testing.TB) string {
	t.Helper()
	root := checkout(t)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod = bytes.Replace(mod, []byte("module "+library+"\n"), []byte("module example.com/outside\n\nrequire "+library+" v0.0.0\n\nreplace "+library+" => "+filepath.ToSlash(root)+"\n"), 1)
	dir := t.TempDir()
	Write(t, filepath.Join(dir, "go.mod"), mod)
	Write(t, filepath.Join(dir, "go.sum"), sum)
	return dir
}

// checkout returns the folder of the library, which the test runs in or below.
func checkout(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.HasPrefix(mod, []byte("module "+library+"\n")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside of the checkout")
		}
		dir = filepath.Dir(dir)
	}
}

// Write writes a file and makes the folders that it needs.
func Write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Go runs the go command in a folder, without a network.
func Go(t testing.TB, dir, command string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{command, "-mod=mod"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", command, err, out)
	}
}

// Command builds the command of this checkout.
func Command(t testing.TB, program string) {
	t.Helper()
	root := checkout(t)
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "./cmd/openagent") // links faster
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"), "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxSize is the target of docs/performance.md for the minimal program, in bytes.
const maxSize = 10_000_000

// The program stays below its target. If it does not, compare the symbols of this commit and
// of an earlier one: go tool nm -size -sort size. docs/performance.md says more.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command: ", err)
	}
	program := filepath.Join(t.TempDir(), "minimal")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the minimal program: %v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxSize {
		t.Errorf("the minimal program has %d bytes, want at most %d", info.Size(), maxSize)
	}
}

// Package examples holds programs that show the library. Each runs without a
// key; with ANTHROPIC_API_KEY set it asks a real model.
package examples

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/internal/outside"
)

var update = flag.Bool("update", false, "write what the examples print into testdata")

// TestExamples builds copies of the examples outside the module, and runs them.
func TestExamples(t *testing.T) {
	dirs, err := filepath.Glob("[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no examples", err)
	}
	bin := build(t, dirs)
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			path := os.Getenv("PATH")
			if dir == "12-lsp" {
				path = withGopls(t, path)
			}
			play(t, filepath.Join(bin, dir), dir, path)
		})
	}
	t.Run("12-lsp without a server", func(t *testing.T) {
		t.Parallel()
		play(t, filepath.Join(bin, "12-lsp"), "12-lsp-search", "")
	})
}

// build builds the examples in a module of their own. It returns the folder of the programs.
func build(t *testing.T, dirs []string) string {
	t.Helper()
	module, bin := outside.Module(t), t.TempDir()
	args := []string{"-ldflags", "-s -w", "-o", bin}
	for _, dir := range dirs {
		if err := os.CopyFS(filepath.Join(module, dir), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		args = append(args, "./"+dir)
	}
	outside.Go(t, module, "build", args...)
	outside.Go(t, module, "vet", "./08-test-your-agent") // it has a test
	return bin
}

// withGopls returns a PATH on which gopls is.
func withGopls(t *testing.T, path string) string {
	t.Helper()
	return path + string(os.PathListSeparator) + filepath.Dir(installed.Server(t, "bin/gopls", "gopls"))
}

// play runs an example and compares what it prints with testdata.
func play(t *testing.T, program, golden, path string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC_") })
	cmd.Env = append(cmd.Env, "PATH="+path)
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	file := filepath.Join("testdata", golden+".txt")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("prints:\n%s(-update accepts it; %v)", got, err)
	}
}

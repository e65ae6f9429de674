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
)

var update = flag.Bool("update", false, "write what the examples print into testdata")

func TestExamples(t *testing.T) {
	dirs, err := filepath.Glob("[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no examples", err)
	}
	bin := t.TempDir()
	args := []string{"build", "-o", bin}
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(filepath.Join(bin, dir))
			cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC_") })
			got, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			file := filepath.Join("testdata", dir+".txt")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || string(got) != string(want) {
				t.Errorf("prints:\n%s(-update accepts it; %v)", got, err)
			}
		})
	}
}

package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/outside"
)

// TestReadme builds the programs in README.md outside the module, as they are in readme/,
// and runs the one that needs no key.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(page)
	for _, path := range []string{"readme/main.go", "readme/script/main.go"} {
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var block string
		if block, rest = fenced(rest, "go"); block != string(program) {
			t.Errorf("README.md shows\n%s\nnot examples/%s", block, path)
		}
	}
	prints, after := fenced(rest, "text")
	if strings.Contains(after, "```go") {
		t.Error("README.md has a third program that nothing compiles")
	}
	module, bin := outside.Module(t), filepath.Join(t.TempDir(), "program")
	if err := os.CopyFS(filepath.Join(module, "readme"), os.DirFS("readme")); err != nil {
		t.Fatal(err)
	}
	outside.Go(t, module, "vet", "./...")
	outside.Go(t, module, "build", "-o", bin, "./readme/script")
	if out, err := exec.Command(bin).CombinedOutput(); err != nil || string(out) != prints {
		t.Errorf("README.md shows\n%sthe program prints\n%s(%v)", prints, out, err)
	}
}

// fenced returns the first fenced block of a language, and the text after it.
func fenced(text, lang string) (block, rest string) {
	_, text, _ = strings.Cut(text, "```"+lang+"\n")
	block, rest, _ = strings.Cut(text, "```\n")
	return block, rest
}

// TestIndex checks that README.md of this folder lists every example.
func TestIndex(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob("[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no examples", err)
	}
	for _, dir := range dirs {
		if !strings.Contains(string(page), "]("+dir+"/") {
			t.Errorf("README.md does not list %s", dir)
		}
	}
}

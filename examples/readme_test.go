package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The program in README.md is readme/main.go, which the compiler checks.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join("readme", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```go\n")
	block, rest, ok := strings.Cut(block, "```\n")
	if !ok || block != string(program) {
		t.Errorf("README.md shows\n%s\nnot examples/readme/main.go", block)
	}
	if strings.Contains(rest, "```go") {
		t.Error("README.md has a second program that nothing compiles")
	}
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

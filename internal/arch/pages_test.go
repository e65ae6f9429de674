package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codePath is a span of code in Markdown that looks like a path in the repository.
var codePath = regexp.MustCompile("`([a-z][a-z0-9_*.-]*(?:/[a-z0-9_*.-]+)*/?)`")

// TestArchitecture checks that every file and folder that docs/architecture.md names
// exists.
func TestArchitecture(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, m := range codePath.FindAllStringSubmatch(string(page), -1) {
		name := m[1]
		if !strings.Contains(name, "/") && filepath.Ext(name) != ".go" {
			continue // a word
		}
		checked++
		if found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name))); err != nil || len(found) == 0 {
			t.Errorf("there is no %s", name)
		}
	}
	if checked < 50 {
		t.Errorf("only %d paths", checked)
	}
}

package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The model and the drawing of the terminal UI are pure: they do no I/O, read no clock and know
// nothing of agents.
func TestPureUI(t *testing.T) {
	for _, dir := range []string{"ui", "draw", "styled", "mdview", "difftext", "fuzzy", "pager", "timeview"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "cmd", "openagent", "internal", "tui", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"\t\"os\"\n", "\t\"context\"\n", "\t\"io\"\n", "\t\"github.com/openagent-go/agent\"\n", "time.Now", "time.Since", "go func"} {
				if strings.Contains(string(data), word) {
					t.Errorf("%s must not use %s", file, word)
				}
			}
		}
	}
}

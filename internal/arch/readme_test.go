package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeFigures checks that the figures beside peers in README.md are those of
// docs/performance.md.
func TestReadmeFigures(t *testing.T) {
	readme := read(t, "README.md")
	performance := read(t, "docs/performance.md")
	peers := map[int]string{1: "ours", 4: "adk", 5: "eino", 6: "fantasy"} // by column of README.md
	for _, c := range []struct {
		row, table, unit string
		column           int // of the table
	}{
		{"CPU of a turn, after 1,000", "loop", " µs", 4},
		{"smallest program, with a model", "size", " MB", 1},
	} {
		_, table, _ := strings.Cut(performance, "<!-- compare: "+c.table+" -->")
		table, _, _ = strings.Cut(table, "<!-- end -->")
		shown := cells(readme, c.row)
		for i, peer := range peers {
			measured := cells(table, peer)
			if len(shown) <= i || len(measured) <= c.column || shown[i] != measured[c.column]+c.unit {
				t.Errorf("README.md, %s: %q shows not what %q in docs/performance.md has", c.row, shown, measured)
			}
		}
	}
}

// cells returns the cells of the table row that begins with a name.
func cells(text, name string) []string {
	_, row, _ := strings.Cut(text, "\n| "+name+" |")
	row, _, _ = strings.Cut(row, "\n")
	all := []string{name}
	for _, cell := range strings.Split(strings.TrimSuffix(strings.TrimSpace(row), "|"), "|") {
		all = append(all, strings.TrimSpace(cell))
	}
	return all
}

// read returns the text of a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

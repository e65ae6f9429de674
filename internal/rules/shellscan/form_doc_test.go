package shellscan

import (
	"os"
	"strings"
	"testing"
)

// The examples of docs/permissions.md for what is understood, and what is not.
func TestDocGrammar(t *testing.T) {
	data, err := os.ReadFile("../../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "<!-- grammar -->\n")
	table, _, _ = strings.Cut(table, "<!-- end of grammar -->")
	rows := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(row), `\|`, "\x01"), "|")
		if len(cells) != 5 || strings.HasPrefix(row, "|---") || strings.HasPrefix(row, "| construct") {
			continue
		}
		rows++
		for i, understood := range map[int]bool{2: true, 3: false} {
			for _, line := range examples(cells[i]) {
				if sc, err := readScript(line); (err == nil && sc.odd == "") != understood {
					t.Errorf("%q: understood should be %v: %v %s", line, understood, err, sc.odd)
				}
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d rows are too few", rows)
	}
}

// examples returns the texts in backquotes of a cell.
func examples(cell string) []string {
	var out []string
	for _, part := range strings.Split(strings.TrimSpace(cell), ", ") {
		mark := "`"
		if strings.HasPrefix(part, "``") {
			mark = "``"
		}
		text := strings.TrimSuffix(strings.TrimPrefix(part, mark), mark)
		out = append(out, strings.NewReplacer("\x01", "|", "⏎", "\n").Replace(text))
	}
	return out
}

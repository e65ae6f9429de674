package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// providerRow is a row of the table of providers: name, package, standing, tests.
var providerRow = regexp.MustCompile("^\\| ([^|]+) \\| ([^|]*`llm/[^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// providers is how many rows the table has to have. Change it with the table.
const providers = 23

// TestProviders checks that each provider in docs/providers.md says how much
// stands behind it and names tests which exist.
func TestProviders(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		row := providerRow.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			continue
		}
		if rows[row[1]] {
			t.Errorf("%s has two rows", row[1])
		}
		rows[row[1]] = true
		for word := range strings.SplitSeq(row[3], ", ") {
			if word != "recorded" && word != "strict" && word != "documents" {
				t.Errorf("%s: standing %q", row[1], word)
			}
		}
		tests := proof.FindAllStringSubmatch(row[4], -1)
		if tests == nil {
			t.Errorf("%s names no test", row[1])
		}
		for _, test := range tests {
			if !exists(t, root, test[1]) {
				t.Errorf("%s: there is no %s", row[1], test[1])
			}
		}
	}
	if len(rows) != providers {
		t.Errorf("the table of providers has %d rows that this test can read, not %d", len(rows), providers)
	}
}

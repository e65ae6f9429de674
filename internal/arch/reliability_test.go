package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// faults says how many faults of each kind docs/reliability.md has to list.
var faults = map[string]int{"N": 13, "L": 18, "C": 15, "S": 13, "W": 8, "T": 12, "M": 7, "K": 4, "X": 6, "E": 4}

var (
	faultRow = regexp.MustCompile(`^\| ([A-Z][0-9]+) \| (.+) \| (.+) \|(.*)\|$`)
	proof    = regexp.MustCompile("`([^`]+)`")
)

// TestReliability checks that each fault has its row, each row what happens, and
// that a row names tests, which exist.
func TestReliability(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for line := range strings.Lines(string(page)) {
		row := faultRow.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			continue
		}
		rows[row[1]]++
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
	total := 0
	for kind, n := range faults {
		for i := range n {
			id := fmt.Sprint(kind, i+1)
			if rows[id] != 1 {
				t.Errorf("%s has %d rows", id, rows[id])
			}
			total++
		}
	}
	if len(rows) != total {
		t.Errorf("%d rows for %d faults", len(rows), total)
	}
}

// exists reports whether there is the test folder.TestName, or the scenario at
// that path. The folder of the module is called agent.
func exists(t *testing.T, root, name string) bool {
	if strings.HasSuffix(name, ".txtar") {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	folder, test := name[:dot], name[dot+1:]
	if folder == "agent" {
		folder = "."
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == test {
				return true
			}
		}
	}
	return false
}

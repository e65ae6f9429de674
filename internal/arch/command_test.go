package arch

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandLayers lists the packages of the command from the lowest to the highest. A
// package imports lower layers only. Packages of one layer do not know each other.
var commandLayers = [][]string{
	{"term", "ratelimit", "claudecode", "tui/input", "tui/frame", "tui/fuzzy", "tui/amount"},
	{"tui/ui", "tui/term", "tui/styled"},
	{"tui/mdview", "tui/difftext", "tui/timeview"},
	{"cli", "tui/draw", "tui/pager"},
	{"settings", "keys", "tui/pages", "tui/plain"},
	{"provider"},
	{"firstrun"},
	{"preview", "sessionstore", "remote", "localserver"},
	{"app", "cards"},
	{"rewind", "usage", "automation", "sessionlist"},
	{"streamjson", "doctor", "live"},
	{"slash"},
	{"tui"},
	{"dialog", "attached", "oneshot"},
	{"chat", "welcome", "demo", "command/..."},
}

func TestCommandLayers(t *testing.T) {
	const under = "cmd/openagent/internal/"
	layer := func(pkg string) int {
		return slices.IndexFunc(commandLayers, func(l []string) bool { return matches(l, pkg) })
	}
	root := filepath.Join("..", "..", filepath.FromSlash(under))
	seen := map[string]bool{}
	for _, pattern := range []string{"*", "*/*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			rel, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			pkg := filepath.ToSlash(rel)
			if layer(pkg) < 0 {
				t.Errorf("%s has no layer", pkg)
				continue
			}
			seen[pkg] = true
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(f.Name.Name, "_test") { // a test from outside may join packages
				continue
			}
			for _, spec := range f.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				other, ours := strings.CutPrefix(path, name(under))
				other = strings.TrimPrefix(other, "/")
				if ours && layer(other) >= layer(pkg) {
					t.Errorf("%s: %s must not import %s", file, pkg, other)
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("this test sees %d packages of the command", len(seen))
	}
}

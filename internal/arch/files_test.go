package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// opensFiles lists the files of production code that may call os.Open or os.ReadFile,
// by pattern, each with the reason. All else reads by internal/plainfile, which waits
// for no pipe and reads no device and no more than a bound.
var opensFiles = map[string]string{
	"sandbox/mounts_linux.go":          "/proc of this machine",
	"workspace/proc_linux.go":          "/proc and control groups of this machine",
	"internal/confine/*_linux.go":      "/proc of this machine",
	"internal/command/others_linux.go": "/proc of this machine",
	"sandbox/ghost_linux.go":           "a file of the sandbox's own, found to be one before, is locked",
	"internal/golden/golden.go":        "a helper of tests",
	"internal/wire/wiretest/*.go":      "a helper of tests",
	"llm/llmtest/*.go":                 "a helper of tests",
	"cmd/openagent/internal/demo/*.go": "files that the demo has just made",
}

// Production code opens files whose place others choose by internal/plainfile.
func TestFilesArePlain(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "benchmarks" || d.Name() == "examples") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if !mayOpen(filepath.ToSlash(rel)) {
			checkOpens(t, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func mayOpen(file string) bool {
	for pattern := range opensFiles {
		if ok, _ := path.Match(pattern, file); ok {
			return true
		}
	}
	return false
}

func checkOpens(t *testing.T, file string) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if p, ok := s.X.(*ast.Ident); ok && p.Name == "os" && (s.Sel.Name == "Open" || s.Sel.Name == "ReadFile") {
			t.Errorf("%s: os.%s may wait for a pipe or read without an end: use internal/plainfile", set.Position(s.Pos()), s.Sel.Name)
		}
		return true
	})
}

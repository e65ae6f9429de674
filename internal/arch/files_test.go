package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// opensFiles lists the files of production code that may open files for reading, by
// pattern, each with the reason. All else reads by internal/plainfile, which waits for no
// pipe and reads no device and no more than a bound.
var opensFiles = map[string]string{
	"sandbox/mounts_linux.go":                       "/proc of this machine",
	"internal/environ/hide_linux.go":                "/proc of this process",
	"workspace/proc_linux.go":                       "/proc and control groups of this machine",
	"internal/confine/*_linux.go":                   "/proc of this machine",
	"internal/command/others_linux.go":              "/proc of this machine",
	"sandbox/ghost_linux.go":                        "a file of the sandbox's own, found to be one before, is locked",
	"internal/golden/golden.go":                     "a helper of tests",
	"cmd/openagent/internal/tui/term/termtest/*.go": "a helper of tests",
	"internal/outside/*.go":                         "a helper of tests",
	"internal/devtools/guards/guard.go":             "the code of this repository",
	"internal/wire/wiretest/*.go":                   "a helper of tests",
	"internal/httptape/*.go":                        "a helper of tests",
	"cmd/openagent/internal/demo/*.go":              "files that the demo has just made",
	"internal/plainfile/open.go":                    "the package that opens files for reading",
	"internal/safefile/open*.go":                    "folders to sync, and files of its own, without waiting for pipes",
	"internal/config/file.go":                       "it opens without waiting, reads only regular files, and no more than a bound",
}

// Production code opens files whose place others choose by internal/plainfile.
func TestFilesArePlain(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]bool{}
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
		calls := opens(t, file)
		if pattern := opensFile(filepath.ToSlash(rel)); pattern != "" {
			used[pattern] = used[pattern] || len(calls) > 0
			return nil
		}
		for _, call := range calls {
			t.Errorf("%s may wait for a pipe or read without an end: use internal/plainfile", call)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range opensFiles {
		if !used[pattern] {
			t.Errorf("nothing in %s opens a file for reading: take it off the list", pattern)
		}
	}
}

// opensFile returns the pattern of the list that a file matches, "" if none does.
func opensFile(file string) string {
	for pattern := range opensFiles {
		if ok, _ := path.Match(pattern, file); ok {
			return pattern
		}
	}
	return ""
}

// opens returns the calls in a file that open files for reading.
func opens(t *testing.T, file string) (calls []string) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	writes := map[ast.Node]bool{} // the functions of calls that open for writing
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && called(c, "os", "OpenFile") && len(c.Args) == 3 {
			writes[c.Fun] = forWriting(c.Args[1])
		}
		s, ok := n.(*ast.SelectorExpr)
		if !ok || writes[s] {
			return true
		}
		p, ok := s.X.(*ast.Ident)
		if ok && p.Name == "os" && (s.Sel.Name == "Open" || s.Sel.Name == "ReadFile" || s.Sel.Name == "OpenFile") {
			calls = append(calls, fmt.Sprintf("%s: os.%s", set.Position(s.Pos()), s.Sel.Name))
		}
		return true
	})
	return calls
}

// forWriting reports whether flags of os.OpenFile name one for writing alone, or for making
// a file.
func forWriting(flags ast.Expr) (found bool) {
	ast.Inspect(flags, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		found = found || ok && (s.Sel.Name == "O_WRONLY" || s.Sel.Name == "O_CREATE")
		return true
	})
	return found
}

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// home is the package that locks and replaces files. There once were five copies of
// locks and nine of "write a temporary file and rename it", with different behaviour.
const home = "internal/safefile"

// locks are the system's functions that lock files.
var locks = map[string]bool{"Flock": true, "FcntlFlock": true, "LockFileEx": true, "UnlockFileEx": true}

// renames lists the other files that rename files, and why they do.
var renames = map[string]string{
	"internal/faultdisk/faulty.go":                      "a disk for tests, which fails or renames",
	"internal/checkpoint/disk.go":                       "a file that is written gets the hash of its content as its name; readers check the hash",
	"internal/checkpoint/apply.go":                      "a restore stays in an os.Root and replaces only files that nobody has changed since",
	"internal/checkpoint/sys_unix.go":                   "a restore moves files between open folders",
	"internal/checkpoint/sys_windows.go":                "a restore moves files between open folders",
	"workspace/files.go":                                "an edit stays in an os.Root, keeps the owner and replaces only files that nobody has changed since",
	"workspace/transaction.go":                          "a transaction renames several files, or none",
	"workspace/shell.go":                                "a shell wrote the file",
	"cmd/openagent/internal/automation/triggers_log.go": "a full log gets another name",
}

// Only internal/safefile calls the system's file locks and, but for the listed files,
// renames files.
func TestDurable(t *testing.T) {
	own := 0
	unused := map[string]bool{}
	for name := range renames {
		unused[name] = true
	}
	systemCalls(t, func(file, function string) {
		switch {
		case filepath.ToSlash(filepath.Dir(file)) == home:
			own++
		case locks[function]:
			t.Errorf("%s locks a file itself; use %s", file, home)
		case renames[file] == "":
			t.Errorf("%s renames a file itself; use safefile.Replacement, or list it with a reason", file)
		}
		delete(unused, file)
	})
	for name := range unused {
		t.Errorf("%s renames no file: take it off the list", name)
	}
	if own < 5 { // Flock twice, LockFileEx, UnlockFileEx, Rename
		t.Errorf("%d calls in %s: this test does not see them", own, home)
	}
}

// systemCalls calls found for each call, in the files of the module that are not tests, of
// a function that locks or renames files. Functions called Rename with more than two
// arguments are others: session.Rename is one.
func systemCalls(t *testing.T, found func(file, function string)) {
	goFiles(t, func(name string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if ok && (locks[s.Sel.Name] || s.Sel.Name == "Renameat" || s.Sel.Name == "Rename" && len(call.Args) == 2) {
				found(name, s.Sel.Name)
			}
			return true
		})
	})
}

// goFiles calls each for every Go file of the repository that is not a test.
func goFiles(t *testing.T, each func(name string, file *ast.File)) {
	root := os.DirFS(filepath.Join("..", ".."))
	fset := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err == nil {
			each(name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// Every guard has a name of its own, says what it prevents, and has tests.
func TestGuardsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, a := range all() {
		for _, g := range a.guards {
			switch {
			case g.Name == "" || names[g.Name]:
				t.Errorf("%q is the name of no guard or of two", g.Name)
			case !strings.HasSuffix(g.Prevents, "."):
				t.Errorf("%s: %q is not a sentence", g.Name, g.Prevents)
			case len(g.Edits) == 0, len(g.Tests) == 0:
				t.Errorf("%s has no edit or no test", g.Name)
			}
			names[g.Name] = true
		}
	}
}

// Every repair names guards that there are.
func TestRepairsHaveGuards(t *testing.T) {
	names := map[string]bool{}
	for _, a := range all() {
		for _, g := range a.guards {
			names[g.Name] = true
		}
	}
	for _, r := range slices.Concat(repairs, attacked) {
		if len(r.guards) == 0 {
			t.Errorf("%q has no guard", r.defect)
		}
		for _, name := range r.guards {
			if !names[name] {
				t.Errorf("%q: there is no guard %q", r.defect, name)
			}
		}
	}
}

// The text of every guard is in the code once.
func TestGuardsMatch(t *testing.T) {
	for _, a := range all() {
		for _, g := range a.guards {
			if _, err := g.mutate(root); err != nil {
				t.Error(err)
			}
		}
	}
}

// The tests of every guard exist.
func TestGuardsHaveTests(t *testing.T) {
	texts := map[string]string{}
	for _, a := range all() {
		for _, g := range a.guards {
			for _, named := range g.Tests {
				text, ok := texts[named.Package]
				if !ok {
					files, err := filepath.Glob(filepath.Join(root, named.Package, "*_test.go"))
					if err != nil {
						t.Fatal(err)
					}
					for _, file := range files {
						data, err := os.ReadFile(file)
						if err != nil {
							t.Fatal(err)
						}
						text += string(data)
					}
					texts[named.Package] = text
				}
				top, _, _ := strings.Cut(named.Name, "/")
				if !strings.Contains(text, "func "+top+"(") {
					t.Errorf("%s: there is no test %s in %s", g.Name, top, named.Package)
				}
			}
		}
	}
}

// The page lists the guards as they are.
func TestGuardsPage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != table() {
		t.Errorf("%s is not what the guards say: run make guards ARGS='-run NONE -update'", page)
	}
}

// The code compiles without each guard, so that a test which fails then fails for its absence.
func TestGuardsCompile(t *testing.T) {
	// The guards of one package are checked with one reading of what it imports.
	guards := map[string][]Guard{}
	for _, a := range all() {
		for _, g := range a.guards {
			for _, folder := range g.packages() {
				guards[folder] = append(guards[folder], g)
			}
		}
	}
	folders := map[string][]string{} // by module
	for folder := range guards {
		dir, workspace := module(root, folder)
		if workspace {
			dir = "."
		}
		folders[dir] = append(folders[dir], folder)
	}
	for dir, packages := range folders {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			exports, files := load(t, packages)
			for _, folder := range packages {
				for _, g := range guards[folder] {
					check(t, exports, files[folder], folder, g)
				}
			}
		})
	}
}

// load returns the files with the types of all that the packages import, by import path, and the
// packages' own files, by folder. All packages are of one module or workspace.
func load(t *testing.T, folders []string) (exports map[string]string, files map[string][]string) {
	t.Helper()
	cmd, _ := goCommand(t.Context(), root, folders[0], "list", "-deps", "-export", "-json=ImportPath,Export,Dir,GoFiles")
	for _, folder := range folders {
		_, name := goCommand(t.Context(), root, folder)
		cmd.Args = append(cmd.Args, name)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, stderr.Bytes())
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	exports, files = map[string]string{}, map[string][]string{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if folder, err := filepath.Rel(absolute, p.Dir); err == nil {
			files[filepath.ToSlash(folder)] = p.GoFiles
		}
	}
	return exports, files
}

// check checks the types of one package without a guard.
func check(t *testing.T, exports map[string]string, names []string, folder string, g Guard) {
	changed, err := g.mutate(root)
	if err != nil {
		return // another test says so
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		path := folder + "/" + name
		if folder == "." {
			path = name
		}
		var src any
		if text, ok := changed[path]; ok {
			src = text
			delete(changed, path)
		}
		f, err := parser.ParseFile(set, filepath.Join(root, path), src, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", g.Name, err)
			return
		}
		parsed = append(parsed, f)
	}
	for path := range changed {
		if filepath.ToSlash(filepath.Dir(path)) == folder && strings.HasSuffix(path, ".go") {
			t.Errorf("%s: %s is not built on %s", g.Name, path, runtime.GOOS)
		}
	}
	conf := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	}), Error: func(err error) { t.Errorf("%s: %v", g.Name, err) }}
	conf.Check(folder, set, parsed, nil)
}

// A guard is noticed by tests that fail without it, and by nothing else.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs tests without a guard")
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	const folder = "internal/subagents"
	edit := func(old, new string) []Edit { return off(folder+"/policy.go", old, new) }
	for _, c := range []struct {
		name  string
		guard Guard
		want  outcome
	}{
		{"a comment", Guard{Edits: edit("// strictness returns", "// strictness is"), Tests: in(folder, "TestStricter", "TestNone")},
			outcome{passed: []string{folder + ".TestStricter"}, skipped: []string{folder + ".TestNone"}}},
		{"a guard", Guard{Edits: edit("	if strictness(above) > strictness(mode) {", "	if strictness(above) < 0 {"), Tests: in(folder, "TestStricter")},
			outcome{failed: []string{folder + ".TestStricter"}}},
		{"the end of the program", Guard{Edits: edit("	return slices.Index([]permission.Mode{", "	go panic(m)\n	select {}\n	return slices.Index([]permission.Mode{"), Tests: in(folder, "TestStricter")},
			outcome{failed: []string{folder + ".TestStricter"}}},
	} {
		got, err := tryGuard(t.Context(), absolute, c.guard, false)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	broken := Guard{Edits: edit("	if strictness(above) > strictness(mode) {", "	if strictness(above) {"), Tests: in(folder, "TestStricter")}
	if got, err := tryGuard(t.Context(), absolute, broken, false); err != nil || !strings.Contains(got.unbuilt, "policy.go") {
		t.Errorf("what does not compile: %+v, %v", got, err)
	}
	if _, err := tryGuard(t.Context(), absolute, Guard{Edits: edit("func ", "")}, false); err == nil {
		t.Error("a text that occurs often was changed")
	}
}

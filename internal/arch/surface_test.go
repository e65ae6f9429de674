package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// maxNames is the number of names that the library may export: package-level names, exported
// fields and methods of all packages that a program can import. To add a name, take one away.
const maxNames = 2200 +
	61 + // package client
	85 + // session/view
	15 + // serve: what a program sets to share sessions, to show one that it runs itself, to be behind a proxy, for pages of other sites, to limit a user, and to let workers run its sessions
	130 + // durable and durabletest; a Summary of package session as JSON
	8 + // team: a ledger that keeps a team elsewhere
	1 + // quota: days of other places than UTC
	1 + // session: a store that creates sessions whole
	6 + // session: lists of some sessions, in pages
	19 + // package replay, and what it needs of an agent
	111 + // package memory, and what coder tells of it
	128 + // packages eval and eval/report
	1 + // helper.Helper.Watch
	1 + // package suggest
	66 // package skill/learn, and what reviews propose about skills

// TestSurface holds the size of the public API.
func TestSurface(t *testing.T) {
	total, count := 0, map[string]int{}
	for _, p := range publicPackages(t) {
		names := map[string]bool{}
		for _, n := range exportedNames(p.types) {
			names[n.name] = true
		}
		count[p.path] = len(names)
		total += len(names)
	}
	t.Logf("%d names in %d packages", total, len(count))
	if total > maxNames {
		t.Errorf("the library exports %d names, %d is the limit. Names by package: %v", total, maxNames, count)
	}
}

// TestSurfaceDocs holds that each name of the public API says what it is: in a comment of its
// own, of its group, or by name in a comment of its type.
func TestSurfaceDocs(t *testing.T) {
	for _, p := range publicPackages(t) {
		documented := documentedNames(t, p)
		for _, n := range exportedNames(p.types) {
			if !n.promoted && !documented[n.name] {
				t.Errorf("%s.%s has no comment", p.path, n.name)
			}
		}
	}
}

// A publicPackage is one that programs outside the module can import.
type publicPackage struct {
	path  string
	dir   string
	files []string
	types *types.Package
}

// publicPackages returns the packages of the module that a program can import: not the
// programs, and not the packages of tests alone, which have nothing to compile.
func publicPackages(t *testing.T) []publicPackage {
	t.Helper()
	all, _ := compiled(t)
	return all
}

// compiled returns the public packages, and what imports them and all that they are made of.
func compiled(t *testing.T) ([]publicPackage, types.Importer) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Name,Dir,Export,GoFiles,Standard", "./...")
	list.Dir = filepath.Join("..", "..")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Name, Dir, Export string
		GoFiles                       []string
		Standard                      bool
	}
	exports := map[string]string{}
	var public []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[l.ImportPath] = l.Export
		ours := l.ImportPath == module || strings.HasPrefix(l.ImportPath, module+"/")
		if ours && l.Export != "" && l.Name != "main" && !isInternal(l.ImportPath) && !strings.Contains(l.ImportPath, "/cmd/") {
			public = append(public, l)
		}
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("go list knows no compiled package %s", path)
		}
		return os.Open(exports[path])
	})
	var all []publicPackage
	for _, l := range public {
		p, err := load.Import(l.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, publicPackage{path: l.ImportPath, dir: l.Dir, files: l.GoFiles, types: p})
	}
	if len(all) < 30 {
		t.Fatalf("%d public packages: this test does not see them all", len(all))
	}
	return all, load
}

// isInternal reports whether programs outside the module cannot import a package.
func isInternal(path string) bool {
	return slices.Contains(strings.Split(path, "/"), "internal")
}

// An exportedName is one name of the public API: Name, or Type.Name for a field or a method.
type exportedName struct {
	name     string
	typ      types.Type
	promoted bool // a method of an embedded interface
}

// exportedNames returns the names that a package exports.
func exportedNames(p *types.Package) (all []exportedName) {
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		declared, ok := o.(*types.TypeName)
		if !ok {
			all = append(all, exportedName{name: name, typ: o.Type()})
			continue
		}
		all = append(all, membersOf(declared)...)
	}
	return all
}

// membersOf returns a type's name, and those of its exported fields and methods.
func membersOf(declared *types.TypeName) []exportedName {
	name := declared.Name()
	self := exportedName{name: name}
	if declared.IsAlias() {
		self.typ = declared.Type()
		return []exportedName{self}
	}
	all := []exportedName{}
	add := func(o types.Object, promoted bool) {
		if o.Exported() {
			all = append(all, exportedName{name: name + "." + o.Name(), typ: o.Type(), promoted: promoted})
		}
	}
	switch u := declared.Type().Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			add(f, false)
		}
	case *types.Interface:
		own := map[string]bool{}
		for m := range u.ExplicitMethods() {
			own[m.Name()] = true
		}
		for m := range u.Methods() {
			add(m, !own[m.Name()])
		}
	default:
		self.typ = u
	}
	if named, ok := declared.Type().(*types.Named); ok {
		for m := range named.Methods() {
			add(m, false)
		}
	}
	return append(all, self)
}

// documentedNames returns the names of a package that a comment describes.
func documentedNames(t *testing.T, p publicPackage) map[string]bool {
	t.Helper()
	documented := map[string]bool{}
	for _, file := range p.files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.dir, file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				documented[nameOf(d)] = d.Doc != nil
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					noteSpec(documented, d, spec)
				}
			}
		}
	}
	return documented
}

// nameOf returns Name, or Type.Name for a method.
func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	receiver := d.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name + "." + d.Name.Name
		default:
			return fmt.Sprintf("%T.%s", r, d.Name.Name)
		}
	}
}

// noteSpec notes which names of a declaration have a comment.
func noteSpec(documented map[string]bool, d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			documented[n.Name] = d.Doc != nil || s.Doc != nil || s.Comment != nil
		}
	case *ast.TypeSpec:
		doc := d.Doc.Text() + s.Doc.Text() + s.Comment.Text()
		documented[s.Name.Name] = doc != ""
		for _, f := range membersIn(s.Type) {
			doc += f.Doc.Text() + f.Comment.Text()
		}
		for _, f := range membersIn(s.Type) {
			names := f.Names
			if len(names) == 0 { // embedded: its type is documented where it is declared
				names = []*ast.Ident{embedded(f.Type)}
			}
			for _, n := range names {
				own := f.Doc != nil || f.Comment != nil || len(f.Names) == 0
				documented[s.Name.Name+"."+n.Name] = own || mentions(doc, n.Name)
			}
		}
	}
}

// mentions reports whether a comment holds a name as a word of its own.
func mentions(comment, name string) bool {
	return slices.Contains(strings.FieldsFunc(comment, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }), name)
}

// membersIn returns the fields of a struct or the methods of an interface.
func membersIn(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// embedded returns the name of an embedded field.
func embedded(t ast.Expr) *ast.Ident {
	switch t := t.(type) {
	case *ast.StarExpr:
		return embedded(t.X)
	case *ast.SelectorExpr:
		return t.Sel
	case *ast.IndexExpr:
		return embedded(t.X)
	case *ast.Ident:
		return t
	}
	return ast.NewIdent("")
}

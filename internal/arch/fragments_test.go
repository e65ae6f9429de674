package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// prelude declares the values that fragments use without saying where they come from.
const prelude = `
var (
	a        *agent.Agent
	b        strings.Builder
	box      *sandbox.Sandbox
	c        *coder.Coder
	call     tool.Call
	ctx      context.Context
	err      error
	m, model llm.Model
	req      *llm.Request
	res      *agent.Result
	s        *agent.Session
	servers  *mcp.Servers
	skills   *skill.Registry
	t        *testing.T
	ws       *workspace.Workspace

	dir, home, id, path string
)`

// TestFragments compiles the Go code in the pages outside of the guides and in the comments of
// the library's packages. Fragments may use values that they do not declare; all else has to
// be right: names, fields, types and the number of results.
func TestFragments(t *testing.T) {
	l := newLibrary(t)
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	manual, err := filepath.Glob(filepath.Join("..", "..", "docs", "command", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, manual...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goBlock.FindAllSubmatchIndex(text, -1) {
			checked++
			line := 2 + bytes.Count(text[:m[0]], []byte("\n"))
			for _, err := range l.check("", string(text[m[2]:m[3]])) {
				t.Errorf("%s:%d: %v", page, line, err)
			}
		}
	}
	if checked < 25 {
		t.Errorf("only %d fragments in the pages", checked)
	}
	checked = 0
	for _, c := range l.comments(t) {
		for _, block := range c.doc.Content {
			code, ok := block.(*comment.Code)
			if !ok || !isGo(code.Text) {
				continue
			}
			checked++
			for _, err := range l.check(c.pkg.path, code.Text) {
				t.Errorf("%s: %v\n%s", c.where, err, code.Text)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d fragments in comments", checked)
	}
}

// goBlock is a fenced block of Go.
var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestDocLinks checks that the names in brackets in comments of the library's packages are names
// that a reader can look up.
func TestDocLinks(t *testing.T) {
	l, checked := newLibrary(t), 0
	for _, c := range l.comments(t) {
		walkText(c.doc.Content, func(text comment.Text) {
			switch text := text.(type) {
			case *comment.DocLink:
				checked++
				if !l.has(text) {
					t.Errorf("%s: there is no %v", c.where, text.Text)
				}
			case comment.Plain:
				if m := brackets.FindString(string(text)); m != "" {
					t.Errorf("%s: %s is not a name of the library", c.where, m)
				}
			}
		})
	}
	if checked < 200 {
		t.Errorf("only %d links", checked)
	}
}

// brackets looks like a link to a name: not a text such as "[message]" or TABLE [LIMIT].
var brackets = regexp.MustCompile(`(?:^|[^"])\[\*?(?:[a-z]|[A-Z]\w*[a-z])\w*(?:\.\w+)*\]`)

// A library has the packages that fragments may use.
type library struct {
	types.Importer
	packages []publicPackage
	paths    map[string]string // by name of the package
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{paths: map[string]string{}}
	l.packages, l.Importer = compiled(t)
	paths := []string{"context", "encoding/json", "errors", "fmt", "io", "io/fs", "log", "log/slog", "net/http", "net/http/httptest", "os", "strings", "testing", "time"}
	for _, p := range l.packages {
		paths = append(paths, p.path)
	}
	for _, path := range paths {
		p, err := l.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		if other := l.paths[p.Name()]; other != "" {
			t.Errorf("%s and %s have the same name", other, path)
		}
		l.paths[p.Name()] = path
	}
	return l
}

// has reports whether the name that a link names exists.
func (l *library) has(link *comment.DocLink) bool {
	p, err := l.Import(link.ImportPath)
	if err != nil || link.Name == "" {
		return err == nil
	}
	if link.Recv == "" {
		return p.Scope().Lookup(link.Name) != nil
	}
	o := p.Scope().Lookup(link.Recv)
	if o == nil {
		return false
	}
	member, _, _ := types.LookupFieldOrMethod(o.Type(), true, p, link.Name)
	return member != nil
}

// A docComment is a comment of an exported name or of a package.
type docComment struct {
	pkg   publicPackage
	where string
	doc   *comment.Doc
}

// comments returns the comments that go doc shows.
func (l *library) comments(t *testing.T) (all []docComment) {
	t.Helper()
	for _, p := range l.packages {
		parse := &comment.Parser{
			LookupPackage: func(name string) (string, bool) { path, ok := l.paths[name]; return path, ok },
			LookupSym: func(recv, name string) bool {
				return l.has(&comment.DocLink{ImportPath: p.path, Recv: recv, Name: name})
			},
		}
		for _, file := range p.files {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.dir, file), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			add := func(g *ast.CommentGroup) {
				doc := parse.Parse(g.Text())
				walkText(doc.Content, func(text comment.Text) {
					if link, ok := text.(*comment.DocLink); ok && link.ImportPath == "" {
						link.ImportPath = p.path
					}
				})
				at := fset.Position(g.Pos())
				all = append(all, docComment{p, fmt.Sprintf("%s/%s:%d", strings.TrimPrefix(p.path, module), file, at.Line), doc})
			}
			if f.Doc != nil {
				add(f.Doc)
			}
			for _, d := range f.Decls {
				if shown(d) {
					groups(d, add)
				}
			}
		}
	}
	return all
}

// shown reports whether go doc shows a declaration.
func shown(d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		typ, method, ok := strings.Cut(nameOf(d), ".")
		return ast.IsExported(typ) && (!ok || ast.IsExported(method))
	case *ast.GenDecl:
		return slices.ContainsFunc(d.Specs, func(spec ast.Spec) bool {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				return spec.Name.IsExported()
			case *ast.ValueSpec:
				return slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported)
			}
			return false
		})
	}
	return false
}

// groups calls fn for the comments of a declaration.
func groups(d ast.Decl, fn func(*ast.CommentGroup)) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommentGroup:
			fn(n)
		case *ast.BlockStmt:
			return false
		case *ast.Field:
			return len(n.Names) == 0 || slices.ContainsFunc(n.Names, (*ast.Ident).IsExported)
		}
		return true
	})
}

// walkText calls fn for every text of a comment.
func walkText(blocks []comment.Block, fn func(comment.Text)) {
	for _, b := range blocks {
		var texts []comment.Text
		switch b := b.(type) {
		case *comment.Heading:
			texts = b.Text
		case *comment.Paragraph:
			texts = b.Text
		case *comment.List:
			for _, item := range b.Items {
				walkText(item.Content, fn)
			}
		}
		for _, text := range texts {
			fn(text)
		}
	}
}

// isGo reports whether a block of a comment is Go that names something of a package.
func isGo(text string) bool {
	f, err := parse(token.NewFileSet(), text, "")
	if err != nil {
		return false
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.CallExpr, *ast.CompositeLit, *ast.FuncDecl, *ast.AssignStmt:
			found = true
		}
		return !found
	})
	return found
}

// placeholder stands for code that a fragment leaves out.
var placeholder = strings.NewReplacer("…,", "", "…", "leftOut")

// tolerated are mistakes of programs that are none in fragments.
var tolerated = regexp.MustCompile(`declared and not used|imported and not used|^missing return`)

// undefined says that a name without a package is not declared.
var undefined = regexp.MustCompile(`^undefined: \w+$`)

// parse parses a whole file, declarations or statements. Those that are no whole file follow
// before.
func parse(fset *token.FileSet, text, before string) (*ast.File, error) {
	text = placeholder.Replace(text)
	if strings.HasPrefix(text, "package ") {
		return parser.ParseFile(fset, "", text, 0)
	}
	before = "package fragment\n" + before + "\n"
	if f, err := parser.ParseFile(fset, "", before+text, 0); err == nil {
		return f, nil
	}
	f, err := parser.ParseFile(fset, "", before+"func _() {\n"+text+"\n}", 0)
	if err == nil {
		returnAny(f.Decls[len(f.Decls)-1].(*ast.FuncDecl))
	}
	return f, err
}

// returnAny gives a function as many results as its first return has.
func returnAny(d *ast.FuncDecl) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if d.Type.Results == nil {
				d.Type.Results = &ast.FieldList{}
				for range n.Results {
					d.Type.Results.List = append(d.Type.Results.List, &ast.Field{Type: ast.NewIdent("any")})
				}
			}
		}
		return true
	})
}

// check returns what a compiler says about a fragment, other than about values that it uses
// without declaring them, or declares without using them. In the comments of a package, its
// members need no package name.
func (l *library) check(pkg, text string) (problems []error) {
	before := ""
	for _, name := range slices.Sorted(maps.Keys(l.paths)) {
		before += fmt.Sprintf("import %s %q\n", name, l.paths[name])
	}
	if pkg != "" {
		before += fmt.Sprintf("import . %q\n", pkg)
	}
	fset := token.NewFileSet()
	f, err := parse(fset, text, before+prelude)
	if err != nil {
		return []error{err}
	}
	used := map[token.Pos]bool{} // names with a selector, such as a package
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			used[s.X.Pos()] = true
		}
		return true
	})
	config := types.Config{Importer: l, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && !tolerated.MatchString(e.Msg) && (used[e.Pos] || !undefined.MatchString(e.Msg)) {
			problems = append(problems, errors.New(e.Msg))
		}
	}}
	_, _ = config.Check("fragment", fset, []*ast.File{f}, nil)
	return problems
}

package arch

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// copies lists the functions outside internal/text that shorten, join or quote texts
// themselves, and why.
var copies = map[string]string{
	"internal/bedrock: signedHeaders": "AWS defines the form of a header that is signed",
	"internal/bedrock: readSection":   "AWS defines the names of sections in its files",
	"tools: bigrams":                  "it compares bytes",
}

// Text is shortened, put on one line and quoted by internal/text. There once were 24
// functions that did so, some by bytes and some by characters.
func TestTextHelpers(t *testing.T) {
	used := map[string]bool{}
	own := 0
	goFiles(t, func(name string, file *ast.File) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			what := copied(f)
			if what == "" {
				continue
			}
			key := path.Dir(name) + ": " + f.Name.Name
			switch {
			case path.Dir(name) == "internal/text":
				own++
			case copies[key] != "":
				used[key] = true
			default:
				t.Errorf("%s: %s %s; use internal/text, or list %q with a reason", name, f.Name.Name, what, key)
			}
		}
	})
	for key := range copies {
		if !used[key] {
			t.Errorf("%s is no copy: take it off the list", key)
		}
	}
	if own < 3 { // Runes, OneLine, QuoteShell
		t.Errorf("%d functions of internal/text: this test does not see them", own)
	}
}

// copied names the function of internal/text that a function duplicates, "" if none.
func copied(f *ast.FuncDecl) (what string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.ADD && ellipsis(n.Y) && sliced(n.X) {
				what = "adds an ellipsis to a part of a text"
			}
		case *ast.CallExpr:
			switch {
			case called(n, "strings", "Join") && len(n.Args) == 2 && literal(n.Args[1], `" "`):
				if c, ok := n.Args[0].(*ast.CallExpr); ok && called(c, "strings", "Fields") {
					what = "puts a text on one line"
				}
			case called(n, "strings", "ReplaceAll") && len(n.Args) == 3 && literal(n.Args[1], `"'"`) && literal(n.Args[2], "`'\\''`"):
				what = "quotes a word for a shell"
			}
		}
		return true
	})
	return what
}

func called(c *ast.CallExpr, pkg, function string) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != function {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func literal(e ast.Expr, text string) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == text
}

func ellipsis(e ast.Expr) bool {
	if x, ok := e.(*ast.Ident); ok {
		return x.Name == "Ellipsis"
	}
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING && (strings.HasPrefix(l.Value, `"…`) || strings.HasPrefix(l.Value, `"...`))
}

// sliced reports whether an expression has a part s[i:j] in it.
func sliced(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		_, ok := n.(*ast.SliceExpr)
		found = found || ok
		return true
	})
	return found
}

package sessiontest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// The suite knows every type of fact that the event package declares.
func TestFactsAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../event/marks.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "fact" {
			declared[f.Recv.List[0].Type.(*ast.Ident).Name] = true
		}
	}
	known := map[string]bool{}
	for _, k := range kinds {
		known[reflect.TypeOf(k).Name()] = true
	}
	if !maps.Equal(declared, known) {
		t.Errorf("the suite has %v\nbut there are %v", slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(declared)))
	}
}

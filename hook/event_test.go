package hook_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/openagent-go/agent/hook"
)

// Each constant of the file is in the list, once.
func TestEventsAreListed(t *testing.T) {
	var names []hook.Event
	f, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Type != nil && fmt.Sprint(v.Type) == "Event" {
			names = append(names, hook.Event(v.Names[0].Name))
		}
		return true
	})
	if len(names) != 31 || !slices.Equal(names, hook.Events) {
		t.Errorf("%d constants %v, listed are %v", len(names), names, hook.Events)
	}
}

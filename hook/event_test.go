package hook_test

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/openagent-go/agent/hook"
)

// Each constant of the two files is in the list, once.
func TestEventsAreListed(t *testing.T) {
	var names []hook.Event
	for _, file := range []string{"event.go", changes} {
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && ast.IsExported(v.Names[0].Name) && v.Doc != nil {
				names = append(names, hook.Event(v.Names[0].Name))
			}
			return true
		})
	}
	slices.Sort(names)
	if listed := slices.Sorted(slices.Values(hook.Events)); len(names) != 31 || !slices.Equal(names, listed) {
		t.Errorf("%d constants %v, listed are %v", len(names), names, listed)
	}
}

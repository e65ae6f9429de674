package tools_test

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/toolnames"
)

// The list of names has every built-in tool, so that rules about tools that an agent lacks
// are not taken for misspelt ones.
func TestToolNames(t *testing.T) {
	names := []string{"StructuredOutput"} // the engine's
	for _, e := range fullKit(t).Tools() {
		s := e.Tool.Spec()
		names = append(append(names, s.Name), s.Aliases...)
	}
	slices.Sort(names)
	listed := toolnames.Builtin()
	slices.Sort(listed)
	if !slices.Equal(names, listed) {
		t.Errorf("the list has\n%q\nwant\n%q", listed, names)
	}
}

package engine

import (
	"testing"

	"github.com/openagent-go/agent/tool"
)

func TestConflict(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"/w/a", "/w/a", true}, {"/w", "/w/a", true}, {"/w/a", "/w", true}, {"/", "/w", true}, {"/w/a", "/w/ab", false}, {"/w/a", "/w/b", false},
		{`C:\w`, `C:\w\a`, true}, {`C:\`, `C:\w`, true}, {`C:\w`, `C:\wa`, false},
	} {
		if got := conflict(tool.Traits{Touches: []string{"k", tt.a}}, tool.Traits{Touches: []string{tt.b}}); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
	if !conflict(tool.Traits{}, tool.Traits{Touches: []string{}}) || conflict(tool.Traits{ReadOnly: true}, tool.Traits{ReadOnly: true}) {
		t.Error("what is not known overlaps with everything, reading with no reading")
	}
}

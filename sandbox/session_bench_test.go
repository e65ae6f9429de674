package sandbox_test

import (
	"testing"

	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/workspace"
)

// BenchmarkShell is what a line of the shell costs, plain and confined.
func BenchmarkShell(b *testing.B) {
	for _, name := range []string{"plain", "confined"} {
		b.Run(name, func(b *testing.B) {
			ws := &workspace.Workspace{Root: b.TempDir()}
			defer ws.Close()
			if name == "confined" {
				box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: ws.Root})
				if err != nil {
					b.Fatal(err)
				}
				defer box.Close()
				defer ws.Close()
				if ws.Confine = box.Confiner(); ws.Confine == nil {
					b.Skip("nothing confines commands here")
				}
			}
			for b.Loop() {
				if _, err := ws.Run(b.Context(), workspace.CommandLine{Session: "s", Command: "true"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

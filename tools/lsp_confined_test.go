package tools_test

import (
	"os/exec"
	"testing"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A question that starts a language server is a confined call if the workspace confines its
// programs.
func TestLSPIsConfined(t *testing.T) {
	for _, confines := range []bool{true, false} {
		ws := &workspace.Workspace{Root: t.TempDir()}
		if confines {
			ws.Confine = func(*exec.Cmd, string, ...string) (func() (int, bool), error) {
				return func() (int, bool) { return 0, false }, nil
			}
		}
		program, err := exec.LookPath("true")
		if err != nil {
			t.Skip(err)
		}
		languages := tools.NewLanguages(ws, []tools.LanguageServer{{Name: "s", Command: program, Extensions: map[string]string{".go": "go"}}})
		defer languages.Close()
		class := toolrun.Classify(tools.LSP(languages), tool.Call{Name: "LSP", Input: []byte(`{"operation":"documentSymbol","file_path":"a.go"}`)})
		if class.Confined != confines || class.ReadOnly || len(class.Access) != 2 {
			t.Errorf("confines %v: %+v", confines, class)
		}
	}
}

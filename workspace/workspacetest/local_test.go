package workspacetest_test

import (
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
	"github.com/openagent-go/agent/workspace/workspacetest"
)

func TestLocal(t *testing.T) {
	workspacetest.Run(t, func(t *testing.T) tools.Workspace {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		ws := &workspace.Workspace{Root: dir, OutputDir: t.TempDir()}
		t.Cleanup(func() {
			if err := ws.Close(); err != nil {
				t.Error(err)
			}
		})
		return ws
	})
}

func TestMemory(t *testing.T) {
	workspacetest.Run(t, func(t *testing.T) tools.Workspace {
		return &workspace.Memory{Root: "/work", OutputDir: t.TempDir()}
	})
}

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

// The tools that a place cannot serve are left out.
func TestToolsByPlace(t *testing.T) {
	for name, c := range map[string]struct {
		ws              *workspace.Workspace
		bash, worktrees bool
	}{
		"here":      {&workspace.Workspace{Root: t.TempDir()}, true, true},
		"in memory": {&workspace.Workspace{InMemory: true}, false, false},
		"elsewhere": {&workspace.Workspace{Root: "/work", Exec: workspace.ExecThrough("sh", "-c")}, true, false},
	} {
		var bash, worktrees bool
		for _, e := range (tools.Builtins{Workspace: c.ws}).Tools() {
			bash = bash || e.Tool.Spec().Name == "Bash"
			worktrees = worktrees || e.Tool.Spec().Name == "EnterWorktree"
		}
		if bash != c.bash || worktrees != c.worktrees {
			t.Errorf("%s: Bash %v, EnterWorktree %v", name, bash, worktrees)
		}
	}
}

func TestMemory(t *testing.T) {
	workspacetest.Run(t, func(t *testing.T) tools.Workspace {
		return &workspace.Workspace{InMemory: true, Root: "/work", OutputDir: t.TempDir()}
	})
}

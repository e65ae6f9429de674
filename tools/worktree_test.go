package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// Searches in a worktree find its files, though git's view of the main tree
// leaves them out.
func TestWorktreeIsSearched(t *testing.T) {
	top := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = top
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	ws := &workspace.Workspace{Root: top}
	defer ws.Close()
	run := func(tl tool.Tool, dir, input string) string {
		t.Helper()
		name := tl.Spec().Name
		r, err := tl.Run(t.Context(), tool.Call{ID: "c", Session: "s", Name: name, Dir: dir, Input: []byte(input)})
		if err != nil || r.IsError {
			t.Fatalf("%s: %v %+v", name, err, r)
		}
		return r.Text()
	}
	run(EnterWorktree(ws), top, `{"name":"x"}`)
	tree := filepath.Join(top, ".openagent", "worktrees", "x")
	if err := os.WriteFile(filepath.Join(tree, "needle.txt"), []byte("needle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for tl, input := range map[tool.Tool]string{Glob(ws): `{"pattern":"**/needle*"}`, Grep(ws): `{"pattern":"needle"}`} {
		if text := run(tl, tree, input); !strings.Contains(text, "needle.txt") {
			t.Errorf("%s in the worktree: %q", tl.Spec().Name, text)
		}
	}
	if text := run(Glob(ws), top, `{"pattern":"**/*.txt"}`); strings.Contains(text, "worktrees") {
		t.Errorf("a search of the main tree finds %q", text)
	}
}

package coding

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/session"
)

func writeAt(t *testing.T, name, text string) {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// What is too large is not tried again; what failed otherwise is.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	writeAt(t, filepath.Join(project, "big"), string(make([]byte, 100_000)))
	k := &checkpointer{store: &checkpoint.Store{Dir: filepath.Join(dir, "home", "checkpoints"), Quota: 50_000}, sessions: session.Dir(filepath.Join(dir, "sessions")), home: filepath.Join(dir, "home")}
	at := agent.CheckpointPlace{Session: "s", Prompt: 2, Roots: []string{filepath.Join(dir, "not there")}}
	if _, err := k.take(t.Context(), at); err == nil || k.idle != nil {
		t.Fatal(err, k.idle)
	}
	at.Roots = []string{project}
	for range 2 {
		if _, err := k.take(t.Context(), at); !errors.Is(err, checkpoint.ErrQuota) {
			t.Fatal(err)
		}
		k.store.Quota = 1 << 20
	}
	k.idle = nil
	id, err := k.take(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	c, err := k.store.Find(t.Context(), filepath.Join(dir, "sessions", "s"), id)
	if err != nil || c.Seq != 2 || len(c.Trees) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	at.Roots = []string{project, filepath.Join(dir, "home", "tools")}
	writeAt(t, filepath.Join(dir, "home", "tools", "x"), "x")
	if _, err := k.take(t.Context(), at); err == nil {
		t.Error("the program's own folder was kept")
	}
}

// The worktree that the agent is in is kept beside the folders that it works in.
func TestTreesKept(t *testing.T) {
	root := t.TempDir()
	worktree := filepath.Join(root, ".openagent", "worktrees", "w")
	writeAt(t, filepath.Join(worktree, ".git"), "gitdir: elsewhere")
	writeAt(t, filepath.Join(worktree, "sub", "f"), "")
	writeAt(t, filepath.Join(root, "sub", "f"), "")
	for dir, want := range map[string][]string{
		root:                           {root},
		filepath.Join(root, "sub"):     {root},
		worktree:                       {root, worktree},
		filepath.Join(worktree, "sub"): {root, worktree},
	} {
		if got := trees(agent.CheckpointPlace{Roots: []string{root}, Dir: dir}); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", dir, got, want)
		}
	}
}

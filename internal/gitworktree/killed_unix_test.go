//go:build unix

package gitworktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

const (
	killedVar = "WORKTREE_TEST_KILLED" // the folder that EnterWorktree works in
	stopVar   = "WORKTREE_TEST_STOP"   // the step of git that hangs
	whenVar   = "WORKTREE_TEST_WHEN"   // before or after it is done
)

// hangingGit does a step of git before or after it says that it is there, and hangs.
const hangingGit = `#!/bin/sh
case " $* " in
*" $WORKTREE_TEST_STOP "*)
	[ "$WORKTREE_TEST_WHEN" = before ] || "$REAL_GIT" "$@"
	echo reached > "$WORKTREE_TEST_KILLED/../reached"
	exec sleep 600
esac
exec "$REAL_GIT" "$@"
`

// A program that dies while it makes a worktree, at any step, leaves the name free for
// the next one, and nothing half-made behind. Work that someone did there stays.
func TestWorktreeKilled(t *testing.T) {
	if dir := os.Getenv(killedVar); dir != "" {
		ws := &workspace.Workspace{Root: dir}
		_, _ = Enter(ws).Run(t.Context(), tool.Call{ID: "c", Session: "first", Name: "EnterWorktree", Dir: dir, Input: []byte(`{"name":"x"}`)})
		return
	}
	for _, step := range []string{"update-ref", "add", "reset"} {
		for _, when := range []string{"before", "after"} {
			t.Run(when+" "+step, func(t *testing.T) {
				t.Parallel()
				dir, ws := killedRepository(t)
				dieWhileEntering(t, dir, step, when)
				r := enterAgain(t, ws, dir, "x")
				if r.IsError {
					t.Fatal(r.Content)
				}
				top := filepath.Join(dir, ".openagent", "worktrees", "x")
				if got := realGit(t, top, "status", "--porcelain"); got != "" {
					t.Errorf("the worktree is not clean: %q", got)
				}
				if list := realGit(t, dir, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 2 {
					t.Errorf("git knows %q", list)
				}
				entries, err := os.ReadDir(filepath.Dir(top))
				if err != nil || len(entries) != 2 { // x and .gitignore
					t.Errorf("%v %v", entries, err)
				}
			})
		}
	}
	t.Run("another name", func(t *testing.T) {
		t.Parallel()
		dir, ws := killedRepository(t)
		dieWhileEntering(t, dir, "reset", "before")
		r := enterAgain(t, ws, dir, "y")
		if branches := realGit(t, dir, "branch", "--list", "worktree-*"); r.IsError || strings.Contains(branches, "worktree-x") {
			t.Errorf("%v, branches %q", r.Content, branches)
		}
	})
	t.Run("with work in it", func(t *testing.T) {
		t.Parallel()
		dir, ws := killedRepository(t)
		dieWhileEntering(t, dir, "reset", "after")
		work := filepath.Join(dir, ".openagent", "worktrees", "x", "work")
		if err := os.WriteFile(work, []byte("work"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := enterAgain(t, ws, dir, "x")
		if _, err := os.Stat(work); err != nil || !r.IsError {
			t.Errorf("%v %v", r.Content, err)
		}
	})
}

func killedRepository(t *testing.T) (string, *workspace.Workspace) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "repo")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	realGit(t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	realGit(t, dir, "add", ".")
	realGit(t, dir, "-c", "user.email=a@example.com", "-c", "user.name=A", "commit", "-qm", "one")
	ws := &workspace.Workspace{Root: dir}
	t.Cleanup(func() { ws.Close() })
	return dir, ws
}

func enterAgain(t *testing.T, ws *workspace.Workspace, dir, name string) *tool.Result {
	t.Helper()
	r, err := Enter(ws).Run(t.Context(), tool.Call{ID: "d", Session: "second", Name: "EnterWorktree", Dir: dir, Input: []byte(`{"name":"` + name + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func realGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// dieWhileEntering starts this program again, has it enter a worktree and kills it at a
// step of git.
func dieWhileEntering(t *testing.T, dir, step, when string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(hangingGit), 0o755); err != nil {
		t.Fatal(err)
	}
	reached := filepath.Join(filepath.Dir(dir), "reached")
	if err := syscall.Mkfifo(reached, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestWorktreeKilled$")
	cmd.Env = append(os.Environ(), killedVar+"="+dir, stopVar+"="+step, whenVar+"="+when, "REAL_GIT="+real, "GIT_CONFIG_GLOBAL="+os.DevNull,
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
		if f, err := os.OpenFile(reached, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close() // no test waits for a step that was not reached
		}
	}()
	if text, err := os.ReadFile(reached); err != nil || len(text) == 0 { // waits for the step
		t.Fatalf("the step %s was not reached: %v", step, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

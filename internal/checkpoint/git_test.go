package checkpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// A repository with others in it, a worktree and a submodule: their files come back, git's
// own data stays, and git reports the same state.
func TestRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root, other := t.TempDir(), t.TempDir()
	git(t, other, "init", "-q")
	plant(t, other, map[string]string{"lib.c": "int a;\n", ".gitignore": "*.o\n"})
	git(t, other, "add", ".")
	git(t, other, "commit", "-q", "-m", "one")
	git(t, root, "init", "-q")
	plant(t, root, map[string]string{"main.c": "int main;\n", ".gitignore": "/out/\n", "out/main": "binary"})
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "one")
	git(t, root, "submodule", "--quiet", "add", other, "sub")
	git(t, root, "worktree", "add", "-q", "tree", "-b", "branch")
	git(t, root, "clone", "-q", other, "nested")
	plant(t, root, map[string]string{"nested/lib.c": "int changed;\n", "sub/lib.o": "ignored there", "sub/new.c": "untracked\n"})
	status := func() string {
		return git(t, root, "status", "--porcelain", "--ignored") + git(t, filepath.Join(root, "sub"), "status", "--porcelain") +
			git(t, filepath.Join(root, "tree"), "status", "--porcelain") + git(t, filepath.Join(root, "nested"), "status", "--porcelain")
	}
	s := newStore(t)
	was, saw := state(t, root, nil), status()
	c := take(t, s, root)
	if c.GapCount != 0 {
		t.Error(c.Gaps)
	}
	plant(t, root, map[string]string{"main.c": "2", "sub/lib.c": "2", "tree/main.c": "2", "tree/new": "2", "nested/lib.c": "2", "nested/.gitignore": "lib.c\n"})
	must(t, os.Remove(filepath.Join(root, "sub", "new.c")))
	r := restore(t, s, c.ID)
	if got := state(t, root, ownIndex); len(r.Left) > 0 || got != dropIndex(was) {
		t.Errorf("left %v; want:\n%s\ngot:\n%s", r.Left, was, got)
	}
	if got := status(); got != saw {
		t.Errorf("git sees:\n%s\nand saw:\n%s", got, saw)
	}
	// A repository that was cloned in the meantime keeps its .git.
	git(t, root, "clone", "-q", other, "late")
	r = restore(t, s, c.ID)
	if len(r.Left) != 1 || r.Left[0].Path != "late" {
		t.Errorf("%+v", r.Left)
	}
	git(t, filepath.Join(root, "late"), "checkout", "-q", ".")
}

// A worktree that an agent was given after the checkpoint stays, with the work in it. It is
// covered if it is a root of its own.
func TestWorktreesOfAgents(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"a": "1", "sub/b": "1"})
	s := newStore(t)
	c := take(t, s, root)
	work := map[string]string{".openagent/worktrees/.gitignore": "*\n", ".openagent/worktrees/w/a": "work", "sub/.openagent/worktrees/w/b": "work"}
	plant(t, root, work)
	plant(t, root, map[string]string{"a": "2", ".openagent/other": "2"})
	if r := restore(t, s, c.ID); kinds(r.Changes) == "" {
		t.Errorf("%+v", r)
	}
	for name, want := range work {
		if got, err := os.ReadFile(filepath.Join(root, name)); string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, ".openagent/other")); !os.IsNotExist(err) {
		t.Error(err)
	}
	own := filepath.Join(root, ".openagent/worktrees/w")
	c = take(t, s, own)
	plant(t, own, map[string]string{"a": "more"})
	restore(t, s, c.ID)
	if got, err := os.ReadFile(filepath.Join(own, "a")); string(got) != "work" {
		t.Errorf("%q, %v", got, err)
	}
}

// ownIndex reports whether a file is the index of a repository, which git rewrites
// to remember times.
func ownIndex(path string) bool { return strings.HasSuffix(path, "/index") }

// dropIndex drops such files from a state.
func dropIndex(state string) string {
	var b strings.Builder
	for line := range strings.Lines(state) {
		if path, _, _ := strings.Cut(line, `" `); !ownIndex(path) {
			b.WriteString(line)
		}
	}
	return b.String()
}

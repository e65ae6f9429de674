package gitworktree

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

// A repo is a git repository with one commit, a workspace in it and the state of
// a session that works there.
type repo struct {
	testing.TB
	top, dir    string
	files       *workspace.Workspace
	enter, exit tool.Tool
	state       json.RawMessage
	calls       int
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: top}
	t.Cleanup(func() { ws.Close() })
	r := &repo{TB: t, top: top, dir: top, files: ws, enter: Enter(ws), exit: Exit(ws)}
	r.git("init", "-q", "-b", "main")
	r.put("a.txt", "one\n")
	r.put("sub/b.txt", "two\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	return r
}

// git runs git in the directory of the session.
func (r *repo) git(args ...string) string { r.Helper(); return r.gitIn(r.dir, args...) }

func (r *repo) gitIn(dir string, args ...string) string {
	r.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) put(name, content string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) do(tl tool.Tool, input string) *tool.Result {
	r.Helper()
	r.calls++
	res := tooltest.RunCall(r, tl, r.call(input))
	r.follow(res)
	return res
}

func (r *repo) call(input string) tool.Call {
	return tool.Call{ID: fmt.Sprint("c", r.calls, ".0"), Session: "s", Dir: r.dir, State: r.state, Input: json.RawMessage(input)}
}

// follow makes the changes that a result asks for.
func (r *repo) follow(res *tool.Result) {
	if res.Patch.Dir != "" {
		r.dir = res.Patch.Dir
	}
	if res.Patch.State != nil {
		r.state = res.Patch.State
	}
}

func (r *repo) ok(tl tool.Tool, input string) *tool.Result {
	r.Helper()
	res := r.do(tl, input)
	if res.IsError {
		r.Fatalf("%s %s: %s", tl.Spec().Name, input, res.Text())
	}
	return res
}

func (r *repo) fails(tl tool.Tool, input, want string) {
	r.Helper()
	dir := r.dir
	if res := r.do(tl, input); !res.IsError || !strings.Contains(res.Text(), want) {
		r.Errorf("%s %s: got %q, want an error with %q", tl.Spec().Name, input, res.Text(), want)
	}
	if r.dir != dir {
		r.Errorf("a failure leads to %s", r.dir)
	}
}

// untouched fails the test unless there is nothing but the main tree.
func (r *repo) untouched() {
	r.Helper()
	if list := r.gitIn(r.top, "worktree", "list"); strings.Contains(list, "\n") {
		r.Errorf("worktrees are left: %s", list)
	}
	if list := r.gitIn(r.top, "branch", "--list", "worktree-*"); list != "" {
		r.Errorf("branches are left: %s", list)
	}
	entries, _ := os.ReadDir(filepath.Join(r.top, worktreesFolder))
	for _, e := range entries {
		if e.Name() != ".gitignore" {
			r.Errorf("%s is left", e.Name())
		}
	}
}

func (r *repo) commit(message string) {
	r.Helper()
	r.put("mine.txt", message)
	r.git("add", ".")
	r.git("commit", "-q", "-m", message)
}

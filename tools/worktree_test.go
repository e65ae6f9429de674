package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/permission"
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
	r := &repo{TB: t, top: top, dir: top, files: ws, enter: EnterWorktree(ws), exit: ExitWorktree(ws)}
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

func TestWorktreeContract(t *testing.T) {
	ws := &workspace.Workspace{Root: t.TempDir()}
	defer ws.Close()
	tooltest.Check(t, EnterWorktree(ws))
	tooltest.Check(t, ExitWorktree(ws))
}

func TestWorktreeName(t *testing.T) {
	for in, want := range map[string]string{
		"feature":                 "feature",
		"Fix_1.2":                 "Fix_1.2",
		"../x":                    "x",
		"../../etc/passwd":        "etc-passwd",
		"/abs/path":               "abs-path",
		"a b\tc":                  "a-b-c",
		"-rf":                     "rf",
		"--force":                 "force",
		"größe":                   "gr-e",
		"日本語":                     "",
		"..":                      "",
		".git":                    "git",
		"a..b":                    "a.b",
		"a.-b":                    "a.b",
		"x.lock":                  "x",
		"x.LOCK.lock":             "x",
		"x.lock-":                 "x",
		"con":                     "w-con",
		"NUL.txt":                 "w-NUL.txt",
		"com1":                    "w-com1",
		"a@{1}~^:?*[":             "a-1",
		"a\x00b":                  "a-b",
		"a\\b":                    "a-b",
		strings.Repeat("x", 1000): strings.Repeat("x", maxWorktreeName),
	} {
		if got := worktreeName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzWorktreeName(f *testing.F) {
	for _, s := range []string{"a", "../x", "x.lock.lock", "con.", "é", "w-con"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := worktreeName(in)
		if out == "" {
			return
		}
		if !utf8.ValidString(out) || !filepath.IsLocal(out) || strings.ContainsAny(out, `/\ `) || strings.HasPrefix(out, "-") || strings.HasSuffix(out, ".lock") ||
			len(out) > maxWorktreeName+2 || worktreeName(out) != out {
			t.Errorf("%q gives %q, which gives %q", in, out, worktreeName(out))
		}
	})
}

func TestWorktreeEnterAndKeep(t *testing.T) {
	r := newRepo(t)
	r.put("a.txt", "changed\n")
	r.put("new.txt", "new\n")
	before := r.git("status", "--porcelain")
	res := r.ok(r.enter, `{"name":"my feature"}`)
	path := filepath.Join(r.top, ".openagent", "worktrees", "my-feature")
	if r.dir != path || res.Title == "" || !strings.Contains(res.Text(), path) {
		t.Errorf("in %s after %q", r.dir, res.Text())
	}
	var d worktreeDetails
	if err := json.Unmarshal(res.Details, &d); err != nil || d.Name != "my-feature" || d.Branch != "worktree-my-feature" || d.Base != r.gitIn(r.top, "rev-parse", "HEAD") || d.Dir != path {
		t.Errorf("%+v, %v", d, err)
	}
	if got := r.gitIn(r.top, "status", "--porcelain"); got != before {
		t.Errorf("the main tree's status is %q, was %q", got, before)
	}
	if got := r.git("status", "--porcelain", "--branch"); got != "## worktree-my-feature" {
		t.Errorf("the status of the worktree is %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(path, "a.txt")); string(data) != "one\n" {
		t.Errorf("%q, %v", data, err)
	}
	r.fails(r.enter, `{"name":"other"}`, "already")
	r.put("a.txt", "kept\n")
	if text := r.ok(r.exit, `{}`).Text(); r.dir != r.top || !strings.Contains(text, "is kept") {
		t.Errorf("in %s after %q", r.dir, text)
	}
	r.fails(r.exit, `{}`, "in no worktree, so there is none to leave")
	r.fails(r.exit, `{"action":"remove"}`, "name the one that is to be removed")
	if data, _ := os.ReadFile(filepath.Join(path, "a.txt")); string(data) != "kept\n" {
		t.Errorf("the kept work is %q", data)
	}
	// What was kept can be removed by its name, with the same care.
	r.fails(r.exit, `{"action":"remove","name":"my-feature"}`, "M a.txt")
	r.ok(r.exit, `{"action":"remove","id":"my-feature","discard_changes":true}`)
	r.untouched()
	if got := r.git("status", "--porcelain"); got != before {
		t.Errorf("the main tree's status is %q, was %q", got, before)
	}
}

// A worktree that was kept is entered again, by one session at a time.
func TestWorktreeEnterAgain(t *testing.T) {
	r := newRepo(t)
	r.ok(r.enter, `{"name":"x"}`)
	path := r.dir
	other := &repo{TB: t, top: r.top, dir: r.top, files: r.files, enter: r.enter, exit: r.exit}
	other.fails(r.enter, `{"name":"x"}`, "is taken") // a session is in it
	r.put("a.txt", "kept\n")
	r.git("switch", "-q", "-c", "elsewhere")
	if text := r.ok(r.exit, `{}`).Text(); !strings.Contains(text, "EnterWorktree with the name x") {
		t.Errorf("left with %q", text)
	}
	for _, c := range []string{`{}`, `{"action":"remove","name":"x"}`} { // a removal that is refused leaves it as it is
		r.do(r.exit, c)
	}
	res := other.ok(r.enter, `{"name":"x"}`)
	if data, _ := os.ReadFile(filepath.Join(path, "a.txt")); other.dir != path || string(data) != "kept\n" || !strings.Contains(res.Text(), "on the branch elsewhere") {
		t.Errorf("in %s with %q: %s", other.dir, data, res.Text())
	}
	r.fails(r.enter, `{"name":"x"}`, "is taken")
	other.ok(r.exit, `{}`)
	// Of many one gets in.
	var wg sync.WaitGroup
	var in atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			call := tool.Call{ID: fmt.Sprint("c", i, ".0"), Session: fmt.Sprint(i), Dir: r.top, Input: json.RawMessage(`{"name":"x"}`)}
			if res := tooltest.RunCall(t, r.enter, call); !res.IsError {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("%d sessions are in it", in.Load())
	}
	r.ok(r.exit, `{"action":"remove","name":"x","discard":true}`)
	r.git("branch", "-D", "elsewhere")
	r.untouched()
}

// What only looks like a worktree that was kept is not entered.
func TestWorktreeOnlyLooksKept(t *testing.T) {
	r := newRepo(t)
	r.put(worktreesFolder+"/x/a.txt", "theirs\n")
	r.put(worktreesFolder+"/x~kept", "")
	r.fails(r.enter, `{"name":"x"}`, "no worktree of the repository")
	r.ok(r.enter, `{"name":"y"}`)
	path := r.dir
	r.ok(r.exit, `{}`)
	if err := os.WriteFile(filepath.Join(path, ".git"), []byte("gitdir: "+filepath.Join(newRepo(t).top, ".git")), 0o644); err != nil {
		t.Fatal(err)
	}
	r.fails(r.enter, `{"name":"y"}`, "does not lead to the repository")
	// A mark that is left over gives no second session what is made now.
	r.put(worktreesFolder+"/z~kept", "")
	other := &repo{TB: t, top: r.top, dir: r.top, files: r.files, enter: r.enter, exit: r.exit}
	r.ok(r.enter, `{"name":"z"}`)
	other.fails(r.enter, `{"name":"z"}`, "is taken")
}

// A call without a name asks for no name: a rule with one that is made up would
// never hold again.
func TestWorktreeMadeUpName(t *testing.T) {
	r := newRepo(t)
	for input, want := range map[string]permission.Rule{`{}`: "EnterWorktree", `{"name":"日本"}`: "EnterWorktree", `{"name":"a b"}`: "EnterWorktree(a-b)"} {
		class := tool.Classify(r.enter, tool.Call{ID: "c1.0", Session: "s", Input: json.RawMessage(input)})
		if got := (permission.Request{Tool: "EnterWorktree", Access: class.Access}).Suggest(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: suggested %v, want %s", input, got, want)
		}
	}
	r.ok(r.enter, `{}`)
}

func TestWorktreeOfSubfolder(t *testing.T) {
	r := newRepo(t)
	sub := filepath.Join(r.top, "sub")
	ws := &workspace.Workspace{Root: sub} // the top is outside of what tools may use
	defer ws.Close()
	r.files, r.enter, r.exit, r.dir = ws, EnterWorktree(ws), ExitWorktree(ws), sub
	r.ok(r.enter, `{"name":"x"}`)
	if want := filepath.Join(sub, ".openagent", "worktrees", "x", "sub"); r.dir != want {
		t.Errorf("in %s, want %s", r.dir, want)
	}
	r.ok(r.exit, `{"action":"remove"}`)
	if r.dir != sub {
		t.Errorf("in %s", r.dir)
	}
	r.untouched()
}

func TestWorktreeRemoveLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		work func(r *repo)
		want string // "" is removed
	}{
		"nothing done": {func(*repo) {}, ""},
		"changed":      {func(r *repo) { r.put("a.txt", "x\n") }, " M a.txt"},
		"staged":       {func(r *repo) { r.put("a.txt", "x\n"); r.git("add", ".") }, "M  a.txt"},
		"untracked":    {func(r *repo) { r.put("new.txt", "x\n") }, "?? new.txt"},
		"untracked, hidden by a setting": {func(r *repo) {
			r.git("config", "status.showUntrackedFiles", "no")
			r.put("new.txt", "x\n")
		}, "?? new.txt"},
		"committed": {func(r *repo) { r.commit("mine") }, "mine"},
		"committed on a detached HEAD": {func(r *repo) {
			r.git("checkout", "-q", "--detach")
			r.commit("mine")
		}, "mine"},
		"committed, then moved back": {func(r *repo) {
			r.commit("mine")
			r.git("checkout", "-q", "--detach", "HEAD~1")
		}, "mine"},
		"merged":            {func(r *repo) { r.commit("mine"); r.gitIn(r.top, "merge", "-q", "worktree-x") }, ""},
		"on another branch": {func(r *repo) { r.git("switch", "-q", "-c", "feature"); r.commit("mine") }, ""},
		"pushed": {func(r *repo) {
			r.commit("mine")
			r.git("update-ref", "refs/remotes/origin/x", "HEAD")
		}, ""},
		"tagged": {func(r *repo) { r.commit("mine"); r.git("tag", "t") }, ""},
		"replaced by a commit that is elsewhere": {func(r *repo) {
			r.commit("mine")
			r.git("replace", "HEAD", "HEAD~1")
		}, "mine"},
		"marked skip-worktree":    {func(r *repo) { r.git("update-index", "--skip-worktree", "a.txt"); r.put("a.txt", "x\n") }, `"a.txt"`},
		"marked assume-unchanged": {func(r *repo) { r.git("update-index", "--assume-unchanged", "a.txt"); r.put("a.txt", "x\n") }, `"a.txt"`},
		"not there, as the sparse checkout says": {func(r *repo) {
			r.git("update-index", "--skip-worktree", "a.txt")
			if err := os.Remove(filepath.Join(r.dir, "a.txt")); err != nil {
				r.Fatal(err)
			}
		}, ""},
		"many marked": {func(r *repo) {
			var names []string
			for i := range 2 * maxLosses {
				names = append(names, fmt.Sprint("f", i))
				r.put(names[i], "")
			}
			r.git("add", ".")
			r.commit("many")
			r.gitIn(r.top, "merge", "-q", "worktree-x")
			r.git(append([]string{"update-index", "--skip-worktree"}, names...)...)
		}, "and more"},
		"many": {func(r *repo) {
			for i := range 3 * maxLosses {
				r.put(fmt.Sprint("f", i), "")
			}
		}, "and more"},
		"ignored": {func(r *repo) {
			r.put(".gitignore", "out\n")
			r.git("add", ".")
			r.commit("ignore")
			r.gitIn(r.top, "merge", "-q", "worktree-x")
			r.put("out", "x")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.ok(r.enter, `{"name":"x"}`)
			path := r.dir
			c.work(r)
			if c.want != "" {
				r.fails(r.exit, `{"action":"remove"}`, c.want)
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
				head := r.git("rev-parse", "worktree-x")
				if text := r.ok(r.exit, `{"action":"remove","discard":true}`).Text(); !strings.Contains(text, head) {
					t.Errorf("%q does not say where the branch was", text)
				}
			} else {
				r.ok(r.exit, `{"action":"remove"}`)
			}
			if r.dir != r.top {
				t.Errorf("in %s", r.dir)
			}
			r.untouched()
		})
	}
}

func (r *repo) commit(message string) {
	r.Helper()
	r.put("mine.txt", message)
	r.git("add", ".")
	r.git("commit", "-q", "-m", message)
}

// A submodule's commits are in the worktree's own part of the repository.
func TestWorktreeWithSubmodule(t *testing.T) {
	r := newRepo(t)
	other := newRepo(t)
	r.ok(r.enter, `{"name":"x"}`)
	r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.top, "module")
	r.commit("module")
	r.gitIn(r.top, "merge", "-q", "worktree-x")
	r.fails(r.exit, `{"action":"remove"}`, "submodules, which were not looked into:\n  \"module\"")
	if _, err := os.Stat(filepath.Join(r.dir, "module", "a.txt")); err != nil {
		t.Error(err)
	}
}

func TestWorktreeRefusals(t *testing.T) {
	r := newRepo(t)
	for input, want := range map[string]string{
		`{"action":"delete"}`:                               `action is "delete"`,
		`{"action":"remove"}`:                               "in no worktree",
		`{"action":"keep","name":"x"}`:                      "cannot be left",
		`{"action":"remove","name":"../../sub"}`:            "no worktree",
		`{"action":"remove","name":"sub","discard":true}`:   "there is no",
		`{"action":"remove","name":"a","id":"b"}`:           "differ",
		`{"action":"remove","name":".","discard":true}`:     "no worktree",
		`{"action":"remove","name":"sub/.","discard":true}`: "no worktree",
	} {
		r.fails(r.exit, input, want)
	}
	// A folder that is no worktree is not removed.
	r.put(".openagent/worktrees/mine/file", "x")
	r.fails(r.exit, `{"action":"remove","name":"mine","discard":true}`, "is no worktree of the repository")
	r.fails(r.enter, `{"name":"mine"}`, "is taken")
	if _, err := os.Stat(filepath.Join(r.top, ".openagent/worktrees/mine/file")); err != nil {
		t.Error(err)
	}
	// Nor a branch that was there before.
	r.git("branch", "worktree-there")
	r.fails(r.enter, `{"name":"there"}`, "is taken")
	r.git("rev-parse", "worktree-there")
	// A state that somebody made up leads nowhere.
	r.state = json.RawMessage(fmt.Sprintf(`{"Current":{"name":"x","path":%q,"branch":"main","from":%q}}`, filepath.Join(r.top, "sub"), r.top))
	r.dir = filepath.Join(r.top, "sub")
	r.fails(r.exit, `{"action":"remove","discard":true}`, "in no worktree")
	if _, err := os.Stat(filepath.Join(r.top, "sub", "b.txt")); err != nil {
		t.Error(err)
	}
}

func TestWorktreeWithoutRepository(t *testing.T) {
	r := newRepo(t)
	r.dir = r.top
	plain, _ := filepath.EvalSymlinks(t.TempDir())
	ws := &workspace.Workspace{Root: plain, Dirs: []string{r.top}}
	defer ws.Close()
	r.enter, r.exit, r.dir = EnterWorktree(ws), ExitWorktree(ws), plain
	r.fails(r.enter, `{}`, "is not in a git repository")
	r.gitIn(plain, "init", "-q")
	r.fails(r.enter, `{}`, "no commit yet")
	r.dir = filepath.Join(r.top, ".git")
	r.fails(r.enter, `{}`, "not among its files")
	r.dir = filepath.Dir(plain)
	r.fails(r.enter, `{}`, "outside the folders")
	if entries, _ := os.ReadDir(plain); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
	t.Setenv("PATH", t.TempDir())
	r.dir = r.top
	r.fails(r.enter, `{}`, "git is not installed")
}

// A repository cannot make the tools run a program, nor lead them elsewhere.
func TestWorktreeOfHostileRepository(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no shell scripts, no symlinks")
	}
	r := newRepo(t)
	trap := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0\" >> "+trap+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	hooks := filepath.Join(r.top, ".git", "hooks")
	for _, h := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"} {
		_ = os.Remove(filepath.Join(hooks, h))
		if err := os.MkdirAll(hooks, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(script, filepath.Join(hooks, h)); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range [][2]string{{"core.fsmonitor", script}, {"core.sshCommand", script}, {"core.pager", script}, {"core.editor", script}, {"gpg.program", script},
		{"log.showSignature", "true"}, {"diff.external", script}, {"core.askPass", script}, {"credential.helper", script}, {"alias.worktree", "!" + script}} {
		r.gitIn(r.top, "config", kv[0], kv[1])
	}
	_ = os.Remove(trap) // git config itself
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_SSH_COMMAND", script)
	r.ok(r.enter, `{"name":"x"}`)
	os.Unsetenv("GIT_DIR")
	r.put("a.txt", "x")
	r.fails(r.exit, `{"action":"remove"}`, " M a.txt")
	r.ok(r.exit, `{"action":"remove","discard":true}`)
	if data, err := os.ReadFile(trap); err == nil {
		t.Errorf("ran: %s", data)
	}
	r.untouched()

	r.put(".gitattributes", "*.txt filter=evil\n")
	r.gitIn(r.top, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "add", ".")
	r.gitIn(r.top, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "commit", "-q", "-m", "attributes")
	for _, key := range []string{"filter.evil.smudge", "filter.evil.process", "Filter.evil.Clean"} {
		r.gitIn(r.top, "config", key, script)
		_ = os.Remove(trap)
		r.fails(r.enter, `{"name":"x"}`, "own settings")
		r.gitIn(r.top, "config", "--unset", key)
	}
	if data, err := os.ReadFile(trap); err == nil {
		t.Errorf("ran: %s", data)
	}
	r.untouched()

	// The worktree's own link to the repository leads to another one.
	r.ok(r.enter, `{"name":"x"}`)
	r.put("a.txt", "precious")
	other := newRepo(t)
	if err := os.WriteFile(filepath.Join(r.dir, ".git"), []byte("gitdir: "+filepath.Join(other.top, ".git")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.fails(r.exit, `{"action":"remove"}`, "does not lead to the repository")

	// A link in the place of the folder of worktrees leads nowhere.
	linked := newRepo(t)
	elsewhere := filepath.Join(linked.top, "sub")
	if err := os.Symlink(elsewhere, filepath.Join(linked.top, ".openagent")); err != nil {
		t.Fatal(err)
	}
	linked.fails(linked.enter, `{"name":"x"}`, "leads to")
	if entries, _ := os.ReadDir(elsewhere); len(entries) != 1 {
		t.Errorf("made: %v", entries)
	}
	linked.untouched()
}

// Settings that hold for the new worktree only make no program run.
func TestWorktreeOfConditionalSettings(t *testing.T) {
	for _, condition := range []string{"gitdir:**/worktrees/**", "onbranch:worktree-**"} {
		r := newRepo(t)
		trap, elsewhere := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "settings")
		r.put(".gitattributes", "*.txt filter=evil\n")
		r.git("add", ".")
		r.git("commit", "-q", "-m", "attributes")
		r.git("config", "--file", elsewhere, "filter.evil.smudge", "echo >> '"+trap+"'; cat")
		r.git("config", "includeIf."+condition+".path", elsewhere)
		r.fails(r.enter, `{"name":"x"}`, "own settings")
		if _, err := os.Stat(trap); err == nil {
			t.Errorf("%s: the filter ran", condition)
		}
		r.untouched()
		// What runs nothing is no reason to refuse.
		if err := os.WriteFile(elsewhere, []byte("[user]\n\tname = n\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		r.ok(r.enter, `{"name":"x"}`)
	}
}

// The settings of a submodule are its own, and nobody has looked at them.
func TestWorktreeOfHostileSubmodule(t *testing.T) {
	r := newRepo(t)
	other := newRepo(t)
	other.put(".gitattributes", "*.txt filter=evil\n")
	other.git("add", ".")
	other.git("commit", "-q", "-m", "attributes")
	r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.top, "module")
	r.git("commit", "-q", "-m", "module")
	r.ok(r.enter, `{"name":"x"}`)
	module := filepath.Join(r.dir, "module")
	r.gitIn(r.top, "clone", "-q", other.top, module)
	trap := filepath.Join(t.TempDir(), "ran")
	r.gitIn(module, "config", "filter.evil.clean", "echo >> '"+trap+"'; cat")
	if err := os.WriteFile(filepath.Join(module, "a.txt"), []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.fails(r.exit, `{"action":"remove"}`, "submodules, which were not looked into:\n  \"module\"")
	if _, err := os.Stat(trap); err == nil {
		t.Error("the filter ran")
	}
	r.ok(r.exit, `{"action":"remove","discard":true}`)
	if _, err := os.Stat(trap); err == nil {
		t.Error("the filter ran on removal")
	}
}

// A worktree whose folder is gone can be left.
func TestWorktreeGone(t *testing.T) {
	r := newRepo(t)
	r.ok(r.enter, `{"name":"x"}`)
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if text := r.ok(r.exit, `{"action":"remove"}`).Text(); !strings.Contains(text, "gone already") || r.dir != r.top {
		t.Errorf("in %s after %q", r.dir, text)
	}
	r.git("rev-parse", "worktree-x")
}

// An agent that works in another folder now has left the worktree.
func TestWorktreeOfEarlierFolder(t *testing.T) {
	r := newRepo(t)
	r.ok(r.enter, `{"name":"x"}`)
	r.dir = r.top
	r.fails(r.exit, `{}`, "in no worktree")
	r.ok(r.enter, `{"name":"y"}`)
	if filepath.Base(r.dir) != "y" {
		t.Errorf("in %s", r.dir)
	}
}

// Of two that ask for one name at once one gets it, whole.
func TestWorktreeTwoAtOnce(t *testing.T) {
	r := newRepo(t)
	results := make([]*tool.Result, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = tooltest.RunCall(t, r.enter, r.call(`{"name":"x"}`)) })
	}
	wg.Wait()
	var won *tool.Result
	for _, res := range results {
		switch {
		case !res.IsError && won == nil:
			won = res
		case !res.IsError:
			t.Error("two have it")
		case !strings.Contains(res.Text(), "is taken"):
			t.Errorf("got %q", res.Text())
		}
	}
	if won == nil {
		t.Fatal("nobody has it")
	}
	r.follow(won)
	if got := r.git("status", "--porcelain", "--branch"); got != "## worktree-x" {
		t.Errorf("the status is %q", got)
	}
	r.ok(r.exit, `{"action":"remove"}`)
	r.untouched()
}

// A cancelled call leaves neither folder nor branch, whenever the end comes.
func TestWorktreeCancelled(t *testing.T) {
	r := newRepo(t)
	for i := range 300 { // so that the checkout takes a while
		r.put(fmt.Sprintf("d%d/f", i), strings.Repeat("x\n", 1000))
	}
	r.git("add", ".")
	r.git("commit", "-q", "-m", "many")
	const processes = 8 // that making a worktree takes
	for after := 1; after <= processes+1; after++ {
		ctx, cancel := context.WithCancel(t.Context())
		s := &stopping{Workspace: r.files, cancel: cancel, after: after}
		call := r.call(`{"name":"x"}`)
		out := tool.Run(ctx, EnterWorktree(s), call, 1<<40)
		cancel()
		if out.Result.IsError != (after <= processes) {
			t.Errorf("cancelled at process %d: %s", after, out.Result.Text())
		}
		if out.Result.IsError {
			r.untouched()
			continue
		}
		r.follow(out.Result)
		r.ok(r.exit, `{"action":"remove"}`)
	}
}

// A git that is killed while it makes the branch leaves its lock: the name can be used
// again all the same.
func TestWorktreeLockLeft(t *testing.T) {
	r := newRepo(t)
	lock := filepath.Join(r.top, ".git", "refs", "heads", "worktree-x.lock")
	ctx, cancel := context.WithCancel(t.Context())
	s := &locking{Workspace: r.files, lock: lock, cancel: cancel}
	if out := tool.Run(ctx, EnterWorktree(s), r.call(`{"name":"x"}`), 1<<40); !out.Result.IsError {
		t.Fatal("it was made")
	}
	r.untouched()
	r.ok(r.enter, `{"name":"x"}`)
}

// locking leaves a lock in the place of the first git that makes a branch.
type locking struct {
	*workspace.Workspace
	lock   string
	cancel context.CancelFunc
	done   bool
}

func (l *locking) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	if slices.Contains(c.Args, "update-ref") && !l.done {
		l.done = true
		if err := os.WriteFile(l.lock, nil, 0o600); err != nil {
			return nil, err
		}
		defer l.cancel()
	}
	return l.Workspace.Start(ctx, c)
}

// stopping cancels its call once so many processes were started.
type stopping struct {
	*workspace.Workspace
	cancel context.CancelFunc
	after  int
}

func (s *stopping) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	p, err := s.Workspace.Start(ctx, c)
	if s.after--; s.after == 0 {
		s.cancel()
	}
	return p, err
}

// Searches in a worktree find its files, though git's view of the main tree
// leaves them out.
func TestWorktreeIsSearched(t *testing.T) {
	r := newRepo(t)
	r.ok(r.enter, `{"name":"x"}`)
	r.put("needle.txt", "needle\n")
	for tl, input := range map[tool.Tool]string{Glob(r.files): `{"pattern":"**/needle*"}`, Grep(r.files): `{"pattern":"needle"}`} {
		if text := r.ok(tl, input).Text(); !strings.Contains(text, "needle.txt") {
			t.Errorf("%s in the worktree: %q", tl.Spec().Name, text)
		}
	}
	r.dir = r.top
	if text := r.ok(Glob(r.files), `{"pattern":"**/*.txt"}`).Text(); strings.Contains(text, "worktrees") {
		t.Errorf("a search of the main tree finds %q", text)
	}
}

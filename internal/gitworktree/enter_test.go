package gitworktree

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

func TestWorktreeContract(t *testing.T) {
	ws := &workspace.Workspace{Root: t.TempDir()}
	defer ws.Close()
	tooltest.Check(t, Enter(ws))
	tooltest.Check(t, Exit(ws))
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
	// A kept worktree can be removed by its name, with the same care.
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

// A folder that only looks like a kept worktree is not entered.
func TestWorktreeOnlyLooksKept(t *testing.T) {
	r := newRepo(t)
	r.put(worktreesFolder+"/x/a.txt", "theirs\n")
	r.put(worktreesFolder+"/x~kept", "")
	r.fails(r.enter, `{"name":"x"}`, "not a worktree of the repository")
	r.ok(r.enter, `{"name":"y"}`)
	path := r.dir
	r.ok(r.exit, `{}`)
	if err := os.WriteFile(filepath.Join(path, ".git"), []byte("gitdir: "+filepath.Join(newRepo(t).top, ".git")), 0o644); err != nil {
		t.Fatal(err)
	}
	r.fails(r.enter, `{"name":"y"}`, "does not lead to the repository")
	// A stale mark does not give a second session the new worktree.
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
		class := toolrun.Classify(r.enter, tool.Call{ID: "c1.0", Session: "s", Input: json.RawMessage(input)})
		if got := policies.Suggest(permission.Request{Tool: "EnterWorktree", Access: class.Access}); len(got) != 1 || got[0] != want {
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
	r.files, r.enter, r.exit, r.dir = ws, Enter(ws), Exit(ws), sub
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

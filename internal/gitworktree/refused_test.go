package gitworktree

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

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
	// A folder that is not a worktree is not removed.
	r.put(".openagent/worktrees/mine/file", "x")
	r.fails(r.exit, `{"action":"remove","name":"mine","discard":true}`, "is not a worktree of the repository")
	r.fails(r.enter, `{"name":"mine"}`, "is taken")
	if _, err := os.Stat(filepath.Join(r.top, ".openagent/worktrees/mine/file")); err != nil {
		t.Error(err)
	}
	// Nor a branch that was there before.
	r.git("branch", "worktree-there")
	r.fails(r.enter, `{"name":"there"}`, "is taken")
	r.git("rev-parse", "worktree-there")
	// A state that someone made up leads nowhere.
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
	r.enter, r.exit, r.dir = Enter(ws), Exit(ws), plain
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
		// Settings that run nothing are no reason to refuse.
		if err := os.WriteFile(elsewhere, []byte("[user]\n\tname = n\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		r.ok(r.enter, `{"name":"x"}`)
	}
}

// A submodule has its own settings, which were not checked.
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
		out := toolrun.Run(ctx, Enter(s), call, 1<<40)
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
	if out := toolrun.Run(ctx, Enter(s), r.call(`{"name":"x"}`), 1<<40); !out.Result.IsError {
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

// A repository may bring a link in the place of the file that marks a worktree as unfinished.
func TestWorktreeBegunLink(t *testing.T) {
	r := newRepo(t)
	r.ok(r.enter, `{"name":"first"}`) // which makes the folder
	r.ok(r.exit, `{"action":"remove"}`)
	link := filepath.Join(r.top, ".openagent", "worktrees", "x"+unfinishedSuffix)
	for _, target := range []string{"../../a.txt", "../../missing"} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
		r.fails(r.enter, `{"name":"x"}`, "is not a regular file; remove it")
		if _, err := os.Lstat(filepath.Join(r.top, "missing")); err == nil {
			t.Error("the file that the link names was made")
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	r.ok(r.enter, `{"name":"x"}`)
}

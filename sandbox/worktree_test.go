package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/workspace"
)

// repository makes a repository with a commit in a folder, and a worktree in it
// where a run's worktrees are made.
func repository(t *testing.T, dir, worktree string) {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, line := range []string{
		"git init -qb main . && git config user.email a@example.com && git config user.name A",
		"echo 1 > f && mkdir sub && echo 1 > sub/g && git add . && git commit -qm one && git branch other",
		"git worktree add -qb wt " + worktree,
	} {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
}

// A run in a worktree writes the worktree and commits there. It writes neither the
// folder that it is apart from nor what decides what git runs, whatever folder its
// shell is in.
func TestWorktree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for _, tt := range []struct {
		name     string
		settings sandbox.Settings
	}{
		{"usual", sandbox.Settings{}},
		{"what is around may be written", sandbox.Settings{Filesystem: sandbox.Filesystem{AllowWrite: []string{"..", "."}}}},
		{"by absolute paths", sandbox.Settings{AllowedWritePaths: []string{paths.RealPath(os.TempDir())}}},
		{"little is read", sandbox.Settings{AllowedReadPaths: []string{"."}}},
		{"the repository's folder is named", sandbox.Settings{Filesystem: sandbox.Filesystem{AllowWrite: []string{".git"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ws, box, dir := confined(t, tt.settings)
			top := filepath.Join(dir, ".openagent", "worktrees", "w")
			repository(t, dir, top)
			in := func(line string) *workspace.Outcome {
				o, err := ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: line, Dir: top})
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			if o := in("echo 2 >> f && git commit -qam two && git tag t && git stash list && git checkout -qb more && echo x > new && git add new && git commit -qm three && echo COMMITTED"); !strings.Contains(o.Text, "COMMITTED") {
				t.Errorf("%d %q", o.Code, o.Text)
			}
			lines := []string{
				"touch $D/x", "cd $D && touch x", "echo 2 > $D/f", "rm $D/f", "mv $D/sub $D/sub2", "echo '[core]' >> $D/.git/config", "git config core.fsmonitor x",
				"echo x > $D/.git/hooks/post-commit", "echo ../../../evil > $D/.git/worktrees/w/commondir", "echo /x/.git > $D/.git/worktrees/w/gitdir",
				"touch $D/.git/worktrees/w/config.worktree", "echo gitdir: /evil > .git", "rm .git", "git update-ref refs/heads/main HEAD", "rm $D/.git/refs/heads/main",
				"mv $D/.git/refs/heads $D/.git/refs/h", "touch $D/.git/index", "git -C $D commit -qm x --allow-empty", "ln -s x $D/l", "mkdir -p .vscode && touch .vscode/tasks.json",
				"git worktree remove --force $D/.openagent/worktrees/w", "touch $D/.git/logs/HEAD",
			}
			script := "D=" + dir // one command, because to confine one takes longer than to run all
			for i, line := range lines {
				script += fmt.Sprintf("\n( %s ) && echo DID %d", line, i)
			}
			if o := in(script + "\necho ALL"); strings.Contains(o.Text, "DID") || !strings.HasSuffix(o.Text, "ALL\n") {
				t.Errorf("of %q: %q", lines, o.Text)
			}
			o := in("cd " + dir)
			if o, err := ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: "touch x", Dir: top, State: o.State}); err != nil || o.Code == 0 || o.Dir != dir {
				t.Errorf("in the main tree: %+v %v", o, err)
			}
			status, err := exec.Command("git", "-C", dir, "status", "--porcelain").Output()
			if err != nil || len(strings.ReplaceAll(string(status), "?? .openagent/\n", "")) != 0 {
				t.Errorf("the main tree has changed: %s %v", status, err)
			}
			// File tools are judged in the same way, and the run in the main tree as before.
			edit := func(run, path string) permission.Behavior {
				return box.Decide(permission.Request{Tool: "Edit", Dir: run, Access: []permission.Access{{Kind: permission.EditFile, Target: path}}}).Behavior
			}
			if got := []permission.Behavior{edit(top, top+"/f"), edit(top, dir+"/f"), edit(top+"/sub", dir+"/sub/g"), edit(dir, dir+"/f")}; got[0] != "" || got[1] != permission.Denied || got[2] != permission.Denied || (tt.settings.AllowedWritePaths == nil && got[3] != "") {
				t.Errorf("edits: %q", got)
			}
			if o := run(t, ws, "cd "+dir+" && touch main && rm main && touch .openagent/worktrees/w/x", nil); o.Code == 0 || !strings.Contains(o.Text, ".openagent/worktrees/w/x") {
				t.Errorf("the run in the main tree: %d %q", o.Code, o.Text)
			}
		})
	}
}

// A path denied in a folder is denied in a worktree of it, by both names.
func TestWorktreeKeepsWhatIsDenied(t *testing.T) {
	ws, box, dir := confined(t, sandbox.Settings{DeniedPaths: []string{"sub"}, Filesystem: sandbox.Filesystem{DenyWrite: []string{"f"}}})
	top := filepath.Join(dir, ".openagent", "worktrees", "w")
	repository(t, dir, top)
	for _, line := range []string{"cat sub/g", "cat " + dir + "/sub/g", "echo x > f", "echo x > " + dir + "/f"} {
		o, err := ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: line, Dir: top})
		if err != nil {
			t.Fatal(err)
		}
		q := permission.Request{Tool: "Bash", Dir: top, Confined: true, Access: []permission.Access{{Kind: permission.RunCommand, Target: line, Dir: top}}}
		if o.Code == 0 || box.Decide(q).Behavior != permission.Denied {
			t.Errorf("%s: %d %q, %+v", line, o.Code, o.Text, box.Decide(q))
		}
	}
}

// A file .git alone opens no other repository.
func TestWorktreeThatIsNone(t *testing.T) {
	other := paths.RealPath(t.TempDir())
	repository(t, other, filepath.Join(other, "wt"))
	ws, _, dir := confined(t, sandbox.Settings{})
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, ws, "echo gitdir: "+other+"/.git/worktrees/wt > sub/.git", nil)
	o, err := ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: "touch " + other + "/.git/refs/x || touch " + other + "/.git/worktrees/wt/x", Dir: sub})
	if err != nil || o.Code == 0 {
		t.Errorf("%+v %v", o, err)
	}
	if o, err = ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: "touch " + dir + "/own", Dir: sub}); err != nil || o.Code != 0 {
		t.Errorf("%+v %v", o, err)
	}
}

// A session that begins in a worktree commits there, too.
func TestSessionInWorktree(t *testing.T) {
	main := paths.RealPath(t.TempDir())
	top := filepath.Join(paths.RealPath(t.TempDir()), "w")
	repository(t, main, top)
	box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: top})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	ws := &workspace.Workspace{Root: top, Confine: box.Confiner()}
	defer ws.Close()
	if ws.Confine == nil || box.State().Lacks != nil {
		t.Skip("nothing confines commands here")
	}
	if o := run(t, ws, "echo 2 > f && git commit -qam two && echo COMMITTED", nil); !strings.Contains(o.Text, "COMMITTED") {
		t.Errorf("%q", o.Text)
	}
	if o := run(t, ws, "touch "+main+"/x || git config a.b c || touch "+main+"/.git/hooks/x", nil); o.Code == 0 {
		t.Errorf("%q", o.Text)
	}
}

// Relative paths hold in every worktree of the repository, as soon as there is one and
// wherever it lies, for a run in any of them.
func TestRelativePathsFollowIntoWorktrees(t *testing.T) {
	settings := sandbox.Settings{DeniedPaths: []string{"sub"}, Filesystem: sandbox.Filesystem{DenyWrite: []string{"f"}, DenyRead: []string{"hidden/**"}}}
	ws, box, dir := confined(t, settings)
	outside := filepath.Join(paths.RealPath(t.TempDir()), "w2")
	inside := filepath.Join(dir, ".openagent", "worktrees", "w")
	repository(t, dir, outside)
	for _, line := range []string{"mkdir hidden && echo 1 > hidden/h && git add . && git commit -qm two", "git worktree add -qb wt2 " + inside, "git -C " + outside + " merge -q main"} {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	for _, mark := range []string{".gitignore", "x~kept"} { // files beside the worktrees are none
		if err := os.WriteFile(filepath.Join(filepath.Dir(inside), mark), []byte("*\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !box.Conceals(filepath.Join(outside, "sub", "g")) { // asked first of all: nothing has looked for worktrees
		t.Error("a file of a new worktree is shown")
	}
	for _, from := range []string{dir, inside} {
		for _, top := range []string{outside, inside, dir} {
			for _, name := range []string{"sub/g", "hidden/h"} {
				file := filepath.Join(top, filepath.FromSlash(name))
				if !box.Conceals(file) || !box.ConcealsIn(top) {
					t.Errorf("%s is shown by searches", file)
				}
				read := permission.Request{Tool: "Read", Dir: from, Access: []permission.Access{{Kind: permission.ReadFile, Target: file}}}
				if box.Decide(read).Behavior != permission.Denied {
					t.Errorf("from %s: %s is read", from, file)
				}
				o, err := ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: "cat " + file, Dir: from})
				if err != nil {
					t.Fatal(err)
				}
				line := permission.Request{Tool: "Bash", Dir: from, Access: []permission.Access{{Kind: permission.RunCommand, Target: "cat " + file, Dir: from}}}
				if o.Code == 0 || box.Decide(line).Behavior != permission.Denied {
					t.Errorf("from %s: cat %s: %d %q", from, file, o.Code, o.Text)
				}
			}
			edit := permission.Request{Tool: "Edit", Dir: from, Access: []permission.Access{{Kind: permission.EditFile, Target: filepath.Join(top, "f")}}}
			if box.Decide(edit).Behavior != permission.Denied {
				t.Errorf("from %s: %s/f is written", from, top)
			}
		}
	}
	if o, err := ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: "echo RAN", Dir: inside}); err != nil || !strings.Contains(o.Text, "RAN") {
		t.Errorf("%+v %v", o, err)
	}
	if box.Conceals(filepath.Join(outside, "f")) || box.Conceals(filepath.Join(dir, "subs")) {
		t.Error("more is hidden than the settings say")
	}
}

package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/workspace"
)

// guardedTests is a folder with tests that must not change: by a deny rule for Edit, or by
// the setting denyWrite.
func guardedTests(t *testing.T, s sandbox.Settings, deny ...permission.Rule) (*sandbox.Sandbox, string) {
	t.Helper()
	dir := paths.RealPath(t.TempDir())
	if err := os.MkdirAll(filepath.Join(dir, "tests"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tests/run.sh": "#!/bin/sh\ncat tests/data; echo RAN", "tests/data": "DATA\n", "a.txt": "A\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	box, err := sandbox.New(s, sandbox.Place{Dir: dir, Deny: deny})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box, dir
}

// inBox is the request for a command in the sandbox.
func inBox(box *sandbox.Sandbox, dir, line string) permission.Request {
	return permission.Request{Tool: "Bash", Dir: dir, Confined: box.Confiner() != nil, WriteProtected: box.WriteProtected(dir),
		Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}}
}

// The sandbox keeps protected files from being written, by whatever command. It lets
// commands read and run them, and so do the rules.
func TestProtectedFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		settings sandbox.Settings
		deny     permission.Rule
	}{
		"rule":    {sandbox.Settings{}, "Edit(/tests/**)"},
		"setting": {sandbox.Settings{Filesystem: sandbox.Filesystem{DenyWrite: []string{"tests"}}}, "Edit(/else)"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.settings.Enabled, tt.settings.AllowUnconfined = true, true
			box, dir := guardedTests(t, tt.settings, tt.deny)
			ws := &workspace.Workspace{Root: dir, Confine: box.Confiner()}
			defer ws.Close()
			if ws.Confine == nil || box.State().Lacks != nil {
				t.Skipf("nothing confines all of it here: %+v", box.State())
			}
			policy := permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{tt.deny}}
			for _, line := range []string{"bash tests/run.sh", "./tests/run.sh", "env ./tests/run.sh", "cp tests/data copy && cat copy && echo RAN"} {
				q := inBox(box, dir, line)
				if d := policy.Decide(q); d.Behavior != permission.Allowed {
					t.Errorf("%s: %+v", line, d)
				}
				if d := box.Decide(q); d.Behavior != permission.NoOpinion {
					t.Errorf("%s: %+v", line, d)
				}
				if o := run(t, ws, line, nil); !strings.Contains(o.Text, "DATA") || !strings.Contains(o.Text, "RAN") {
					t.Errorf("%s: %q", line, o.Text)
				}
			}
			lines := []string{
				"echo x > tests/data", "tee tests/data < a.txt", "sed -i s/D/d/ tests/data", "cp a.txt tests/data", "mv a.txt tests/data", "mv tests old", "rm -rf tests", "dd if=a.txt of=tests/data", "touch tests/new", "ln -sf ../a.txt tests/data", "chmod 0 tests/data",
				"truncate -s0 tests/data", "tar cf a.tar a.txt && tar -xf a.tar -C tests", "find tests -type f -delete", "perl -i -pe s/D/d/ tests/data", "python3 -c 'open(\"tests/data\", \"w\").write(\"x\")'", "sh -c 'cd tests && echo x > data'", "install a.txt tests/data", "rsync a.txt tests/data", "mkdir tests/more", "ln -s tests t && echo x > t/data",
			}
			before := digest(t, dir)
			run(t, ws, "( "+strings.Join(lines, " )\n( ")+" )\ntrue", nil) // one command, because to confine one takes longer than to run all
			if after := digest(t, dir); after != before {
				t.Errorf("one of %q changed the tests: %s", lines, after)
			}
		})
	}
}

// digest describes the protected folder.
func digest(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "cd "+dir+" && ls -l tests && cat tests/data tests/run.sh").CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// Without a backend the settings cannot hold the files: a command that may change them is
// asked about, and one that is known to is denied.
func TestProtectedWithoutBackend(t *testing.T) {
	for name, tt := range map[string]struct {
		settings sandbox.Settings
		deny     []permission.Rule
	}{
		"rule":    {sandbox.Settings{}, []permission.Rule{"Edit(/tests/**)"}},
		"setting": {sandbox.Settings{Filesystem: sandbox.Filesystem{DenyWrite: []string{"tests"}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			box, dir := guardedTests(t, tt.settings, tt.deny...)
			if held := box.WriteProtected(dir); held != nil {
				t.Errorf("%q is held by nothing", held)
			}
			for line, want := range map[string]permission.Behavior{
				"cat tests/data": permission.NoOpinion, "make": permission.NoOpinion, "./tests/run.sh": permission.NoOpinion,
				"bash tests/run.sh": permission.Asked, "pytest tests/data; ls": permission.Asked, "cp tests/data x": permission.Asked,
				"cp x tests/data": permission.Denied, "echo x > tests/data": permission.Denied, "pytest tests/data; rm tests/data": permission.Denied, "tee $x": permission.Denied,
			} {
				d := box.Decide(inBox(box, dir, line))
				if d.Behavior != want || want == permission.Asked && !strings.Contains(d.Reason, "no sandbox holds it") {
					t.Errorf("%s: %+v", line, d)
				}
			}
			var denied *sandbox.DeniedError
			if err := box.Rules().CheckCommand("bash tests/run.sh"); !errors.As(err, &denied) {
				t.Errorf("a check without a person: %v", err)
			}
		})
	}
}

// In a worktree the same files are protected, those of the folder around it too. Behind a
// link nothing counts as held.
func TestProtectedPlaces(t *testing.T) {
	ws, _, dir := confined(t, sandbox.Settings{})
	top := filepath.Join(dir, ".openagent", "worktrees", "w")
	repository(t, dir, top)
	if err := os.Symlink("sub", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	ws.Close()
	box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: dir, Roots: []string{top}, Deny: []permission.Rule{"Edit(/sub/**)", "Edit(/link/**)", "Edit(*.lock)", "Read(/f)"}})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	ws = &workspace.Workspace{Root: dir, Confine: box.Confiner()}
	defer ws.Close()
	for _, at := range []string{dir, top} {
		held := box.WriteProtected(at)
		for _, path := range []string{filepath.Join(dir, "sub"), filepath.Join(top, "sub")} {
			if !slices.Contains(held, path) {
				t.Errorf("in %s: %s is not among %q", at, path, held)
			}
			o, err := ws.Run(t.Context(), workspace.CommandLine{Session: "s", Command: "echo x > " + path + "/g; cat " + path + "/g", Dir: at})
			if err != nil || !strings.Contains(o.Text, "1\n") {
				t.Errorf("in %s: %s: %+v, %v", at, path, o, err)
			}
		}
		if slices.Contains(held, filepath.Join(dir, "link")) {
			t.Errorf("behind a link: %q", held)
		}
	}
}

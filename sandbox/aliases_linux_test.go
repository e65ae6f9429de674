package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
)

// A confined command does not read a denied file by a hard link in a folder that it
// works in, nor changes it there; other files with several names stay as they are.
func TestHardLinksAreHidden(t *testing.T) {
	for _, s := range []sandbox.Settings{
		{DeniedPaths: []string{"secret"}}, {DeniedPaths: []string{"secret/key"}}, {Filesystem: sandbox.Filesystem{DenyRead: []string{"secret"}}},
		{DeniedPaths: []string{"secret"}, AllowedWritePaths: []string{"sub"}},
	} {
		dir := paths.RealPath(t.TempDir())
		plantSecret(t, dir)
		for _, err := range []error{os.Link(dir+"/secret/key", dir+"/sub/deep"), os.WriteFile(dir+"/pub", []byte("PUBLIC"), 0o644), os.Link(dir+"/pub", dir+"/twin")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		ws, box := confinedAt(t, dir, s)
		if err := box.Rules().CheckPath(dir+"/sub/deep", permission.ReadFile); err == nil {
			t.Errorf("%+v: the file tools read it", s)
		}
		if o := run(t, ws, "cat hard sub/deep twin; grep -r TOPSECRET .; echo x >> hard; cp hard c && cat c", nil); strings.Contains(o.Text, "TOPSECRET") || !strings.Contains(o.Text, "PUBLIC") {
			t.Errorf("%+v: %q", s, o.Text)
		}
		if data, err := os.ReadFile(dir + "/secret/key"); err != nil || string(data) != "TOPSECRET\n" {
			t.Errorf("%+v: %q %v", s, data, err)
		}
	}
}

const bindVar = "OPENAGENT_TEST_BOUND"

// A confined command does not read denied files by a bind mount of them, of a folder
// around them or of one file. The mounts are made in a namespace of their own.
func TestBindMountsAreHidden(t *testing.T) {
	if dir := os.Getenv(bindVar); dir != "" {
		ws, box := confinedAt(t, filepath.Join(dir, "work"), sandbox.Settings{DeniedPaths: []string{"secret"}})
		o := run(t, ws, "cat ../bound/key ../around/work/secret/key ../one bound/key; cat pub ../around/work/pub", nil)
		if strings.Contains(o.Text, "TOPSECRET") || strings.Count(o.Text, "PUBLIC") != 2 {
			t.Errorf("%q", o.Text)
		}
		if err := box.Rules().CheckPath(dir+"/bound/key", permission.ReadFile); err == nil {
			t.Error("the file tools read it")
		}
		return
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("there is no unshare")
	}
	dir := paths.RealPath(t.TempDir())
	for _, name := range []string{"work/secret", "work/bound", "bound", "around"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"work/secret/key": "TOPSECRET\n", "work/pub": "PUBLIC\n", "one": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const script = `cd "$1" && mount --bind . around && mount --bind work/secret bound && mount --bind work/secret work/bound && mount --bind work/secret/key one || exit 77
exec "$2" -test.run '^TestBindMountsAreHidden$' -test.v`
	cmd := exec.CommandContext(t.Context(), unshare, "-m", "--propagation", "private", "sh", "-c", script, "sh", dir, os.Args[0])
	cmd.Env = append(os.Environ(), bindVar+"="+dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == 77 || strings.Contains(string(out), "unshare failed") || strings.Contains(string(out), "--- SKIP") {
		t.Skipf("no mounts can be made here: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

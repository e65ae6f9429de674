package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
)

// A denied path is denied by all of its names, however the setting spells it.
func TestDeniedByEveryName(t *testing.T) {
	for _, setting := range []string{"secret", "secret/", "./secret", "sub/../secret", "secret//", "secret/.", "secret/**", "link", "link/", "link/../secret", "sub/up/secret"} {
		for _, list := range []string{"deniedPaths", "denyRead"} {
			dir := paths.RealPath(t.TempDir())
			plantSecret(t, dir)
			s := sandbox.Settings{Enabled: true, AllowUnconfined: true, DeniedPaths: []string{setting}}
			if list == "denyRead" {
				s = sandbox.Settings{Enabled: true, AllowUnconfined: true, Filesystem: sandbox.Filesystem{DenyRead: []string{setting}}}
			}
			ws, box := confinedAt(t, dir, s)
			names := []string{"secret/key", "secret//key", "./secret/./key", "sub/../secret/key", "link/key", "sub/up/secret/key", "to-key", dir + "/secret/key", "/proc/self/cwd/secret/key", "secret/../secret/key"}
			for _, name := range append(names, "hard") {
				abs := name
				if !filepath.IsAbs(name) {
					abs = dir + "/" + name
				}
				if strings.HasPrefix(name, "/proc") { // whose folder is that of the command
					continue
				}
				for _, kind := range []permission.AccessKind{permission.ReadFile, permission.EditFile} {
					if err := box.Rules().CheckPath(abs, kind); err == nil {
						t.Errorf("%s %q: %s of %s is allowed", list, setting, kind, name)
					}
				}
			}
			if o := run(t, ws, "head -c 100 "+strings.Join(names, " "), nil); strings.Contains(o.Text, "TOPSECRET") {
				t.Errorf("%s %q: a command reads %q", list, setting, o.Text)
			}
		}
	}
}

func plantSecret(t *testing.T, dir string) {
	t.Helper()
	for _, err := range []error{
		os.MkdirAll(dir+"/secret", 0o755), os.MkdirAll(dir+"/sub", 0o755), os.WriteFile(dir+"/secret/key", []byte("TOPSECRET\n"), 0o644),
		os.Symlink("secret", dir+"/link"), os.Symlink("..", dir+"/sub/up"), os.Symlink("secret/key", dir+"/to-key"), os.Link(dir+"/secret/key", dir+"/hard"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A writable path in the working folder that is a symlink out of it is refused: the
// repository may have brought it along.
func TestWritableLinkThatLeadsOut(t *testing.T) {
	dir, out := paths.RealPath(t.TempDir()), paths.RealPath(t.TempDir())
	if err := os.Symlink(out, dir+"/build"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []sandbox.Settings{
		{AllowedWritePaths: []string{"build"}}, {AllowedWritePaths: []string{"build/"}}, {AllowedWritePaths: []string{"./x/../build/**"}},
		{AllowedWritePaths: []string{"build/new"}}, {Filesystem: sandbox.Filesystem{AllowWrite: []string{"build"}}},
	} {
		if _, err := s.At(sandbox.Place{Dir: dir}); err == nil || !strings.Contains(err.Error(), out) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	named := sandbox.Settings{AllowedWritePaths: []string{"build", out}}
	if _, err := named.At(sandbox.Place{Dir: dir}); err != nil {
		t.Error(err)
	}
}

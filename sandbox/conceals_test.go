package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/permission"
)

// Files that may not be read are hidden from searches, by the same decisions as for one
// file.
func TestConceals(t *testing.T) {
	dir := paths.RealPath(t.TempDir())
	for _, name := range []string{"secret/key", "hidden/a", "hidden/open/a", "pub/a"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "secret", "key"), filepath.Join(dir, "pub", "linked")); err != nil {
		t.Skip("no hard links here: ", err)
	}
	if err := os.Link(filepath.Join(dir, "pub", "a"), filepath.Join(dir, "pub", "twin")); err != nil {
		t.Fatal(err)
	}
	some := Settings{DeniedPaths: []string{"secret"}}
	some.Filesystem.DenyRead, some.Filesystem.AllowRead = []string{"hidden"}, []string{"hidden/open"}
	some.AllowedWritePaths = []string{"pub"}
	listed := Settings{AllowedReadPaths: []string{"pub"}, AllowedWritePaths: []string{"pub"}}
	for _, c := range []struct {
		settings Settings
		hidden   map[string]bool
	}{
		{some, map[string]bool{"secret": true, "secret/key": true, "secret/new": true, "secrets": false, "hidden/a": true, "hidden/open/a": false,
			"pub/a": false, "pub/linked": true, "pub/twin": false}},
		{listed, map[string]bool{"secret/key": true, "hidden/open/a": true, "pub/a": false, "pub/twin": false}},
		{Settings{}, map[string]bool{"secret/key": false, "pub/linked": false}},
	} {
		s, err := New(c.settings, Place{Dir: dir, Private: []string{filepath.Join(dir, "own")}})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range c.hidden {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if got := s.Conceals(path); got != want {
				t.Errorf("%+v: %s is concealed: %v", c.settings, name, got)
			}
			if err := s.Rules().CheckPath(path, permission.ReadFile); (err != nil) != want {
				t.Errorf("%+v: reading %s: %v", c.settings, name, err)
			}
			if want && !s.ConcealsIn(filepath.Dir(path)) {
				t.Errorf("%+v: nothing is concealed in the folder of %s", c.settings, name)
			}
		}
		if !s.Conceals(filepath.Join(dir, "own", "x")) || !s.ConcealsIn(dir) {
			t.Errorf("%+v: what the program keeps is shown", c.settings)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

package checkpoint_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/checkpoint"
)

const session = "s"

func newStore(t testing.TB) *checkpoint.Store {
	return &checkpoint.Store{Dir: filepath.Join(t.TempDir(), "store")}
}

// plant makes files; a name that ends in a slash is a folder, content that begins
// with "-> " a link.
func plant(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		must(t, os.MkdirAll(dir, 0o755))
		to, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case dir == path:
		case isLink:
			must(t, os.Symlink(to, path))
		default:
			must(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// state describes all that is in a folder, but for the paths that skip wants.
func state(t testing.TB, root string, skip func(path string) bool) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." {
			return err
		}
		if skip != nil && skip(filepath.ToSlash(rel)) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case info.Mode().Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			fmt.Fprintf(&b, "%q -> %q\n", rel, to)
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%q %v %x\n", rel, info.Mode(), sha256.Sum256(data))
			return err
		}
		fmt.Fprintf(&b, "%q %v\n", rel, info.Mode())
		return nil
	})
	must(t, err)
	return b.String()
}

func take(t testing.TB, s *checkpoint.Store, roots ...string) checkpoint.Checkpoint {
	t.Helper()
	c, err := s.Take(t.Context(), checkpoint.Mark{Session: session}, roots...)
	must(t, err)
	return c
}

func restore(t testing.TB, s *checkpoint.Store, id string) checkpoint.Report {
	t.Helper()
	r, err := s.Restore(t.Context(), session, id, checkpoint.Restoring{})
	must(t, err)
	return r
}

// kinds describes changes, one a line.
func kinds(list []checkpoint.Change) string {
	var b strings.Builder
	for _, c := range list {
		path := c.Path
		if c.Folder {
			path += "/"
		}
		fmt.Fprintf(&b, "%s %s\n", c.Kind, path)
	}
	return b.String()
}

// settle waits until changes that were made show in the stamps of files.
func settle(t testing.TB) {
	t.Helper()
	time.Sleep(50 * time.Millisecond)
}

package checkpoint_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// A gardener changes a tree at random, as commands do. Its links lead anywhere;
// it writes through an os.Root, so it changes nothing outside of its tree.
type gardener struct {
	*testing.T
	*rand.Rand
	root    *os.Root
	names   []string
	outside string // a file beside the tree that links lead to
}

func (g gardener) path() string {
	path := ""
	for range 1 + g.IntN(3) {
		path = filepath.Join(path, g.names[g.IntN(len(g.names))])
	}
	return path
}

// act does one thing. What does not work in the tree as it is does nothing.
func (g gardener) act() {
	path := g.path()
	dir := filepath.Dir(path)
	if info, err := g.root.Lstat(dir); err != nil || !info.IsDir() {
		if g.IntN(2) == 0 {
			_ = g.root.Remove(dir) // a file or link becomes a folder
		}
		_ = g.root.MkdirAll(dir, 0o755)
	}
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		_ = g.root.WriteFile(path, g.content(), 0o644)
	case 4:
		_ = g.root.Remove(path)
		_ = g.root.WriteFile(path, g.content(), fs.FileMode(g.IntN(8)<<6|0o400))
	case 5:
		_ = g.root.RemoveAll(path)
	case 6:
		if info, err := g.root.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSymlink {
			_ = g.root.Chmod(path, fs.FileMode(0o700|g.IntN(64)))
		}
	case 7:
		_ = g.root.RemoveAll(path)
		_ = g.root.Symlink([]string{"..", "a", "b/c", "../../nowhere", g.outside, g.names[0]}[g.IntN(6)], path)
	case 8, 9:
		_ = g.root.Rename(path, g.path())
	case 10:
		_ = g.root.MkdirAll(path, 0o755)
	case 11:
		_ = g.root.RemoveAll(path)
		_ = g.root.Link(g.path(), path)
	}
}

func (g gardener) content() []byte {
	switch g.IntN(10) {
	case 0:
		return nil
	case 1:
		return make([]byte, 1<<20+g.IntN(5))
	case 2:
		return []byte("openagent folder 1\n") // an empty folder in the store
	}
	return fmt.Appendf(nil, "%d", g.IntN(100))
}

var oddNames = []string{"a", "b", "c", "d", "a.o", "new\nline", "\xff\xfe", "ü"}

// After any changes, a restore brings exactly the old state back, and its undo exactly the
// newer one; ignored files stay as they are.
func TestRestoreIsExact(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names here are those of Linux")
	}
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			root, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			tree, err := os.OpenRoot(root)
			must(t, err)
			defer tree.Close()
			outside := t.TempDir()
			plant(t, outside, map[string]string{"file": "outside"})
			beside := state(t, outside, nil)
			s := newStore(t)
			g := gardener{t, rand.New(rand.NewPCG(uint64(seed), 1)), tree, oddNames, filepath.Join(outside, "file")}
			withIgnored := seed%3 == 0
			if withIgnored {
				plant(t, root, map[string]string{".gitignore": "*.o\n"})
			}
			act := func() {
				for range 1 + g.IntN(40) {
					g.act()
				}
			}
			type moment struct{ id, state string }
			var moments []moment
			for range 12 {
				act()
				if len(moments) == 0 || g.IntN(2) == 0 {
					moments = append(moments, moment{take(t, s, root).ID, state(t, root, nil)})
					continue
				}
				before := moments[g.IntN(len(moments))]
				now := state(t, root, nil)
				dry, err := s.Restore(t.Context(), session, before.id, checkpoint.Restoring{Dry: true})
				must(t, err)
				if state(t, root, nil) != now {
					t.Fatal("a dry run changed something")
				}
				r := restore(t, s, before.id)
				if kinds(dry.Changes) != kinds(r.Changes) {
					t.Fatalf("said:\n%s\ndone:\n%s", kinds(dry.Changes), kinds(r.Changes))
				}
				after := state(t, root, nil)
				if withIgnored {
					ignoredStay(t, now, after)
					continue
				}
				if len(r.Left) > 0 || after != before.state {
					t.Fatalf("left %q; want:\n%s\ngot:\n%s", r.Left, before.state, after)
				}
				if changes, err := s.Changes(t.Context(), session, before.id, ""); err != nil || len(changes) > 0 {
					t.Fatalf("still differs: %v, %v", kinds(changes), err)
				}
				if g.IntN(2) == 0 {
					restore(t, s, r.Undo)
					if got := state(t, root, nil); got != now {
						t.Fatalf("undone; want:\n%s\ngot:\n%s", now, got)
					}
				}
			}
			if damage, err := s.Verify(t.Context()); err != nil || len(damage) > 0 {
				t.Fatal(damage, err)
			}
			if got := state(t, outside, nil); got != beside {
				t.Fatalf("changed outside of the tree; want:\n%s\ngot:\n%s", beside, got)
			}
		})
	}
}

// ignoredStay compares the ignored files of two states.
func ignoredStay(t *testing.T, before, after string) {
	t.Helper()
	for line := range strings.Lines(before) {
		path, _, _ := strings.Cut(line, `" `)
		if strings.HasSuffix(path, ".o") || strings.Contains(path, ".o/") {
			if !strings.Contains(after, line) {
				t.Fatalf("lost: %s", line)
			}
		}
	}
}

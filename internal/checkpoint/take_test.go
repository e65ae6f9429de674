package checkpoint_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// A change of the same size right after a checkpoint is seen, even where the time
// of the file is set back.
func TestRacyChanges(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	path := filepath.Join(root, "a")
	for i := range 40 {
		text := fmt.Sprintf("%02d", i)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		info, err := os.Stat(path)
		must(t, err)
		c := take(t, s, root)
		must(t, os.WriteFile(path, []byte("xx"), 0o600))
		if i%2 == 0 && runtime.GOOS != "windows" {
			must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		}
		if changes, err := s.Changes(t.Context(), session, c.ID, ""); err != nil || kinds(changes) != "changed a\n" {
			t.Fatalf("round %d: %q, %v", i, kinds(changes), err)
		}
		restore(t, s, c.ID)
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("round %d: %q, %v", i, got, err)
		}
	}
}

// Files that have not changed are not read again.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("inodes are needed")
	}
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"a": "one", "d/b": "two"})
	settle(t)
	before := take(t, s, root)
	tree, err := filepath.Glob(filepath.Join(s.Dir, "trees", "*", "index"))
	if err != nil || len(tree) != 1 {
		t.Fatal(tree, err)
	}
	was, err := os.Stat(tree[0])
	must(t, err)
	again := take(t, s, root)
	if is, err := os.Stat(tree[0]); err != nil || !os.SameFile(was, is) {
		t.Error("the index was written again:", err)
	}
	if before.Trees[0] != again.Trees[0] || before.Trees[0].Files != 2 || before.Trees[0].Bytes != 6 {
		t.Error(before.Trees, again.Trees)
	}
	if before.ID >= again.ID || !before.Time.Before(again.Time) {
		t.Error(before, again)
	}
	// A damaged index costs time and nothing else.
	data, err := os.ReadFile(tree[0])
	must(t, err)
	for i := range data {
		data[i] ^= 1
		must(t, os.WriteFile(tree[0], data, 0o600))
		data[i] ^= 1
		if c := take(t, s, root); c.Trees[0] != again.Trees[0] {
			t.Fatalf("byte %d: %+v", i, c.Trees)
		}
	}
}

// Files that git ignored at the time of a checkpoint are not covered and never touched.
func TestIgnored(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{
		".gitignore": "*.log\n/build/\n", "a": "1", "x.log": "ignored", "build/out": "ignored", "d/y.log": "ignored", "d/z": "1",
		".git/HEAD": "ref", "sub/.git/HEAD": "ref", "sub/f.log": "another repository", "sub/.git/info/exclude": "*.tmp\n", "sub/g.tmp": "ignored",
	})
	c := take(t, s, root)
	if n := c.Trees[0].Files; n != 4 {
		t.Errorf("%d files are covered", n)
	}
	// Now nothing but a and z is ignored, and all is changed.
	for path, text := range map[string]string{".gitignore": "a\nz\n", "a": "2", "x.log": "2", "build/out": "2", "d/y.log": "2", "d/z": "2", ".git/HEAD": "2", "sub/f.log": "2", "sub/g.tmp": "2", "new": "2", "build/new": "2"} {
		must(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
	}
	r := restore(t, s, c.ID)
	if len(r.Left) > 0 {
		t.Error(r.Left)
	}
	check := func(want map[string]string) {
		t.Helper()
		for path, text := range want {
			got, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				got = []byte("none")
			}
			if string(got) != text {
				t.Errorf("%s is %q, want %q", path, got, text)
			}
		}
	}
	check(map[string]string{
		".gitignore": "*.log\n/build/\n", "a": "1", "d/z": "1", "sub/f.log": "another repository", "new": "none",
		"x.log": "2", "build/out": "2", "build/new": "2", "d/y.log": "2", ".git/HEAD": "2", "sub/g.tmp": "2",
	})
	restore(t, s, r.Undo)
	check(map[string]string{".gitignore": "a\nz\n", "a": "2", "d/z": "2", "sub/f.log": "2", "new": "2"})

	// An ignored folder is in the way of a former file.
	must(t, os.Remove(filepath.Join(root, "new")))
	plant(t, root, map[string]string{".gitignore": "*.log\n", "new/file": "3", "new/z": "precious"})
	r = restore(t, s, r.Undo)
	if len(r.Left) != 1 || r.Left[0].Path != "new" {
		t.Errorf("%+v", r)
	}
	check(map[string]string{"new/file": "3", "new/z": "precious"})
}

// Files that only newer ignore files hide are removed like all new files.
func TestIgnoredLater(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"a": "1", ".git/HEAD": "ref", ".git/info/exclude": "*.tmp\n", "old.tmp": "ignored", "own/.gitignore": "*.log\n", "own/old.log": "ignored"})
	before := state(t, root, nil)
	c := take(t, s, root)
	plant(t, root, map[string]string{
		".gitignore": "evil*\n.gitignore\n", "evil.go": "evil", "evil/deep/file": "evil",
		".git/info/exclude": "hidden\n", "hidden/file": "evil",
		"own/.gitignore": "*\n", "own/file": "evil",
		"nested/.gitignore": "*\n", "nested/file": "evil",
	})
	after := state(t, root, nil)
	dry, err := s.Restore(t.Context(), session, c.ID, checkpoint.Restoring{Dry: true})
	must(t, err)
	r := restore(t, s, c.ID)
	if len(r.Left) > 0 || kinds(dry.Changes) != kinds(r.Changes) {
		t.Errorf("left %v; changed\n%s\nnot\n%s", r.Left, kinds(r.Changes), kinds(dry.Changes))
	}
	plant(t, root, map[string]string{".git/info/exclude": "*.tmp\n"}) // never touched
	if got := state(t, root, nil); got != before {
		t.Errorf("want:\n%s\ngot:\n%s", before, got)
	}
	plant(t, root, map[string]string{".git/info/exclude": "hidden\n"})
	restore(t, s, r.Undo)
	if got := state(t, root, nil); got != after {
		t.Errorf("undone; want:\n%s\ngot:\n%s", after, got)
	}
}

// A repository that is newer than a checkpoint hides nothing; its own folder stays.
func TestRepositoryLater(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{".gitignore": "*.log\n", "a": "1"})
	c := take(t, s, root)
	plant(t, root, map[string]string{"new/.git/info/exclude": "*\n", "new/file": "evil", "new/x.log": "ignored"})
	r := restore(t, s, c.ID)
	if len(r.Left) != 1 || r.Left[0].Path != "new" {
		t.Errorf("%+v", r)
	}
	for path, stays := range map[string]bool{"new/file": false, "new/x.log": true, "new/.git/info/exclude": true} {
		if _, err := os.Stat(filepath.Join(root, path)); stays != (err == nil) {
			t.Error(path, err)
		}
	}
}

// Large files are gaps, unless the checkpoint to be restored has them.
func TestLargeFiles(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	s.MaxFile = 10
	plant(t, root, map[string]string{"small": "small", "large": "larger than that"})
	c := take(t, s, root)
	if c.GapCount != 1 || len(c.Gaps) != 1 || c.Gaps[0].Path != "large" || !strings.Contains(c.Gaps[0].Reason, "10 bytes") || c.Trees[0].Files != 1 {
		t.Fatalf("%+v", c)
	}
	plant(t, root, map[string]string{"small": "this has become large", "large": "x", "late": "large and new, as it is"})
	r := restore(t, s, c.ID)
	if got, _ := os.ReadFile(filepath.Join(root, "small")); string(got) != "small" {
		t.Errorf("%q", got)
	}
	if r.GapCount != 1 || r.Gaps[0].Path != "large" || len(r.Left) != 0 {
		t.Errorf("%+v", r)
	}
	for _, path := range []string{"large", "late"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error("what is not covered was touched:", err)
		}
	}
	restore(t, s, r.Undo)
	if got, _ := os.ReadFile(filepath.Join(root, "small")); string(got) != "this has become large" {
		t.Errorf("%q", got)
	}
}

// The checkpoints of several trees, one in the other, with the store inside.
func TestTrees(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	inner := filepath.Join(a, "inner")
	plant(t, a, map[string]string{"x": "1", "inner/y": "1"})
	plant(t, b, map[string]string{"z": "1"})
	s := &checkpoint.Store{Dir: filepath.Join(a, ".store")}
	c := take(t, s, a, b, inner, b)
	if len(c.Trees) != 3 || c.Trees[0].Files+c.Trees[1].Files+c.Trees[2].Files != 3 {
		t.Fatalf("%+v", c.Trees)
	}
	inStore := func(path string) bool { return path == ".store" }
	wasA, wasB := state(t, a, inStore), state(t, b, nil)
	plant(t, a, map[string]string{"x": "2", "inner/y": "2", "inner/new": "2"})
	must(t, os.RemoveAll(b)) // the tree itself
	if _, err := s.Restore(t.Context(), session, c.ID, checkpoint.Restoring{Dry: true}); !errors.Is(err, os.ErrNotExist) {
		t.Error("a dry run without the tree:", err)
	}
	restore(t, s, c.ID)
	if state(t, a, inStore) != wasA || state(t, b, nil) != wasB {
		t.Error(state(t, a, inStore), state(t, b, nil))
	}
	// A tree that is behind a link now is not the one that it was.
	must(t, os.Rename(b, b+"2"))
	must(t, os.Symlink(b+"2", b))
	if _, err := s.Restore(t.Context(), session, c.ID, checkpoint.Restoring{}); err == nil {
		t.Error("restored behind a link")
	}
	for _, roots := range [][]string{nil, {filepath.Join(a, "none")}, {filepath.Join(a, "x")}} {
		if _, err := s.Take(t.Context(), checkpoint.Mark{Session: session}, roots...); err == nil {
			t.Errorf("taken of %q", roots)
		}
	}
	for _, name := range []string{"", "\xff"} {
		if _, err := s.Take(t.Context(), checkpoint.Mark{Session: name}, a); err == nil {
			t.Errorf("taken for session %q", name)
		}
	}
}

func TestChanges(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"text": "one\ntwo\n", "gone": "x\n", "exec": "x", "binary": "\x00", "huge": strings.Repeat("x", 1<<20), "dir/f": "f\n", "link": "-> text", "same": "same"})
	c := take(t, s, root)
	must(t, os.WriteFile(filepath.Join(root, "text"), []byte("one\nthree\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "binary"), []byte("\x01"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "huge"), []byte(strings.Repeat("y\n", 100_000)), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "new"), []byte(strings.Repeat("line\n", 50_000)), 0o644))
	must(t, os.Remove(filepath.Join(root, "gone")))
	must(t, os.Chmod(filepath.Join(root, "exec"), 0o755))
	must(t, os.RemoveAll(filepath.Join(root, "dir")))
	must(t, os.Remove(filepath.Join(root, "link")))
	must(t, os.Symlink("same", filepath.Join(root, "link")))
	want := "changed binary\ndeleted dir/\ndeleted dir/f\nmode exec\ndeleted gone\nchanged huge\nchanged link\nadded new\nchanged text\n"
	now, err := s.Changes(t.Context(), session, c.ID, "")
	if err != nil || kinds(now) != want {
		t.Fatalf("%v\n%s", err, kinds(now))
	}
	if d := now[8].Diff; d != "--- text\n+++ text\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n" {
		t.Errorf("%q", d)
	}
	if now[0].Diff != "" || now[5].Diff != "" || !strings.HasPrefix(now[4].Diff, "--- gone\n+++ /dev/null\n") {
		t.Errorf("%+v", now)
	}
	if n := len(now[7].Diff); !now[7].DiffCut || n > 64<<10 || n < 60<<10 {
		t.Error("the diff of a long file has", n)
	}
	before, err := s.Changes(t.Context(), session, "", c.ID)
	then := take(t, s, root)
	if back, err2 := s.Changes(t.Context(), session, then.ID, c.ID); err != nil || err2 != nil || !slices.Equal(before, back) {
		t.Errorf("%v, %v\n%s", err, err2, kinds(before))
	}
	both, err := s.Changes(t.Context(), session, c.ID, then.ID)
	if err != nil || kinds(both) != want || both[8].Diff != now[8].Diff {
		t.Errorf("%v\n%s", err, kinds(both))
	}
	back, err := s.Changes(t.Context(), session, then.ID, c.ID)
	if err != nil || !strings.HasPrefix(kinds(back), "changed binary\nadded dir/\nadded dir/f\n") {
		t.Errorf("%v\n%s", err, kinds(back))
	}
	for _, id := range []string{"none", "../" + c.ID, strings.Replace(c.ID, "0", "1", 1)} {
		if _, err := s.Changes(t.Context(), session, id, ""); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Error(id, err)
		}
		if _, err := s.Restore(t.Context(), session, id, checkpoint.Restoring{Dry: true}); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Error(id, err)
		}
	}
}

// Modes of folders, and folders that nothing can be written to.
func TestFolderModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"ro/a": "1", "ro/sub/b": "1", "empty/": ""})
	must(t, os.Chmod(filepath.Join(root, "ro", "sub"), 0o500))
	must(t, os.Chmod(filepath.Join(root, "ro"), 0o555))
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(root, "ro"), 0o700)
		_ = os.Chmod(filepath.Join(root, "ro/sub"), 0o700)
	})
	was := state(t, root, nil)
	c := take(t, s, root)
	must(t, os.Chmod(filepath.Join(root, "ro"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "ro", "a"), []byte("2"), 0o600))
	must(t, os.Chmod(filepath.Join(root, "ro"), 0o511))
	must(t, os.Remove(filepath.Join(root, "empty")))
	restore(t, s, c.ID)
	if got := state(t, root, nil); got != was {
		t.Errorf("want:\n%s\ngot:\n%s", was, got)
	}
}

// A checkpoint's place in time does not depend on the clock alone.
func TestOrder(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	var last time.Time
	for i := range 50 {
		c, err := s.Take(t.Context(), checkpoint.Mark{Session: session, Seq: int64(i), Label: fmt.Sprint(i)}, root)
		must(t, err)
		if !c.Time.After(last) {
			t.Fatal(c.Time, last)
		}
		last = c.Time
	}
	list, err := s.List(t.Context(), session)
	must(t, err)
	for i, c := range list {
		if c.Seq != int64(i) || c.Label != fmt.Sprint(i) {
			t.Fatalf("%d: %+v", i, c)
		}
	}
}

// Separate trees are not covered, and stay when files are brought back.
func TestApart(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	s.Apart = []string{filepath.Join(root, "own", "log"), filepath.Join(root, "never was")}
	plant(t, root, map[string]string{"a": "1", "own/log/x": "1", "own/b": "1"})
	c := take(t, s, root)
	if c.Trees[0].Files != 2 {
		t.Errorf("%+v", c)
	}
	plant(t, root, map[string]string{"a": "2", "own/log/x": "2", "own/log/y": "2", "own/b": "2"})
	want := "changed a\nchanged own/b\n"
	if r := restore(t, s, c.ID); kinds(r.Changes) != want || len(r.Left) > 0 {
		t.Errorf("%+v", r)
	}
	if got, _ := os.ReadFile(filepath.Join(root, "own", "log", "x")); string(got) != "2" {
		t.Errorf("%q", got)
	}
}

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// Every write of a Take, a Restore and a Prune fails once: the old data stays whole, and
// the next one works.
func TestDiskFails(t *testing.T) {
	faults := []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS}
	for _, what := range []string{"take", "restore", "prune"} {
		var next atomic.Int64
		var over atomic.Bool
		sideBySide(6, func(int) {
			for n := next.Add(1); !over.Load(); n = next.Add(1) {
				there := false
				t.Run(fmt.Sprintf("%s %d", what, n), func(t *testing.T) {
					if n > 500 {
						t.Fatal("it writes for ever")
					}
					there = failAt(t, n, what, faults[n%3])
				})
				if !there {
					over.Store(true)
				}
			}
		})
	}
}

// sideBySide calls f with 0 to n-1 at once: most of the time they wait for the disk.
func sideBySide(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// failAt reports whether there was an nth operation.
func failAt(t *testing.T, n int64, what string, fault error) bool {
	t.Helper()
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"a": "one", "d/b": "two", "d/big": strings.Repeat("x", 1<<20+1), "l": "-> a"})
	first := take(t, s, root)
	was := state(t, root, nil)
	must(t, os.RemoveAll(filepath.Join(root, "d")))
	plant(t, root, map[string]string{"a": "three", "e/f": "four", "e/big": strings.Repeat("y", 1<<20+1)})
	now := state(t, root, nil)

	broken := &checkpoint.Store{Dir: s.Dir, MaxAge: s.MaxAge}
	if what == "prune" {
		take(t, s, root)
		broken.Quota = 3 << 19
	}
	var count atomic.Int64
	broken.Fail(func(checkpoint.Op) error {
		if count.Add(1) == n {
			return fault
		}
		return nil
	})
	var err error
	switch what {
	case "take":
		_, err = broken.Take(t.Context(), checkpoint.Mark{Session: session}, root)
	case "restore":
		_, err = broken.Restore(t.Context(), session, first.ID, checkpoint.Restoring{})
	case "prune":
		_, err = broken.Prune(t.Context())
	}
	if err != nil && !errors.Is(err, fault) {
		t.Fatalf("operation %d: %v", n, err)
	}
	if got := state(t, root, nil); got != now && (what != "restore" || err != nil || got != was) {
		t.Fatalf("operation %d changed the tree:\n%s", n, got)
	}
	list, listErr := s.List(t.Context(), session)
	must(t, listErr)
	damage, verifyErr := s.Verify(t.Context())
	if verifyErr != nil || len(damage) > 0 || what != "prune" && len(list) == 0 {
		t.Fatalf("operation %d: %d listed, %v, %v", n, len(list), damage, verifyErr)
	}
	if what == "take" && err != nil && len(list) != 1 {
		t.Fatalf("operation %d failed and left a checkpoint", n)
	}
	if what != "prune" {
		restore(t, s, first.ID)
		if got := state(t, root, nil); got != was {
			t.Fatalf("operation %d; want:\n%s\ngot:\n%s", n, was, got)
		}
	}
	_, err = s.Prune(t.Context())
	must(t, err)
	if left, err := os.ReadDir(filepath.Join(s.Dir, "tmp")); err != nil || len(left) > 0 {
		t.Fatal("unfinished files are left:", left, err)
	}
	return count.Load() >= n
}

// An endingContext ends when it is asked for the nth time.
type endingContext struct {
	context.Context
	left atomic.Int64
}

func (c *endingContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A Take or Restore that is cancelled at any point changes nothing, or ends.
func TestCancel(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"a": "one", "b/c/d": "two"})
	first := take(t, s, root)
	plant(t, root, map[string]string{"a": "three", "b/e": "four", "f": strings.Repeat("x", 1<<20+1)})
	now := state(t, root, nil)
	for _, what := range []string{"take", "restore"} {
		for n := int64(0); ; n += 1 + n/8 {
			if n > 1000 {
				t.Fatal("it is never done")
			}
			before, err := s.List(t.Context(), session)
			must(t, err)
			ctx := &endingContext{Context: t.Context()}
			ctx.left.Store(n)
			if what == "take" {
				_, err = s.Take(ctx, checkpoint.Mark{Session: session}, root)
			} else {
				_, err = s.Restore(ctx, session, first.ID, checkpoint.Restoring{})
			}
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(what, n, err)
			}
			if got := state(t, root, nil); got != now {
				t.Fatalf("%s %d changed the tree:\n%s", what, n, got)
			}
			after, err := s.List(t.Context(), session)
			must(t, err)
			if what == "take" && len(after) != len(before) {
				t.Fatal("a cancelled Take has left a checkpoint")
			}
		}
	}
	if got := state(t, root, nil); got == now {
		t.Error("it was not restored in the end")
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir, "tmp")); err != nil || len(left) > 0 {
		t.Error("unfinished files are left:", left, err)
	}
}

// A flipped bit is found, with all checkpoints that it affects, and nothing is restored
// from it. The content is verified before the first file changes; if that fails no file
// changes.
func TestKeptFirst(t *testing.T) {
	root, s := t.TempDir(), newStore(t)
	plant(t, root, map[string]string{"a": "one", "d/b": "one"})
	first := take(t, s, root)
	plant(t, root, map[string]string{"a": "two", "c": "new"})
	before := state(t, root, nil)
	refused := errors.New("refused")
	undo := ""
	_, err := s.Restore(t.Context(), session, first.ID, checkpoint.Restoring{Kept: func(id string) error { undo = id; return refused }})
	if now := state(t, root, nil); !errors.Is(err, refused) || undo == "" || now != before {
		t.Errorf("%q, %v\n%s", undo, err, now)
	}
	kept := func(id string) error {
		if undo = id; state(t, root, func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".openagent-restore-") }) != before {
			t.Error("files changed before")
		}
		return nil
	}
	r, err := s.Restore(t.Context(), session, first.ID, checkpoint.Restoring{Kept: kept})
	if err != nil || r.Undo != undo || len(r.Changes) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	restore(t, s, undo)
	if now := state(t, root, nil); now != before {
		t.Errorf("undone:\n%s", now)
	}
	undo = ""
	if r, err := s.Restore(t.Context(), session, r.Undo, checkpoint.Restoring{Kept: kept}); err != nil || len(r.Changes) > 0 || undo != "" {
		t.Errorf("nothing to do: %+v, %q, %v", r, undo, err)
	}
}

func TestDamage(t *testing.T) {
	for _, area := range []string{"contents", "folders", "sessions"} {
		t.Run(area, func(t *testing.T) {
			root := t.TempDir()
			s := newStore(t)
			plant(t, root, map[string]string{"a": "one"})
			c := take(t, s, root)
			_, err := s.Take(t.Context(), checkpoint.Mark{Session: "other"}, root)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(root, "a"), []byte("two"), 0o600))
			now := state(t, root, nil)
			files, err := filepath.Glob(filepath.Join(s.Dir, area, "*", "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, path := range files {
				data, err := os.ReadFile(path)
				must(t, err)
				data[len(data)/2] ^= 4
				must(t, os.WriteFile(path, data, 0o600))
			}
			damage, err := s.Verify(t.Context())
			if err != nil || len(damage) != len(files) {
				t.Fatalf("%v, %v; want %q", damage, err, files)
			}
			for i, d := range damage {
				if d.File != files[i] || area != "sessions" && len(d.Checkpoints) != 2 {
					t.Errorf("%+v", d)
				}
			}
			_, err = s.Restore(t.Context(), session, c.ID, checkpoint.Restoring{})
			if _, ok := errors.AsType[*checkpoint.CorruptError](err); !ok {
				t.Error("restored:", err)
			}
			if got := state(t, root, nil); got != now {
				t.Errorf("changed:\n%s", got)
			}
			_, err = s.Prune(t.Context())
			must(t, err)
			damage, err = s.Verify(t.Context())
			if must(t, err); area == "sessions" && len(damage) > 0 {
				t.Error("still there:", damage)
			}
		})
	}
}

// Content that a store has lost is stored again.
func TestContentLost(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"a": "one", "b": ""})
	take(t, s, root)
	settle(t)
	take(t, s, root)
	for _, area := range []string{"contents", "folders"} {
		files, err := filepath.Glob(filepath.Join(s.Dir, area, "*", "*"))
		must(t, err)
		for i, path := range files {
			if i%2 == 0 {
				must(t, os.Remove(path))
			} else {
				must(t, os.WriteFile(path, []byte("torn by a power cut"), 0o600))
			}
		}
		was := state(t, root, nil)
		c := take(t, s, root)
		must(t, os.Remove(filepath.Join(root, "a")))
		restore(t, s, c.ID)
		if got := state(t, root, nil); got != was {
			t.Errorf("without %s:\n%s", area, got)
		}
	}
}

// A store that cannot be written says so.
func TestNoStore(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, nil, 0o600))
	s := &checkpoint.Store{Dir: filepath.Join(path, "store")}
	if _, err := s.Take(t.Context(), checkpoint.Mark{Session: session}, root); !errors.Is(err, syscall.ENOTDIR) {
		t.Error(err)
	}
	if u, err := s.Usage(t.Context()); err != nil && !errors.Is(err, syscall.ENOTDIR) || u.Bytes != 0 {
		t.Error(u, err)
	}
}

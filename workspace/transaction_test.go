package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// snapshot describes all that is below dir: names, modes, times, contents.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			all[path] = info.Mode().String()
			return nil
		}
		data, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUpdateAll(t *testing.T) {
	dir := layout(t, map[string]string{"a": "one", "run.sh": "old", "gone": "g", "same": "s", "empty": ""})
	for name, mode := range map[string]fs.FileMode{"a": 0o640, "run.sh": 0o755, "gone": 0o600} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(filepath.Join(dir, "same"))
	if err != nil {
		t.Fatal(err)
	}
	w := &Workspace{Root: dir}
	names := []string{"a", "run.sh", "new/deep/run.sh", "gone", "same", "empty", "none", "new/deep/other"}
	err = w.UpdateAll(t.Context(), "", names, func(old [][]byte) ([]Content, error) {
		for i, want := range []string{"one", "old", "", "g", "s", "", "", ""} {
			if string(old[i]) != want || (old[i] == nil) != slices.Contains([]int{2, 6, 7}, i) {
				t.Errorf("%s: got %q", names[i], old[i])
			}
		}
		return []Content{{Data: []byte("two")}, {Remove: true}, {Data: []byte("new"), Like: "run.sh"}, {Remove: true},
			{Data: old[4]}, {Data: []byte("full")}, {Remove: true}, {}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for path, text := range snapshot(t, dir) {
		if !strings.HasPrefix(text, "d") {
			got[strings.TrimPrefix(path, dir)] = text
		}
	}
	for name, want := range map[string]string{"/a": "-rw-r-----", "/new/deep/run.sh": "-rwxr-xr-x", "/same": "-rw-", "/empty": "-rw-", "/new/deep/other": "-rw-"} {
		if !strings.HasPrefix(got[name], want) && runtime.GOOS != "windows" {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	for name, want := range map[string]string{"/a": `"two"`, "/new/deep/run.sh": `"new"`, "/same": `"s"`, "/empty": `"full"`, "/new/deep/other": `""`} {
		if !strings.HasSuffix(got[name], want) {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if after, err := os.Stat(filepath.Join(dir, "same")); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Error("what stays the same was written")
	}
}

// TestUpdateAllFails: whatever fails, and when, all is as it was, times
// and modes too, and nothing of ours is left.
func TestUpdateAllFails(t *testing.T) {
	refused := errors.New("refused")
	write := func(texts ...string) []Content {
		var all []Content
		for _, s := range texts {
			all = append(all, Content{Data: []byte(s), Remove: s == "-"})
		}
		return all
	}
	for name, c := range map[string]struct {
		names []string
		set   []Content
		early func(dir string) error // after reading, before anything is written
		err   string
		is    error
	}{
		"change refuses":     {names: []string{"a", "b"}, err: "refused", is: refused},
		"a count":            {names: []string{"a", "b"}, set: write("x"), err: "1 contents"},
		"twice":              {names: []string{"a", "./a"}, err: "named twice"},
		"through a link":     {names: []string{"a", "link"}, err: "named twice"},
		"outside":            {names: []string{"a", "../x"}, is: ErrOutside},
		"a folder":           {names: []string{"a", "d"}, err: "is a folder"},
		"like what":          {names: []string{"a", "new"}, set: []Content{{Data: []byte("x")}, {Like: "b"}}, err: "not one of the files"},
		"below a file":       {names: []string{"a", "b", "new/x", "c/new"}, set: write("x", "-", "y", "z"), err: "not a directory"},
		"name too long":      {names: []string{"a", "new/" + strings.Repeat("n", 300)}, set: write("x", "y"), err: "name too long"},
		"file and folder":    {names: []string{"a", "b", "n/deep", "n"}, set: write("x", "-", "y", "z"), err: "it is now a folder"},
		"folder appears":     {names: []string{"a", "b", "new/1", "late"}, set: write("x", "-", "y", "z"), early: func(dir string) error { return os.Mkdir(filepath.Join(dir, "late"), 0o755) }, err: "it is now a folder"},
		"file appears":       {names: []string{"a", "b", "new/1", "late"}, set: write("x", "-", "y", "z"), early: func(dir string) error { return os.WriteFile(filepath.Join(dir, "late"), nil, 0o644) }, is: ErrChanged},
		"file goes":          {names: []string{"a", "b", "new/1", "extra"}, set: write("x", "-", "y", "z"), early: func(dir string) error { return os.Remove(filepath.Join(dir, "extra")) }, is: ErrChanged},
		"file goes unwanted": {names: []string{"a", "b", "new/1", "extra"}, set: write("x", "-", "y", "-"), early: func(dir string) error { return os.Remove(filepath.Join(dir, "extra")) }, is: ErrChanged},
		"file changes":       {names: []string{"b", "a", "new/1", "extra"}, set: write("-", "x", "y", "z"), early: func(dir string) error { return os.WriteFile(filepath.Join(dir, "extra"), []byte("theirs"), 0o644) }, is: ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := layout(t, map[string]string{"work/a": "one", "work/b": "two", "work/c": "three", "work/d/": "", "work/link": "->a", "work/extra": "mine"})
			work := filepath.Join(dir, "work")
			if err := errors.Join(os.Chmod(filepath.Join(work, "a"), 0o751), os.Chtimes(filepath.Join(work, "a"), time.Time{}, time.Unix(1e9, 0))); err != nil {
				t.Fatal(err)
			}
			w := &Workspace{Root: work}
			before := snapshot(t, dir)
			err := w.UpdateAll(t.Context(), "", c.names, func([][]byte) ([]Content, error) {
				if c.early != nil {
					if err := c.early(work); err != nil {
						t.Fatal(err)
					}
					before = snapshot(t, dir)
				}
				if c.set == nil {
					return nil, refused
				}
				return c.set, nil
			})
			if err == nil || c.is != nil && !errors.Is(err, c.is) || c.is == nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
			if after := snapshot(t, dir); !maps.Equal(before, after) {
				t.Errorf("%v\nbefore: %v\nafter:  %v", err, before, after)
			}
		})
	}
}

// TestUpdateAllCancelled: a context that ends at any moment leaves all or nothing.
func TestUpdateAllCancelled(t *testing.T) {
	for after := range 14 {
		dir := layout(t, map[string]string{"a": "one", "b": "two", "c": "three"})
		w := &Workspace{Root: dir}
		before := snapshot(t, dir)
		ctx := &countdown{Context: t.Context(), left: after}
		err := w.UpdateAll(ctx, "", []string{"a", "b", "c", "new/d"}, func([][]byte) ([]Content, error) {
			return []Content{{Data: []byte("x")}, {Remove: true}, {Data: []byte("y")}, {Data: []byte("z")}}, nil
		})
		done := snapshot(t, dir)
		switch {
		case err == nil && len(done) == 5 && strings.HasSuffix(done[filepath.Join(dir, "a")], `"x"`):
		case errors.Is(err, context.Canceled) && maps.Equal(before, done) && after < 12:
		default:
			t.Errorf("ended after %d looks: %v: %v", after, err, done)
		}
	}
}

// A countdown ends when it was asked left times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// written is a transaction that has given the file "a" another content.
func written(t *testing.T, dir string, links bool) *transaction {
	t.Helper()
	tx := &transaction{roots: map[string]*os.Root{}}
	t.Cleanup(tx.close)
	if err := tx.find(&Workspace{Root: dir}, "", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := tx.files[0]
	f.data, f.like = []byte("two"), f.info
	if err := tx.prepare(f); err != nil {
		t.Fatal(err)
	}
	if !links {
		f.root.Remove(f.backup)
		f.backup = ""
	}
	if err := f.commit(); err != nil {
		t.Fatal(err)
	}
	return tx
}

// TestUpdateAllWithoutLinks: where the old file could not be kept by a link, its
// bytes and mode come back from memory.
func TestUpdateAllWithoutLinks(t *testing.T) {
	dir := layout(t, map[string]string{"a": "one"})
	if err := os.Chmod(filepath.Join(dir, "a"), 0o751); err != nil {
		t.Fatal(err)
	}
	if err := written(t, dir, false).undo(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "a"))
	if data, _ := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(data) != "one" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o751 {
		t.Errorf("%q, %v, %v", data, info, err)
	}
	noTemp(t, dir)
}

// TestUpdateAllCannotPutBack: the old content is not lost, and the error says
// where it is.
func TestUpdateAllCannotPutBack(t *testing.T) {
	dir := layout(t, map[string]string{"a": "one"})
	tx := written(t, dir, true)
	a := filepath.Join(dir, "a")
	if err := errors.Join(os.Remove(a), os.Mkdir(a, 0o755)); err != nil {
		t.Fatal(err)
	}
	err := tx.undo()
	if err == nil || !strings.Contains(err.Error(), "putting back "+a) {
		t.Fatalf("got %v", err)
	}
	_, where, _ := strings.Cut(err.Error(), "its old content is in ")
	if data, err := os.ReadFile(where); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestUpdateAllTogether: transactions over the same files in any order, and
// single updates beside them, happen one after the other.
func TestUpdateAllTogether(t *testing.T) {
	dir := layout(t, map[string]string{"a": "", "b": ""})
	w := &Workspace{Root: dir}
	more := func(old []byte) []byte { return append(slices.Clone(old), 'x') }
	var wg sync.WaitGroup
	for i := range 8 {
		names := []string{"a", "b"}
		if i%2 == 0 {
			slices.Reverse(names)
		}
		wg.Go(func() {
			err := w.UpdateAll(t.Context(), "", names, func(old [][]byte) ([]Content, error) {
				return []Content{{Data: more(old[0])}, {Data: more(old[1])}}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := w.Update(t.Context(), "", "a", func(old []byte) ([]byte, error) { return more(old), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	a, _ := os.ReadFile(filepath.Join(dir, "a"))
	b, _ := os.ReadFile(filepath.Join(dir, "b"))
	if len(a) != 16 || len(b) != 8 {
		t.Errorf("%d and %d changes are there", len(a), len(b))
	}
	noTemp(t, dir)
}

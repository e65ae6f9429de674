package walk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// far is a tree that counts its requests, see workspace.Folder.
type far struct {
	fs.ReadLinkFS
	requests int
}

func (f *far) ReadDirs(_ context.Context, names []string, yield func(int, []fs.DirEntry, error)) error {
	f.requests++
	for i, name := range names {
		list, err := fs.ReadDir(f.ReadLinkFS, name)
		yield(i, list, err)
	}
	return nil
}

func (f *far) ReadFiles(_ context.Context, names []string, yield func(int, io.Reader, error) error) error {
	f.requests++
	for i, name := range names {
		if err := readFile(f.ReadLinkFS, name, func(r io.Reader, err error) error { return yield(i, r, err) }); err != nil {
			return err
		}
	}
	return nil
}

// A tree is listed as the same folder on a disk is, with few requests.
func TestTreeAsOnDisk(t *testing.T) {
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	rnd := rand.New(rand.NewPCG(7, 8))
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	for round := range 30 {
		files := map[string]string{"x/": "", ".git/info/exclude": pick("", "*.o\n", "b\n")}
		for range 80 {
			p := pick("a", "b", "c.o", "d.txt", ".e")
			for range rnd.IntN(5) {
				p = pick("x", "y", "z.d") + "/" + p
			}
			files[p] = ""
		}
		for range 3 {
			var text string
			for range 4 {
				text += pick("!", "", "", "/") + pick("a", "*.o", "x/", "y/**", "x/*", "z.d/b", "**/y", ".e", "b") + "\n"
			}
			files[pick("", "x/", "x/y/", "z.d/")+".gitignore"] = text
		}
		if round%3 == 0 {
			files["x/y/.git/"] = ""
		}
		dir := plant(t, files)
		if err := os.Symlink("a", filepath.Join(dir, "link")); err == nil {
			_ = os.Symlink("x", filepath.Join(dir, "to folder"))
		}
		root := open(t, dir)
		for _, w := range []Walk{{}, {Links: true, Times: true}, {Want: func(f string) bool { return strings.HasSuffix(f, ".o") }}, {Enter: func(f string) bool { return path.Base(f) != "y" }}} {
			onDisk, plain := w, w
			onDisk.Root = root
			plain.Tree = root.FS().(fs.ReadLinkFS)
			tree := &far{ReadLinkFS: plain.Tree}
			batched := w
			batched.Tree = tree
			want := list(t, onDisk)
			for _, got := range []*Listing{list(t, plain), list(t, batched)} {
				if !reflect.DeepEqual(show(got), show(want)) {
					t.Fatalf("got %v\nwant %v\n%q", show(got), show(want), files)
				}
			}
			if tree.requests > 2*7 {
				t.Errorf("%d requests", tree.requests)
			}
		}
		rules, prefix := Above(filepath.Join(dir, "x"), dir)
		treeRules, treePrefix := AboveIn(t.Context(), root.FS(), "x")
		sub := open(t, filepath.Join(dir, "x"))
		want := show(list(t, Walk{Root: sub, Rules: rules, Prefix: prefix}))
		if got := show(list(t, Walk{Tree: sub.FS().(fs.ReadLinkFS), Rules: treeRules, Prefix: treePrefix})); prefix != treePrefix || !reflect.DeepEqual(got, want) {
			t.Fatalf("in x: got %v, want %v", got, want)
		}
	}
}

func show(l *Listing) string {
	var b strings.Builder
	for _, f := range l.Files {
		fmt.Fprintln(&b, f.Path, f.Link, f.ModTime.UnixNano())
	}
	return fmt.Sprint(b.String(), l.Ignored, l.Unreadable)
}

// hostile is a tree that lists names which are no names.
type hostile struct{ fs.ReadLinkFS }

func (h hostile) ReadDirs(_ context.Context, names []string, yield func(int, []fs.DirEntry, error)) error {
	for i, name := range names {
		var list []fs.DirEntry
		for _, n := range []string{"..", ".", "", "a/b", "c\x00d", "ok", "deeper"} {
			list = append(list, named{n, n == "deeper"})
		}
		if strings.Count(name, "/") > 300 {
			return errors.New("the walk does not end")
		}
		yield(i, list, nil)
	}
	return nil
}

func (h hostile) ReadFiles(_ context.Context, names []string, yield func(int, io.Reader, error) error) error {
	return nil
}

type named struct {
	name string
	dir  bool
}

func (n named) Name() string               { return n.name }
func (n named) IsDir() bool                { return n.dir }
func (n named) Type() fs.FileMode          { return map[bool]fs.FileMode{true: fs.ModeDir}[n.dir] }
func (n named) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

func TestTreeHostile(t *testing.T) {
	l := list(t, Walk{Tree: hostile{}})
	for _, f := range l.Files {
		if path.Base(f.Path) != "ok" || !fs.ValidPath(f.Path) {
			t.Fatalf("%q is listed", f.Path)
		}
	}
	if len(l.Files) != maxDepth+1 || l.Unreadable != 1 {
		t.Errorf("%d files, %d unreadable", len(l.Files), l.Unreadable)
	}
}

func TestTreeEnds(t *testing.T) {
	tree := fstest.MapFS{}
	for i := range 100 {
		tree[fmt.Sprintf("d/f%02d", i)] = &fstest.MapFile{ModTime: time.Unix(int64(i), 0)}
	}
	w := Walk{Tree: tree, Max: 10}
	if _, err := w.List(t.Context()); !errors.Is(err, ErrTooMany) {
		t.Errorf("too many: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Walk{Tree: tree}).List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := ReadFiles(ctx, tree, []string{"d/f00"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	stop := errors.New("stop")
	if err := ReadFiles(t.Context(), tree, []string{"none", "d", "d/f00"}, func(i int, r io.Reader, err error) error {
		if (i == 2) != (err == nil) || (r == nil) != (err != nil) {
			t.Errorf("%d: %v", i, err)
		}
		return map[bool]error{true: stop}[i == 2]
	}); err != stop {
		t.Error(err)
	}
	if l := list(t, Walk{Tree: tree, Times: true}); !slices.IsSortedFunc(l.Files, func(a, b File) int { return b.ModTime.Compare(a.ModTime) }) || len(l.Files) != 100 {
		t.Errorf("%v", l.Files)
	}
}

package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// layout makes files below a new folder (names ending in / are folders, contents
// beginning with -> are symlinks) and returns the folder without symlinks.
func layout(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(content, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "$DIR", dir), path)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestResolve(t *testing.T) {
	dir := layout(t, map[string]string{
		"work/a.txt": "a", "work/sub/b.txt": "b", "outside/secret": "s", "more/c.txt": "c", "work-backup/x": "x",
		"work/in": "->sub", "work/up": "->../outside", "work/abs": "->$DIR/outside/secret", "work/absin": "->$DIR/work/sub/b.txt",
		"work/tomore": "->../more", "work/loop": "->loop2", "work/loop2": "->loop", "work/dangling": "->../outside/new",
		"work/danglingin": "->sub/new", "work/dots": "->sub/../sub/./b.txt", "work/chain": "->in/../up/secret",
		"link": "->work",
	})
	t.Setenv("HOME", filepath.Join(dir, "work"))
	t.Setenv("USERPROFILE", filepath.Join(dir, "work"))
	w := &Workspace{Root: filepath.Join(dir, "link"), Dirs: []string{filepath.Join(dir, "more")}}
	work := filepath.Join(dir, "work")
	for _, c := range []struct{ dir, name, want string }{
		{"", "a.txt", "work/a.txt"},
		{"", ".", "work"},
		{"", "./sub/../a.txt", "work/a.txt"},
		{"", "new/deep/file", "work/new/deep/file"},
		{"", "in/b.txt", "work/sub/b.txt"},
		{"", "absin", "work/sub/b.txt"},
		{"", "dots", "work/sub/b.txt"},
		{"", "danglingin", "work/sub/new"},
		{"", "tomore/c.txt", "more/c.txt"},
		{"", filepath.Join(dir, "link", "a.txt"), "work/a.txt"},
		{"", filepath.Join(dir, "more", "c.txt"), "more/c.txt"},
		{"", "~/a.txt", "work/a.txt"},
		{"", "~", "work"},
		{"", "~x", "work/~x"},
		{"", "x/~/y", "work/x/~/y"},
		{filepath.Join(work, "sub"), "b.txt", "work/sub/b.txt"},
		{filepath.Join(dir, "more"), "c.txt", "more/c.txt"},
		{"sub", "b.txt", "work/sub/b.txt"},
		{"", "..", ""},
		{"", "../outside/secret", ""},
		{"", "../work-backup/x", ""},
		{"", "up/secret", ""},
		{"", "abs", ""},
		{"", "chain", ""},
		{"", "dangling", ""},
		{"", "/etc/passwd", ""},
		{filepath.Join(dir, "outside"), "secret", ""},
	} {
		got, err := w.Resolve(c.dir, c.name)
		if c.want == "" {
			if !errors.Is(err, ErrOutside) || !strings.Contains(err.Error(), work) {
				t.Errorf("Resolve(%q, %q) = %q, %v", c.dir, c.name, got, err)
			}
			continue
		}
		if want := filepath.Join(dir, filepath.FromSlash(c.want)); err != nil || got != want {
			t.Errorf("Resolve(%q, %q) = %q, %v; want %q", c.dir, c.name, got, err, want)
		}
	}
	for _, name := range []string{"", "a\x00b", "loop", "a.txt/x"} {
		if got, err := w.Resolve("", name); err == nil || errors.Is(err, ErrOutside) {
			t.Errorf("Resolve(%q) = %q, %v", name, got, err)
		}
	}
	if roots := w.folders(); roots.err != nil || len(roots.all) != 2 || roots.all[0] != work {
		t.Errorf("roots %+v", roots)
	}
}

func TestSpelled(t *testing.T) {
	dir := layout(t, map[string]string{"a.env": "", "b": ""})
	info, err := os.Lstat(filepath.Join(dir, "a.env"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.env": "a.env", "A.ENV": "a.env", "A~1": "a.env", "b": "b"} {
		if got := spelled(dir, name, info); got != want {
			t.Errorf("%s is spelled %s", name, got)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "A.ENV")); err != nil {
		return // names are exact here
	}
	if got, err := (&Workspace{Root: dir}).Resolve("", "A.ENV"); err != nil || got != filepath.Join(dir, "a.env") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestZeroWorkspace(t *testing.T) {
	dir := layout(t, map[string]string{"a": "1"})
	t.Chdir(dir)
	var w Workspace
	if got, err := w.Resolve("", "a"); err != nil || got != filepath.Join(dir, "a") {
		t.Errorf("%s, %v", got, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestOutputFolderIsReadableOnly(t *testing.T) {
	dir := layout(t, map[string]string{"work/": "", "out/x.txt": "long"})
	w := &Workspace{Root: filepath.Join(dir, "work"), OutputDir: filepath.Join(dir, "out")}
	f, err := w.Open(t.Context(), "", filepath.Join(dir, "out", "x.txt"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := w.WriteFile(t.Context(), "", filepath.Join(dir, "out", "x.txt"), []byte("x")); !errors.Is(err, ErrOutside) {
		t.Errorf("written: %v", err)
	}
}

func TestReadableFolders(t *testing.T) {
	dir := layout(t, map[string]string{"work/": "", "skills/x/a.md": "long", "other/b": "secret"})
	w := &Workspace{Root: filepath.Join(dir, "work"), Readable: []string{filepath.Join(dir, "skills")}}
	f, err := w.Open(t.Context(), "", filepath.Join(dir, "skills", "x", "a.md"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := w.WriteFile(t.Context(), "", filepath.Join(dir, "skills", "x", "a.md"), []byte("x")); !errors.Is(err, ErrOutside) {
		t.Errorf("written: %v", err)
	}
	if _, err := w.Open(t.Context(), "", filepath.Join(dir, "skills", "..", "other", "b")); !errors.Is(err, ErrOutside) {
		t.Errorf("beside it: %v", err)
	}
}

func TestOpen(t *testing.T) {
	dir := layout(t, map[string]string{"a": "text", "d/": ""})
	w := &Workspace{Root: dir}
	f, err := w.Open(t.Context(), "", "a")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	f.Close()
	d, err := w.Open(t.Context(), "", "d")
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	if _, err := w.Open(t.Context(), "", "none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, "none")) {
		t.Errorf("got %v", err)
	}
	r, path, err := w.openRoot("", "d")
	if err != nil || path != filepath.Join(dir, "d") {
		t.Fatal(path, err)
	}
	r.Close()
	if _, _, err := w.openRoot("", "a"); err == nil {
		t.Error("a file was opened as a folder")
	}
}

// TestSwappedLink: a folder that becomes a symlink between looking and opening
// leads nowhere.
func TestSwappedLink(t *testing.T) {
	dir := layout(t, map[string]string{"work/d/f": "inside", "outside/f": "secret"})
	w := &Workspace{Root: filepath.Join(dir, "work")}
	d, away := filepath.Join(dir, "work", "d"), filepath.Join(dir, "work", "away")
	p, err := w.locate("", "d/f", true)
	if err != nil {
		t.Fatal(err)
	}
	root, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(d, away), os.Symlink(filepath.Join(dir, "outside"), d)); err != nil {
		t.Fatal(err)
	}
	if f, err := openPlain(root, p); err == nil {
		t.Errorf("opened %s outside", f.Name())
		f.Close()
	}
	if err := errors.Join(root.Close(), os.Remove(d), os.Rename(away, d)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(d, away)
			os.Symlink(filepath.Join(dir, "outside"), d)
			os.Remove(d)
			os.Rename(away, d)
		}
	}()
	for range 150 {
		if f, err := w.Open(t.Context(), "", "d/f"); err == nil {
			data, _ := io.ReadAll(f)
			f.Close()
			if string(data) != "inside" {
				t.Errorf("read %q", data)
			}
		}
		_ = w.WriteFile(t.Context(), "", "d/f2", []byte("x"))
	}
	close(stop)
	<-done
	if _, err := os.Stat(filepath.Join(dir, "outside", "f2")); err == nil {
		t.Error("written outside")
	}
}

func TestWriteFile(t *testing.T) {
	dir := layout(t, map[string]string{"a": "old", "link": "->a", "ro": "x", "d/": ""})
	w := &Workspace{Root: dir}
	a := filepath.Join(dir, "a")
	if err := os.Chmod(a, 0o751); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"a": "a", "link": "a", "new/deep/b": "new/deep/b"} {
		if err := w.WriteFile(t.Context(), "", name, []byte("by "+name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, target)); err != nil || string(data) != "by "+name {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if info, err := os.Stat(a); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := w.WriteFile(t.Context(), "", "d", nil); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder was written to: %v", err)
	}
	if err := w.WriteFile(t.Context(), "", "a/b", nil); err == nil {
		t.Error("a file was used as a folder")
	}
	if err := w.WriteFile(t.Context(), "", "../x", nil); !errors.Is(err, ErrOutside) {
		t.Errorf("got %v", err)
	}
	noTemp(t, dir)
}

func noTemp(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, ".tmp-") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUpdateFails(t *testing.T) {
	dir := layout(t, map[string]string{"a": "old"})
	w := &Workspace{Root: dir}
	a := filepath.Join(dir, "a")
	refused := errors.New("refused")
	if err := w.Update(t.Context(), "", "a", func([]byte) ([]byte, error) { return nil, refused }); err != refused {
		t.Errorf("got %v", err)
	}
	// Someone else writes in the meantime.
	err := w.Update(t.Context(), "", "a", func(old []byte) ([]byte, error) {
		return []byte("ours"), os.WriteFile(a, []byte("theirs, longer"), 0o644)
	})
	if !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(a); string(data) != "theirs, longer" {
		t.Errorf("overwritten by %q", data)
	}
	err = w.Update(t.Context(), "", "new", func(old []byte) ([]byte, error) {
		if old != nil {
			t.Error("a new file has content")
		}
		return []byte("ours"), os.WriteFile(filepath.Join(dir, "new"), []byte("theirs"), 0o644)
	})
	if !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	err = w.Update(t.Context(), "", "a", func(old []byte) ([]byte, error) { return []byte("ours"), os.Remove(a) })
	if !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	noTemp(t, dir)
	if len(w.locks.keys) != 0 {
		t.Errorf("%d locks are left", len(w.locks.keys))
	}
}

func TestUpdateLargeFile(t *testing.T) {
	dir := layout(t, map[string]string{"big": ""})
	if err := os.Truncate(filepath.Join(dir, "big"), maxFile+1); err != nil {
		t.Fatal(err)
	}
	err := (&Workspace{Root: dir}).WriteFile(t.Context(), "", "big", nil)
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

// TestUpdateEmptyFile: an empty file is not a missing one.
func TestUpdateEmptyFile(t *testing.T) {
	dir := layout(t, map[string]string{"empty": ""})
	err := (&Workspace{Root: dir}).Update(t.Context(), "", "empty", func(old []byte) ([]byte, error) {
		if old == nil {
			t.Error("the file is said to be missing")
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUpdatesOfOneFileQueueUp(t *testing.T) {
	dir := layout(t, map[string]string{"n": "", "link": "->n"})
	w := &Workspace{Root: dir}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			err := w.Update(t.Context(), "", []string{"n", "link"}[i%2], func(old []byte) ([]byte, error) {
				return fmt.Appendf(old, "%d\n", i), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(dir, "n"))
	if err != nil || bytes.Count(data, []byte("\n")) != 40 {
		t.Errorf("%d of 40 updates are there: %v", bytes.Count(data, []byte("\n")), err)
	}
}

func BenchmarkResolve(b *testing.B) {
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755); err != nil {
		b.Fatal(err)
	}
	w := &Workspace{Root: dir}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Resolve("", "a/b/c/file.go"); err != nil {
			b.Fatal(err)
		}
	}
}

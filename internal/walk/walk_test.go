package walk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plant writes files, given with their content, and folders, whose names end in
// a slash, and returns their folder, free of symlinks.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o777)
		} else {
			err = os.WriteFile(path, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func names(files []File) []string {
	var list []string
	for _, f := range files {
		list = append(list, f.Path)
	}
	return list
}

func list(t testing.TB, w Walk) *Listing {
	t.Helper()
	l, err := w.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestList(t *testing.T) {
	dir := plant(t, map[string]string{
		"a.go": "", "b/c.go": "", "b/d/e.txt": "", ".hidden/f": "", ".git/config": "", ".git/info/exclude": "secret\n",
		".gitignore": "*.o\n/out\n", "x.o": "", "out/y": "", "b/out/z": "", "b/.gitignore": "!keep.o\n", "b/keep.o": "", "secret": "",
		"inner/.git/config": "", "inner/x.o": "", "inner/secret": "", "empty/": "",
	})
	l := list(t, Walk{Root: open(t, dir)})
	want := []string{".gitignore", ".hidden/f", "a.go", "b/.gitignore", "b/c.go", "b/d/e.txt", "b/keep.o", "b/out/z", "inner/secret", "inner/x.o"}
	if got := names(l.Files); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if l.Ignored != 3 || l.Unreadable != 0 {
		t.Errorf("ignored %d, unreadable %d", l.Ignored, l.Unreadable)
	}
	l = list(t, Walk{
		Root:  open(t, dir),
		Enter: func(p string) bool { return p == "b" },
		Want:  func(p string) bool { return strings.HasSuffix(p, ".go") },
	})
	if got := names(l.Files); !slices.Equal(got, []string{"a.go", "b/c.go"}) || l.Ignored != 0 {
		t.Errorf("with Enter and Want: %q, %d ignored", got, l.Ignored)
	}
}

func TestLinks(t *testing.T) {
	dir := plant(t, map[string]string{"in/a": "", "in/d/b": "", "out/secret": ""})
	in := filepath.Join(dir, "in")
	for link, to := range map[string]string{"file": "a", "folder": "d", "loop": ".", "outside": "../out/secret", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(in, link)); err != nil {
			t.Skip("no symlinks here:", err)
		}
	}
	if got := names(list(t, Walk{Root: open(t, in)}).Files); !slices.Equal(got, []string{"a", "d/b"}) {
		t.Errorf("without links: %q", got)
	}
	if got := names(list(t, Walk{Root: open(t, in), Links: true}).Files); !slices.Equal(got, []string{"a", "d/b", "file", "gone", "outside"}) {
		t.Errorf("with links: %q", got)
	}
}

func TestBounds(t *testing.T) {
	files := map[string]string{strings.Repeat("d/", maxDepth) + "deepest": "", strings.Repeat("d/", maxDepth+1) + "deeper": ""}
	for i := range 30 {
		files[fmt.Sprintf("f%d", i)] = ""
	}
	root := open(t, plant(t, files))
	l := list(t, Walk{Root: root})
	if len(l.Files) != 31 || l.Unreadable != 1 {
		t.Errorf("%d files, %d unreadable", len(l.Files), l.Unreadable)
	}
	w := Walk{Root: root, Max: 30}
	if _, err := w.List(t.Context()); !errors.Is(err, ErrTooMany) {
		t.Errorf("too many files: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w = Walk{Root: root, Enter: func(string) bool { cancel(); return true }}
	if _, err := w.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("nothing is unreadable for this user")
	}
	dir := plant(t, map[string]string{"a": "", "locked/b": ""})
	if err := os.Chmod(filepath.Join(dir, "locked"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "locked"), 0o777) })
	l := list(t, Walk{Root: open(t, dir)})
	if len(l.Files) != 1 || l.Unreadable != 1 {
		t.Errorf("%+v", l)
	}
}

func TestTimes(t *testing.T) {
	dir := plant(t, map[string]string{"a": "", "b/c": "", "d": ""})
	for i, name := range []string{"d", "a", "b/c"} {
		at := time.Unix(int64(1000+i), 500)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	l := list(t, Walk{Root: open(t, dir), Times: true})
	if got := names(l.Files); !slices.Equal(got, []string{"b/c", "a", "d"}) || l.Files[0].ModTime.Unix() != 1002 {
		t.Errorf("%+v", l.Files)
	}
}

func TestByTime(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	files := []File{{"b", at(1), false}, {"a", at(1), false}, {"c", at(2), false}, {"d", at(0), false}}
	ByTime(files)
	if got := names(files); !slices.Equal(got, []string{"c", "a", "b", "d"}) {
		t.Error(got)
	}
}

func TestAbove(t *testing.T) {
	repo := plant(t, map[string]string{
		".git/info/exclude": "ex\n", ".gitignore": "*.o\n/sub/top\nvendor/\n", "sub/.gitignore": "!k.o\n",
		"sub/in/a.o": "", "sub/in/k.o": "", "sub/in/ex": "", "sub/in/top": "", "vendor/lib/b.o": "",
	})
	plain := plant(t, map[string]string{".gitignore": "*.o\n", "sub/a.o": "", "sub/b": ""})
	tests := []struct {
		dir, top string
		want     []string
	}{
		{repo + "/sub/in", repo + "/sub/in", []string{"k.o", "top"}},
		{repo + "/vendor", repo, []string{"lib/b.o"}},
		{repo + "/vendor/lib", repo, []string{"b.o"}},
		{plain + "/sub", plain, []string{"b"}},
		{plain + "/sub", plain + "/sub", []string{"a.o", "b"}},
		{plain + "/sub", repo, []string{"a.o", "b"}},
	}
	for _, tt := range tests {
		dir, top := filepath.FromSlash(tt.dir), filepath.FromSlash(tt.top)
		rules, prefix := Above(dir, top)
		l := list(t, Walk{Root: open(t, dir), Rules: rules, Prefix: prefix})
		if got := names(l.Files); !slices.Equal(got, tt.want) {
			t.Errorf("%s below %s: %q, want %q", tt.dir, tt.top, got, tt.want)
		}
	}
}

// TestGit compares with git ls-files on random trees, from random folders.
func TestGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	rnd := rand.New(rand.NewPCG(5, 6))
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	for range 25 {
		files := map[string]string{".git/": ""}
		for range 60 {
			p := pick("a", "b", "c.o", "d.txt", ".e")
			for range rnd.IntN(4) {
				p = pick("x", "y", "z.d") + "/" + p
			}
			files[p] = ""
		}
		folders := []string{""}
		for p := range files {
			if d := filepath.ToSlash(filepath.Dir(p)); d != "." && d != ".git" {
				folders = append(folders, d+"/")
			}
		}
		slices.Sort(folders)
		for range 3 {
			var text string
			for range 4 {
				text += pick("!", "", "", "/") + pick("a", "*.o", "x/", "y/**", "x/*", "z.d/b", "**/y", ".e", "b") + "\n"
			}
			files[pick(folders...)+".gitignore"] = text
		}
		dir := plant(t, files)
		env := append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "XDG_CONFIG_HOME="+dir, "GIT_CEILING_DIRECTORIES=", "GIT_DIR="+filepath.Join(dir, ".git"), "GIT_WORK_TREE="+dir)
		run := func(args ...string) string {
			cmd := exec.CommandContext(t.Context(), git, args...)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("git %v: %v", args, err)
			}
			return string(out)
		}
		run("init", "-q")
		var all []string
		for p := range strings.SplitSeq(run("ls-files", "-z", "--others", "--exclude-standard"), "\x00") {
			if p != "" {
				all = append(all, p)
			}
		}
		for _, folder := range []string{"", pick(folders...), pick(folders...)} {
			from := filepath.Join(dir, folder)
			rules, prefix := Above(from, dir)
			if folder != "" && rules == nil { // ignored, or without any rule
				continue
			}
			var want []string
			for _, p := range all {
				if rest, ok := strings.CutPrefix(p, folder); ok {
					want = append(want, rest)
				}
			}
			slices.Sort(want)
			if got := names(list(t, Walk{Root: open(t, from), Rules: rules, Prefix: prefix}).Files); !slices.Equal(got, want) {
				t.Fatalf("from %q: got %q\nwant %q\n%q", folder, got, want, files)
			}
		}
	}
}

func BenchmarkList(b *testing.B) {
	files := map[string]string{".gitignore": "*.o\nnode_modules/\n"}
	for i := range 20000 {
		files[fmt.Sprintf("d%d/e%d/f%d.go", i%20, i%400, i)] = ""
	}
	root := open(b, plant(b, files))
	b.ReportAllocs()
	for b.Loop() {
		list(b, Walk{Root: root})
	}
}

// TestGitExcludes compares with git where the user has an ignore file: named by a
// configuration, or at its usual place; and in a worktree that is linked.
func TestGitExcludes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for name, files := range map[string]map[string]string{
		"usual place":       {"home/.config/git/ignore": "*.swp\n"},
		"XDG_CONFIG_HOME":   {"xdg/git/ignore": "*.swp\n", "home/.config/git/ignore": "*.txt\n"},
		"global":            {"home/.gitconfig": "[user]\n\tname = x\n[Core]\n\teditor = vi\n\texcludesfile = ~/my ignore # mine\n", "home/my ignore": "*.swp\n!a.txt\n", "home/.config/git/ignore": "*.txt\n"},
		"quoted":            {"home/.gitconfig": "[core] ; x\nexcludesFile = \"~/m;y \\\"ignore\"\n", "home/m;y \"ignore": "*.swp\n"},
		"in one line":       {"home/.config/git/config": "[core]excludesFile=~/i\n", "home/i": "*.swp\n"},
		"goes on":           {"home/.gitconfig": "[core]\n\texcludesFile = \\\n  ~/i\n", "home/i": "*.swp\n"},
		"of the repository": {"home/.gitconfig": "[core]\n\texcludesFile = ~/i\n", "home/i": "*.txt\n", "top/.git/config": "[core]\n\trepositoryformatversion = 0\n\texcludesFile = own\n", "top/own": "*.swp\n"},
		"none":              {"home/.gitconfig": "[core]\n\texcludesFile =\n", "home/.config/git/ignore": "*.swp\n"},
		"other section":     {"home/.gitconfig": "[core \"x\"]\n\texcludesFile = ~/i\n[alias]\nexcludesFile = ~/i\n", "home/i": "*.swp\n"},
		"no such file":      {"home/.gitconfig": "[core]\n\texcludesFile = ~/i\n"},
		"info/exclude":      {"home/.config/git/ignore": "*.swp\n", "top/.git/info/exclude": "!b.swp\n*.txt\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, files)
			t.Setenv("HOME", filepath.Join(dir, "home"))
			t.Setenv("USERPROFILE", filepath.Join(dir, "home"))
			t.Setenv("XDG_CONFIG_HOME", "")
			if name == "XDG_CONFIG_HOME" {
				t.Setenv(name, filepath.Join(dir, "xdg"))
			}
			t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			t.Setenv("GIT_CONFIG_GLOBAL", "")
			os.Unsetenv("GIT_CONFIG_GLOBAL")
			top := filepath.Join(dir, "top")
			run := func(at string, args ...string) []string {
				cmd := exec.CommandContext(t.Context(), git, args...)
				cmd.Dir = at
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("git %v: %v", args, err)
				}
				return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
			}
			if err := os.MkdirAll(top, 0o777); err != nil {
				t.Fatal(err)
			}
			run(top, "init", "-q")
			run(top, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x")
			linked := filepath.Join(dir, "linked")
			run(top, "worktree", "add", "-q", linked)
			for _, at := range []string{top, linked} {
				for _, f := range []string{"a.txt", "b.swp", "c.go", "x/a.txt", "x/b.swp", ".h.swp"} {
					if err := os.MkdirAll(filepath.Join(at, filepath.Dir(f)), 0o777); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(at, f), nil, 0o666); err != nil {
						t.Fatal(err)
					}
				}
				want := run(at, "ls-files", "-z", "--others", "--exclude-standard")
				slices.Sort(want)
				if got := names(list(t, Walk{Root: open(t, at)}).Files); !slices.Equal(got, want) {
					t.Errorf("in %s: %q, git has %q", filepath.Base(at), got, want)
				}
				rules, prefix := Above(filepath.Join(at, "x"), at)
				var within []string
				for _, p := range want {
					if rest, ok := strings.CutPrefix(p, "x/"); ok {
						within = append(within, rest)
					}
				}
				if got := names(list(t, Walk{Root: open(t, filepath.Join(at, "x")), Rules: rules, Prefix: prefix}).Files); !slices.Equal(got, within) {
					t.Errorf("in %s/x: %q, git has %q", filepath.Base(at), got, within)
				}
			}
		})
	}
}

package gitignore

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestIgnores(t *testing.T) {
	tests := []struct {
		name   string
		text   string
		yes    []string // a trailing slash makes it a folder
		no     []string
		nested map[string]string
	}{
		{name: "name", text: "foo", yes: []string{"foo", "a/foo", "a/foo/"}, no: []string{"foos", "a/food"}},
		{name: "folder only", text: "foo/", yes: []string{"foo/", "a/foo/"}, no: []string{"foo", "a/foo"}},
		{name: "anchored", text: "/foo\nb/c", yes: []string{"foo", "b/c"}, no: []string{"a/foo", "a/b/c"}},
		{name: "suffix", text: "*.log", yes: []string{"x.log", "a/.log"}, no: []string{"x.logs"}},
		{name: "negation", text: "*.log\n!keep.log", yes: []string{"x.log"}, no: []string{"keep.log", "a/keep.log"}},
		{name: "the last decides", text: "!keep.log\n*.log", yes: []string{"keep.log"}},
		{name: "leading **", text: "**/foo/bar", yes: []string{"foo/bar", "a/b/foo/bar"}, no: []string{"afoo/bar"}},
		{name: "trailing **", text: "foo/**", yes: []string{"foo/a", "foo/a/b"}, no: []string{"foo/", "a/foo/b"}},
		{name: "middle **", text: "a/**/b", yes: []string{"a/b", "a/x/b", "a/x/y/b"}, no: []string{"ab", "a/xb"}},
		{name: "star", text: "a/*b", yes: []string{"a/b", "a/xb"}, no: []string{"a/x/b"}},
		{name: "question mark", text: "a/?", yes: []string{"a/x"}, no: []string{"a/xx", "a//"}},
		{name: "class", text: "[a-c]x\n[!0-9]y\n[]z]w\n[[:digit:]]q", yes: []string{"bx", "ay", "]w", "zw", "7q"}, no: []string{"dx", "5y", "aw", "aq"}},
		{name: "bad class", text: "[a\n[[:no:]]b", no: []string{"a", "[a", "nb"}},
		{name: "escapes", text: "\\#a\n\\!b\nc\\ \nd\\*", yes: []string{"#a", "!b", "c ", "d*"}, no: []string{"c", "dx"}},
		{name: "comments and spaces", text: "# a\n\n  \nb  \n", yes: []string{"b"}, no: []string{"# a", " ", "a"}},
		{name: "CRLF and BOM", text: "\ufeffa\r\nb\r\n", yes: []string{"a", "b"}},
		{name: "no newline at the end", text: "a\nb", yes: []string{"b"}},
		{
			name: "nested", text: "*.o\n/sub/x", nested: map[string]string{"sub": "!keep.o\n/top", "other": "y/"},
			yes: []string{"a.o", "sub/a.o", "sub/top", "sub/x"}, no: []string{"sub/keep.o", "sub/a/top", "top"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := (*Rules)(nil).With("", []byte(tt.text))
			check := func(path string, want bool) {
				rules := top
				clean, folder := strings.CutSuffix(path, "/")
				if text, ok := tt.nested[strings.Split(path, "/")[0]]; ok && strings.Contains(clean, "/") {
					rules = rules.With(strings.Split(path, "/")[0], []byte(text))
				}
				if got := rules.Ignores(clean, folder); got != want {
					t.Errorf("Ignores(%q) = %v", path, got)
				}
			}
			for _, p := range tt.yes {
				check(p, true)
			}
			for _, p := range tt.no {
				check(p, false)
			}
		})
	}
}

// TestGit compares with git on random trees and patterns.
func TestGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	run := func(stdin string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "XDG_CONFIG_HOME="+dir, "GIT_DIR="+filepath.Join(dir, ".git"), "GIT_WORK_TREE="+dir)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if e, ok := err.(*exec.ExitError); ok && e.ExitCode() == 1 && args[0] == "check-ignore" {
			err = nil // nothing is ignored
		}
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return out
	}
	run("", "init", "-q")
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		ignores, paths := plant(t, rnd, dir)
		want := map[string]bool{}
		for p := range bytes.SplitSeq(run(strings.Join(paths, "\x00"), "check-ignore", "--no-index", "-z", "--stdin"), []byte{0}) {
			want[string(p)] = true
		}
		for _, p := range paths {
			if got := ignored(t, dir, ignores, p); got != want[p] {
				t.Fatalf("round %d: %q: ignored = %v, git says %v\n%q", round, p, got, want[p], ignores)
			}
		}
	}
}

// plant makes a new tree beside .git and returns the contents of its ignore
// files by folder and all of its paths.
func plant(t *testing.T, rnd *rand.Rand, dir string) (ignores map[string]string, paths []string) {
	t.Helper()
	old, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range old {
		if e.Name() != ".git" {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	names := []string{"a", "b", "ab", "ba", "foo", "foobar", ".h", "x.o", "a b", "[", "é", "a-b", "*", "5"}
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	for range 25 {
		p := pick(names)
		for range rnd.IntN(4) {
			p += "/" + pick(names)
		}
		if os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o777) == nil && rnd.IntN(4) > 0 {
			os.WriteFile(filepath.Join(dir, p), nil, 0o666)
		} else {
			os.MkdirAll(filepath.Join(dir, p), 0o777)
		}
	}
	folders := []string{""}
	err = fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case p == ".git":
			return fs.SkipDir
		case p != ".":
			paths = append(paths, p)
			if d.IsDir() {
				folders = append(folders, p)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	atoms := []string{"a", "b", "ab", "foo", "bar", ".o", "*", "*", "**", "***", "?", "/", "/", "/", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]", "[a-]", "[[:alpha:]]", "[[:digit:]]", "[[:a]", "[\\]a]", "[b", "\\", "\\*", "-", " ", "é", "[é]", "]"}
	ignores = map[string]string{}
	for range 1 + rnd.IntN(3) {
		var text strings.Builder
		for range 1 + rnd.IntN(6) {
			fmt.Fprint(&text, []string{"", "", "", "!", "#", "/", "**/"}[rnd.IntN(7)])
			for range 1 + rnd.IntN(5) {
				text.WriteString(pick(atoms))
			}
			fmt.Fprint(&text, []string{"", "", "/", "/**", "  ", "\\ ", "/*"}[rnd.IntN(7)], []string{"\n", "\n", "\r\n"}[rnd.IntN(3)])
		}
		ignores[pick(folders)] = text.String()
	}
	for folder, text := range ignores {
		if err := os.WriteFile(filepath.Join(dir, folder, ".gitignore"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ignores[".git"] = pick([]string{"", "a\n", "!foo\n", "b/\n", "/ab/*\n"})
	if err := os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte(ignores[".git"]), 0o666); err != nil {
		t.Fatal(err)
	}
	return ignores, paths
}

// ignored asks the rules about p from the top down, as a walk does.
func ignored(t *testing.T, dir string, ignores map[string]string, p string) bool {
	t.Helper()
	rules := (*Rules)(nil).With("", []byte(ignores[".git"])).With("", []byte(ignores[""]))
	parts := strings.Split(p, "/")
	for i := range parts {
		path := strings.Join(parts[:i+1], "/")
		info, err := os.Lstat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if rules.Ignores(path, info.IsDir()) {
			return true
		}
		rules = rules.With(path, []byte(ignores[path]))
	}
	return false
}

func FuzzIgnores(f *testing.F) {
	f.Add("a/**/b\n!*.o\n[a-\\]]", "a/x/b.o")
	f.Add("**a**/**/?[[:alpha:]]\\", "aa/b/cc")
	f.Add("[!/]*a*a*a*a*a*a*a*b", strings.Repeat("a", 100))
	f.Fuzz(func(t *testing.T, text, path string) {
		if strings.HasPrefix(path, "d/") {
			(*Rules)(nil).With("d", []byte(text)).Ignores(path, false)
		}
		r := (*Rules)(nil).With("", []byte(text))
		for _, folder := range []bool{false, true} {
			if r.Ignores(path, folder) && !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return l != "" && l[0] != '!' && l[0] != '#' }) {
				t.Errorf("%q is ignored, but no line of %q excludes anything", path, text)
			}
		}
	})
}

func BenchmarkIgnores(b *testing.B) {
	r := (*Rules)(nil).With("", []byte("node_modules/\n*.log\n/dist\nbuild/**/*.o\n.env*\n*.py[co]\n!keep.log\n"))
	b.ReportAllocs()
	for b.Loop() {
		r.Ignores("internal/gitignore/gitignore_test.go", false)
	}
}

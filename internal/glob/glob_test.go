package glob

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"*.go", []string{"a.go"}, []string{"a/b.go", "a.gob", ".go"}},
		{"**/*.go", []string{"a.go", "a/b/c.go"}, []string{".x/a.go", "a/.b.go"}},
		{"src/**/x.js", []string{"src/x.js", "src/a/b/x.js"}, []string{"src/foox.js", "x.js", "srcs/x.js"}},
		{"src/**", []string{"src/a", "src/a/b"}, []string{"src", "a/src/b", "src/.a"}},
		{"src/", []string{"src/a", "src/a/b"}, []string{"src"}},
		{"**", []string{"a", "a/b"}, []string{".a", "a/.b/c"}},
		{"*.{ts,tsx}", []string{"a.ts", "a.tsx"}, []string{"a.t", "a.{ts,tsx}"}},
		{"{src,test/{a,b}}/*.c", []string{"src/x.c", "test/a/x.c", "test/b/x.c"}, []string{"test/x.c", "test/c/x.c"}},
		{"{a}{,b}", []string{"a", "ab"}, []string{"b"}},
		{"[a-c]?[!x]", []string{"axa", "b.c"}, []string{"dxa", "axx", "ax"}},
		{"./a//b", []string{"a/b"}, []string{"a"}},
		{`\*\{\[a`, []string{"*{[a"}, []string{"x{[a"}},
		{"a**b/*", []string{"ab/c", "axb/c"}, []string{"a/b/c"}},
		{".github/**", []string{".github/a/b"}, []string{".github/.x", "a/.github/b"}},
		{"**/.env*", []string{".env", "a/.env.local"}, []string{".x/.env", "env"}},
		{"{.env,*.md}", []string{".env", "a.md"}, []string{".md"}},
		{"é?", []string{"éé", "éx"}, []string{"é", "exx"}},
		{"**/**/a/**/**", []string{"a/b", "x/a/b/c"}, []string{"a", "x/a"}},
	}
	for _, tt := range tests {
		p, err := Parse(tt.pattern)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.pattern, err)
			continue
		}
		for _, s := range tt.yes {
			if !p.Match(s) {
				t.Errorf("%q does not match %q", tt.pattern, s)
			}
		}
		for _, s := range tt.no {
			if p.Match(s) {
				t.Errorf("%q matches %q", tt.pattern, s)
			}
		}
	}
}

func TestHidden(t *testing.T) {
	p, err := Parse("**/x*")
	if err != nil {
		t.Fatal(err)
	}
	p.Hidden = true
	if !p.Match(".a/x") || !p.Enter(".a/.b") {
		t.Error("hidden names do not match")
	}
}

func TestEnter(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"*.go", nil, []string{"a"}},
		{"src/*/b", []string{"src", "src/x"}, []string{"lib", "src/x/b", "src/x/y"}},
		{"a/**/b", []string{"a", "a/b", "a/x/y"}, []string{"b", "a/.x"}},
		{"{a,b/c}/d", []string{"a", "b", "b/c"}, []string{"c"}},
	}
	for _, tt := range tests {
		p, err := Parse(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tt.yes {
			if !p.Enter(s) {
				t.Errorf("%q does not enter %q", tt.pattern, s)
			}
		}
		for _, s := range tt.no {
			if p.Enter(s) {
				t.Errorf("%q enters %q", tt.pattern, s)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                                   "empty",
		"a/../b":                             "beginning",
		"[a":                                 "not closed",
		"a[]":                                "not closed",
		`a\`:                                 "escapes nothing",
		"{a,b":                               "not closed",
		"a}":                                 "no \"{\"",
		strings.Repeat("{a,b}", 9):           "256 patterns",
		strings.Repeat("{a,b}", 800):         "256 patterns",
		strings.Repeat("{", 4000):            "not closed",
		strings.Repeat("a/", 63):             "62 folders",
		strings.Repeat("a", 5000):            "4096 bytes",
		"{" + strings.Repeat(",", 300) + "}": "256 patterns",
	} {
		if _, err := Parse(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q): %v, want %q", pattern, err, want)
		}
	}
}

func TestBase(t *testing.T) {
	for _, tt := range [][3]string{
		{"*.go", "", "*.go"},
		{"a.go", "", "a.go"},
		{"src/a.go", "src", "a.go"},
		{"src/*/a.go", "src", "*/a.go"},
		{"src/a{b/c,d}", "src", "a{b/c,d}"},
		{"/a.go", "/", "a.go"},
		{"/x/y/**", "/x/y", "**"},
		{"../../x*", "../..", "x*"},
		{`a\[b/c`, "", `a\[b/c`},
		{`a\ b/c`, "a b", "c"},
		{"src/", "", "src/"},
		{"x/src/", "x", "src/"},
	} {
		if folder, rest := Base(tt[0]); folder != tt[1] || rest != tt[2] {
			t.Errorf("Base(%q) = %q, %q", tt[0], folder, rest)
		}
	}
}

func TestJoin(t *testing.T) {
	p, err := Parse(Join("a[1]/{b}", "*.c"))
	if err != nil {
		t.Fatal(err)
	}
	if !p.Match("a[1]/{b}/x.c") || p.Match("a1/b/x.c") {
		t.Error("the folder is not matched as it is")
	}
}

// TestDoublestar compares with doublestar where the two mean the same: names
// that are not hidden, and no "**" at the end, which may there stand for nothing.
func TestDoublestar(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	for range 20000 {
		var pattern, path []string
		for range 1 + rnd.IntN(4) {
			pattern = append(pattern, pick("**", "**", "*", "a", "b", "a*", "*b", "?", "[ab]", "{a,b}", "{a,b/a}", "a?*"))
		}
		pattern = append(pattern, pick("*", "a", "b*", "{a,?b}"))
		for range 1 + rnd.IntN(5) {
			path = append(path, pick("a", "b", "ab", "ba", "aab"))
		}
		pat, s := strings.Join(pattern, "/"), strings.Join(path, "/")
		p, err := Parse(pat)
		if err != nil {
			t.Fatal(err)
		}
		want, err := doublestar.Match(pat, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(s); got != want {
			t.Fatalf("Match(%q, %q) = %v", pat, s, got)
		}
		for i := range path[:len(path)-1] {
			if folder := strings.Join(path[:i+1], "/"); want && !p.Enter(folder) {
				t.Fatalf("%q matches %q but does not enter %q", pat, s, folder)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"**/*.{go,md}", "[a-\\]]/x", "{{a,b},c}/**", "../x", "a[", `\`, "{,}{,}"} {
		f.Add(s, "a/b.go")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		folder, rest := Base(pattern)
		if strings.ContainsAny(folder, "*?[{") && !strings.Contains(pattern, `\`) {
			t.Errorf("Base(%q) = %q, %q", pattern, folder, rest)
		}
		p, err := Parse(pattern)
		if err != nil {
			return
		}
		names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
		if p.Match(strings.Join(names, "/")) && !slices.Contains(names, "") {
			for i := 1; i < len(names); i++ {
				if !p.Enter(strings.Join(names[:i], "/")) {
					t.Errorf("%q matches %q but does not enter its folders", pattern, names)
				}
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	p, err := Parse("**/*.{go,md,txt}")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Match("internal/gitignore/gitignore_test.go")
	}
}

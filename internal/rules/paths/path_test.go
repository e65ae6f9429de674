package paths

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/permtest"
)

func TestMatchPath(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	t.Setenv("USERPROFILE", "/home/me")
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.env", "/w/.env", true},
		{"*.env", "/w/a/b/prod.env", true},
		{"*.env", "/w/a/b/prod.env.txt", false},
		{"*.env", "/other/.env", false},
		{"secrets/", "/w/secrets/a", true},
		{"secrets/", "/w/a/secrets/b/c", true},
		{"secrets/", "/w/secrets-old/a", false},
		{"secrets", "/w/a/secrets/b", true},
		{"/src/**", "/w/src/a/b.go", true},
		{"/src/**", "/w/src", false},
		{"/src/**", "/w/a/src/b.go", false},
		{"/src", "/w/src/a/b.go", true},
		{"/src", "/w/src-backup/a", false},
		{"src/*.go", "/w/src/a.go", true},
		{"src/*.go", "/w/x/src/a.go", false},
		{"src/*.go", "/w/src/a/b.go", false},
		{"./src/**", "/w/src/a", true},
		{"../x/**", "/x/a", true},
		{"**/a/**/b", "/w/q/a/c/d/b", true},
		{"**/a/**/b", "/w/a/b", true},
		{"**", "/w/a", true},
		{"**", "/x", false},
		{"//etc/**", "/etc/passwd", true},
		{"//etc/**", "/w/etc/passwd", false},
		{"//**", "/anything", true},
		{"~/.ssh/**", "/home/me/.ssh/id", true},
		{"~/.ssh/**", "/home/you/.ssh/id", false},
		{"~", "/home/me/x", true},
		{"/a[!b]c", "/w/axc", true},
		{"/a[!b]c", "/w/abc", false},
		{`/a\*`, "/w/a*", true},
		{`/a\*`, "/w/ab", false},
		{"/[", "/w/[", false},
		{"/src/**", "/w/src/../b", false},
		{"/src", "/w/x/../src/a", true},
	} {
		if got := MatchPath(c.pattern, c.path, "/w"); got != c.want {
			t.Errorf("MatchPath(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
	if !matchPath("/SRC/**", "/w/src/A", "/W", true) || matchPath("/SRC/**", "/w/src/A", "/w", false) {
		t.Error("case is folded where it should not be, or the reverse")
	}
}

func TestAnchor(t *testing.T) {
	for pattern, path := range map[string]string{"*.env": "/w/[x]/a/b.env", "/src/**": "/w/[x]/src/a", "a/b": "/w/[x]/a/b/c"} {
		if p := Anchor(pattern, "/w/[x]"); !MatchPath(p, path, "/elsewhere") || MatchPath(p, strings.Replace(path, "/w", "/v", 1), "/w") {
			t.Errorf("anchor(%q) = %q does not match %s alone", pattern, p, path)
		}
	}
}

func FuzzMatchPath(f *testing.F) {
	f.Add("**/a/**/*.go", "/w/a/b.go", "/w")
	f.Add("~/[!a]/..", "/x", "")
	f.Fuzz(func(t *testing.T, pattern, path, dir string) {
		if MatchPath(pattern, path, dir) && !strings.HasSuffix(pattern, "/**") && !MatchPath(pattern, path+"/below", dir) && !strings.Contains(path, "..") && !strings.HasSuffix(path, ".") {
			t.Errorf("%q matches %q but not what is below", pattern, path)
		}
	})
}

func TestInside(t *testing.T) {
	dir := permtest.Tree(t)
	g := NewContext(dir, nil)
	for name, want := range map[string]bool{
		"a.txt": true, ".": true, "src/new/file": true, "in/main.go": true, "src/../a.txt": true,
		"..": false, "../w-backup": false, "leak": false, "away/data": false, "away/../w/a.txt": true, "in/../../a": false, "self": false, "/etc/passwd": false,
	} {
		p := name
		if !strings.HasPrefix(name, "/") {
			p = dir + "/" + name
		}
		if got := g.Inside(p); got != want {
			t.Errorf("inside(%s) = %v", name, got)
		}
	}
	if NewContext("", nil).Inside("/a") || NewContext("/w", nil).Inside("/wx") {
		t.Error("a path is inside of nothing")
	}
}

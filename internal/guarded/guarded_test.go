package guarded

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// The list can be read: each entry is a clean path with patterns that are well
// formed, once in its part, and covers itself in any folder and in any case.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range read().entries {
		key := e.path + string(e.scope)
		if seen[key] || path.Clean(e.path) != e.path || path.IsAbs(e.path) || !slices.Contains([]Scope{Folder, Existing, Home}, e.scope) {
			t.Errorf("entry %q of %q", e.path, e.scope)
		}
		seen[key] = true
		if _, err := path.Match(strings.ToLower(e.path), "x"); err != nil {
			t.Errorf("entry %q: %v", e.path, err)
		}
		name := strings.ReplaceAll(e.path, "*", "any")
		for _, p := range []string{name, "sub/" + name, strings.ToUpper(name), name + "/below/it"} {
			if !Covers(strings.Split(p, "/")) {
				t.Errorf("%q does not cover %q", e.path, p)
			}
		}
		if front, _, deep := strings.Cut(name, "/"); deep && !MayHold([]string{"x", front}) {
			t.Errorf("%q may not hold %q", front, name)
		}
	}
	if len(seen) < 150 || len(Paths(Folder)) == 0 || len(Paths(Existing)) == 0 || len(Paths(Home)) == 0 {
		t.Errorf("%d entries", len(seen))
	}
	for _, p := range []string{"", "src/main.go", "git/config", ".config", ".github/CODEOWNERS", "code-workspace", ".gitignore", ".cargo"} {
		if Covers(strings.Split(p, "/")) {
			t.Errorf("%q is covered", p)
		}
	}
	if MayHold([]string{"src"}) || MayHold([]string{".git"}) {
		t.Error("too much may be held")
	}
}

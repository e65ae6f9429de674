package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	files := []string{"a.go", "dir", "dir/b.go", "with space.txt", "odd).txt", "x#L1", "résumé.txt", "c"}
	exists := func(path string) bool { return slices.Contains(files, path) }
	for text, want := range map[string]string{
		"look at @a.go":                                "a.go",
		"@a.go, @dir/b.go and @dir.":                   "a.go dir/b.go dir",
		"(see @a.go)":                                  "a.go",
		"`@a.go`":                                      "a.go",
		"me@a.go, you@dir":                             "",
		"@a.go#L10-20 @a.go#L3 @a.go#7-9":              "a.go:10-20 a.go:3-3 a.go:7-9",
		"@a.go#L20-10 @a.go#L0 @a.go#Lx":               "",
		`@"with space.txt" and @'with space.txt'#L2-3`: "with space.txt with space.txt:2-3",
		`@"with space.txt`:                             "",
		"@odd).txt":                                    "odd).txt",
		"@x#L1":                                        "x#L1",
		"@résumé.txt!":                                 "résumé.txt",
		"@missing.go @someone @dir/missing":            "",
		"@a.go @a.go":                                  "a.go",
		"@":                                            "",
		"@@a.go":                                       "",
		"a\n@a.go\n@dir":                               "a.go dir",
		"@server:uri":                                  "",
		"@c...":                                        "c",
		"@" + strings.Repeat("c)", 10_000):             "",
		strings.Repeat("@c ", 10_000):                  "c",
	} {
		var got []string
		for _, m := range mentions(text, exists) {
			s := m.path
			if m.first > 0 {
				s += fmt.Sprintf(":%d-%d", m.first, m.last)
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
	}
}

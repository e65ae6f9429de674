package paths

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestMeetText(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"*.env", "s*", true}, {"*.env", "*.go", false}, {"a?c", "abc", true}, {"a[b]c", "abc", true}, {"", "", true}, {"", "*", true}, {"a", "", false}, {"a*b", "b*a", false}, {`a\*`, "a*", true}, {`a\*`, "ab", false},
	} {
		if meetText(c.a, c.b) != c.want || meetText(c.b, c.a) != c.want {
			t.Errorf("%q and %q", c.a, c.b)
		}
	}
}

// What a pattern matches meets it, and what two patterns match in common makes
// them meet.
func FuzzMeet(f *testing.F) {
	f.Add("*.env", "s[e]cret", "a.env")
	f.Add("**/a", "?/*", "b/a")
	f.Fuzz(func(t *testing.T, a, b, text string) {
		if len(a)+len(b)+len(text) > 200 {
			return
		}
		split := func(s string) []string { return strings.Split(s, "/") }
		matches := func(pats, segs []string) bool {
			return !slices.Contains(segs, "**") && MatchSegments(pats, segs)
		}
		exact := slices.EqualFunc(split(b), split(text), func(p, s string) bool {
			ok, err := path.Match(p, s)
			return ok && err == nil && p != "**"
		})
		if exact && matches(split(a), split(text)) && !meetSegments(split(a), split(b)) {
			t.Errorf("%q matches %q and %q, which do not meet", text, a, b)
		}
	})
}

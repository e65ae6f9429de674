package rules

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRuleCheck(t *testing.T) {
	for _, good := range []string{
		"Read", "Bash(git *)", "Bash(git diff:*)", "Edit(/src/**)", "Read(~/.ssh/**)", "Read(//etc/**)", "WebFetch(domain:example.com)",
		"mcp__github__*", "mcp__github", "*", "mcp__*", "Bash(echo (a b))", "my_tool-2", "Bash(*)",
	} {
		if r, err := ParseRule(" " + good + " "); err != nil || string(r) != good {
			t.Errorf("ParseRule(%q) = %q, %v", good, r, err)
		}
	}
	for bad, want := range map[string]string{
		"": "name is missing", "(x)": "name is missing", "Bash(": "unbalanced", "Bash(a": "unbalanced", "Bash)": "unbalanced", "Bash(a))": "unbalanced",
		"Bash(a)b": "after the closing", "Bash()": "empty", "Bash( )": "empty", "Ba sh": "cannot be in", "Bash,": "cannot be in", "mcp__*(x)": "one tool",
		"mcp__a__b(x)": "external", "Edit(!a)": "negated", "Read([)": "syntax error", "WebFetch(domain:)": "domain", "Bash(a\x00)": "NUL", "Bäsh": "cannot be in",
	} {
		if _, err := ParseRule(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRule(%q): %v, want %q", bad, err, want)
		}
	}
}

func TestParseRules(t *testing.T) {
	for s, want := range map[string][]Rule{
		"":                                      nil,
		" , ":                                   nil,
		"Read":                                  {"Read"},
		"Read,Edit Write":                       {"Read", "Edit", "Write"},
		"Bash(git *), Bash(npm run a,b)\nRead,": {"Bash(git *)", "Bash(npm run a,b)", "Read"},
		"Bash(echo (a, b)) Read":                {"Bash(echo (a, b))", "Read"},
	} {
		got, err := ParseRules(s)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseRules(%q) = %q, %v", s, got, err)
		}
	}
	for _, bad := range []string{"Read, Bash(git", "Bash(a))", "Read) Edit"} {
		if got, err := ParseRules(bad); err == nil {
			t.Errorf("ParseRules(%q) = %q", bad, got)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"Bash(git *)", "Edit(/a/[b]/**)", "mcp__a__*", "*(", "Bash(a (b) c), Read"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err == nil {
			if again, err := ParseRules(string(r)); err != nil || len(again) != 1 || again[0] != r {
				t.Errorf("%q is read as %q in a list: %v", r, again, err)
			}
		}
		for _, p := range []Policy{{Deny: []Rule{Rule(s)}}, {Ask: []Rule{Rule(s)}}, {Allow: []Rule{Rule(s)}}} {
			p.Decide(Request{Tool: "Bash", Dir: "/w", Access: []Access{{Kind: RunCommand, Target: "ls -l a"}}})
			p.Decide(Request{Tool: "Edit", Dir: "/w", Access: []Access{{Kind: EditFile, Target: "/w/a"}}})
			p.DeniedReadPatterns(nil, "/w").Hides("/w/a", "/w")
		}
		if d := (Policy{Deny: []Rule{Rule(s)}}).Decide(Request{Tool: "T"}); err != nil && d.Behavior != Denied {
			t.Errorf("the malformed deny rule %q lets a call pass", s)
		}
	})
}

func TestMatchText(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want, may     bool
	}{
		{"git *", "git status", true, true},
		{"git *", "gitk", false, false},
		{"*", "", true, true},
		{"a*b*c", "a1b2b3c", true, true},
		{"a*b*c", "a1b2b3", false, false},
		{"git push *", "git \x00", false, true},
		{"git push *", "git\x00 push x", false, true},
		{"rm *", "\x00 x", false, true},
		{"rm *", "ls \x00", false, false},
		{"a", "\x00", false, true},
		{"ab*", "a\x00", false, true},
		{"ab", "a\x00c", false, false},
	} {
		if got := matchText(c.pattern, c.text); got != c.want {
			t.Errorf("matchText(%q, %q) = %v", c.pattern, c.text, got)
		}
		if got := mayMatch(c.pattern, c.text); got != c.may {
			t.Errorf("mayMatch(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for s, want := range map[string][]string{
		"": nil, " a  b\t": {"a", "b"}, `'a b' "c d"e \f`: {"a b", "c de", "f"}, `it's x`: {"it's", "x"}, `''`: {""}, `"\$\a"`: {`$\a`},
	} {
		if got := splitWords(s); !slices.Equal(got, want) {
			t.Errorf("splitWords(%q) = %q", s, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add("a b", "it's", "*")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		words := []string{a, b, c}
		if got := splitWords(joinWords(words)); !slices.Equal(got, words) {
			t.Errorf("%q becomes %q", words, got)
		}
		if p := joinWords(words); !strings.Contains(p, "*") && (!matchWords(p, words) || !matchWords(p+" *", append(words, "x y")) || matchWords(p, append(words, "x"))) {
			t.Errorf("%q does not match %q alone", p, words)
		}
	})
}

func TestMatchURL(t *testing.T) {
	for _, c := range []struct {
		pattern, url string
		want         bool
	}{
		{"domain:example.com", "https://example.com/x", true},
		{"domain:example.com", "https://docs.EXAMPLE.com.:8080/x", true},
		{"domain:*.example.com", "https://docs.example.com", true},
		{"domain:example.com", "https://badexample.com", false},
		{"domain:example.com", "https://example.com.evil.org", false},
		{"domain:example.com", "https://example.com@evil.org/", false},
		{"domain:example.com", "example.com/path", true},
		{"https://example.com/*", "https://example.com/a", true},
		{"https://example.com/*", "https://example.org/a", false},
	} {
		if got := newAddress(c.url).matches(scoped(t, c.pattern), true); got != c.want {
			t.Errorf("matching (%q, %q) = %v", c.pattern, c.url, got)
		}
	}
	if newAddress("https://a.com\\@b.com/").matches(scoped(t, "domain:a.com"), true) || !newAddress("https://b.com\\@a.com/").matches(scoped(t, "domain:a.com"), false) {
		t.Error("an address that cannot be read is allowed, or not denied")
	}
}

func matchWords(pattern string, words []string) bool {
	p := newCommandPattern(pattern)
	return p.matches(words)
}

// scoped is a rule for addresses.
func scoped(t *testing.T, pattern string) *rule {
	t.Helper()
	x, err := Rule("WebFetch(" + pattern + ")").parse()
	if err != nil {
		t.Fatal(err)
	}
	return &x
}

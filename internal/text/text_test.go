package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""}, {"", 5, ""}, {"abc", 3, "abc"}, {"abcd", 3, "…"}, {"abcdef", 5, "ab…"},
		{"ab", 1, ""}, {"ab", 0, ""}, {"ab", -7, ""}, {"abc", 2, ""},
		{"ééé", 6, "ééé"}, {"éééé", 6, "é…"}, {"éééé", 7, "éé…"}, {"a🙂b", 6, "a🙂b"}, {"a🙂bc", 6, "a…"},
		{"x\xffy", 5, "x\uFFFDy"}, {"x\xffy", 4, "x…"}, {"\xff\xff\xff\xff", 3, "…"}, {"🙂🙂", 5, "…"}, {"abc\xe2\x80", 5, "ab…"},
		{strings.Repeat("\x80", 50), 9, "\uFFFD…"},
	} {
		if got := Bytes(c.in, c.limit); got != c.want {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestRunes(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""}, {"", 5, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"ab", 1, "…"}, {"a", 0, ""}, {"a", -1, ""},
		{"ééé", 3, "ééé"}, {"éééé", 3, "éé…"}, {"🙂🙂🙂", 2, "🙂…"}, {"x\xffy", 3, "x\uFFFDy"}, {"x\xffyz", 3, "x\uFFFD…"},
	} {
		if got := Runes(c.in, c.limit); got != c.want {
			t.Errorf("Runes(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ in, first, one string }{
		{"", "", ""}, {" \n\t", "", ""}, {"a b", "a b", "a b"}, {"\n a\tb \r\nc\n", "a\tb ", "a b c"},
		{"a\u00a0\u2003b", "a\u00a0\u2003b", "a b"}, {"a\xffb", "a\uFFFDb", "a\uFFFDb"},
	} {
		if got := FirstLine(c.in); got != c.first {
			t.Errorf("FirstLine(%q) = %q, want %q", c.in, got, c.first)
		}
		if got := OneLine(c.in); got != c.one {
			t.Errorf("OneLine(%q) = %q, want %q", c.in, got, c.one)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files", -1: "-1 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct{ in, shell, json string }{
		{"", `''`, `""`}, {"a b", `'a b'`, `"a b"`}, {"it's", `'it'\''s'`, `"it's"`},
		{"<&>\n\"", "'<&>\n\"'", `"<&>\n\""`}, {"$(x) `y` \\", "'$(x) `y` \\'", "\"$(x) `y` \\\\\""},
	} {
		if got := QuoteShell(c.in); got != c.shell {
			t.Errorf("QuoteShell(%q) = %s, want %s", c.in, got, c.shell)
		}
		if got := QuoteJSON(c.in); got != c.json {
			t.Errorf("QuoteJSON(%q) = %s, want %s", c.in, got, c.json)
		}
	}
}

// A result fits, is valid, and is the whole text or a beginning of it with an ellipsis.
func FuzzShorten(f *testing.F) {
	f.Add("", 0)
	f.Add("some words", 6)
	f.Add("éé🙂\xff\xe2\x80\x80z", 7)
	f.Add("\xf0\x9f\x99", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		whole := strings.ToValidUTF8(s, "\uFFFD")
		check := func(name, got string, size int) {
			if size > max(limit, 0) || !utf8.ValidString(got) {
				t.Errorf("%s(%q, %d) = %q of size %d", name, s, limit, got, size)
			}
			if part, cut := strings.CutSuffix(got, Ellipsis); got != whole && got != "" && !(cut && strings.HasPrefix(whole, part)) {
				t.Errorf("%s(%q, %d) = %q is no beginning of it", name, s, limit, got)
			}
		}
		b, r := Bytes(s, limit), Runes(s, limit)
		check("Bytes", b, len(b))
		check("Runes", r, utf8.RuneCountInString(r))
		if utf8.ValidString(s) && len(s) <= limit && (b != s || r != s) {
			t.Errorf("%q fits into %d and became %q and %q", s, limit, b, r)
		}
		if one := OneLine(s); one != OneLine(one) || strings.ContainsAny(one, "\r\n\t") {
			t.Errorf("OneLine(%q) = %q", s, one)
		}
		var back string
		if err := json.Unmarshal([]byte(QuoteJSON(s)), &back); err != nil || utf8.ValidString(s) && back != s {
			t.Errorf("QuoteJSON(%q) = %s: %q, %v", s, QuoteJSON(s), back, err)
		}
	})
}

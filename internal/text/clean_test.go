package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\r\n":    "plain\ttext\r\n",
		"\x1b[31mred\x1b[0m": "red",
		"\u0090q\u009c\u0098a\au\u0085v\u009fAPC\u009c\u009eb\x1b\\w": "uvw",
		"\u009d52;c;eA==\ax":                       "x",
		"N\bNA\bA \a\x05\x0e\x7fx\b\n\b\x1f\f":     "NA \n\x1f\f",
		"\x1b[38;2;1;2;3mx\x1b[K\x1b[?25l":         "x",
		"\x1b]0;title\ax":                          "x",
		"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bPq#0\x1b\\x":                          "x",
		"\x1b(Bx\x1b7y\x1bcz":                      "xyz",
		"a\x00b":                                   "ab",
		"\xff\xfe":                                 "\uFFFD\uFFFD",
		"a\xed\xa0\x80b":                           "a\uFFFD\uFFFD\uFFFDb",
		"\u009b31mx":                               "x",
		"\x1b":                                     "",
		"\x1b[":                                    "",
		"\x1b[31":                                  "31",
		"\x1b]no end\nnext":                        "no end\nnext",
		"\x1b\x1b[1mx":                             "x",
		"\x1bé":                                    "é",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Clean("\x1b]" + strings.Repeat("x", 1<<20)); len(got) != 1<<20 {
		t.Errorf("a sequence without end swallowed the text")
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;t\a\x00\xff\u009b1m")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\u009b\u009d\u0090\a\b\x7f") {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Errorf("Clean twice: %q, %q", got, again)
		}
	})
}

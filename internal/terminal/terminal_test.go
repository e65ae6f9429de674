package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nnext": "plain\ttext\nnext", "a\x1b[2Jb": "a␛[2Jb", "a\r\nb": "a\nb", "\x7f": "␡",
		"\u009b31m": "\ufffd31m", "\u202eevil": "\ufffdevil", "\xff": "\ufffd", "a\u200bb\u2028c\u00add\u2060\u3164\ufeff": "a\ufffdb\ufffdc\ufffdd\ufffd\ufffd\ufffd", "x\u200dy\u200cz\U000e0041": "x\ufffdy\ufffdz\ufffd",
		"1\ufe0f\u20e3 \u2194\ufe0f\ufe0f\ufe01 \ufe0f":                                    "1\ufe0f\u20e3 \u2194\ufe0f\ufffd\ufffd \ufffd",
		"\u0645\u06cc\u200c\u0634\u0648\u062f \u0915\u094d\u200d\u0937 \u3000\u00a0\u2800": "\u0645\u06cc\u200c\u0634\u0648\u062f \u0915\u094d\u200d\u0937 \u3000\u00a0\u2800",
		"caf\u00e9 \U0001f468\u200d\U0001f469":                                             "caf\u00e9 \U0001f468\u200d\U0001f469",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"ls -la":              "ls -la",
		"a\u200bb\u00adc":     `a\u{200b}b\u{ad}c`,
		"rm\u3164-rf\u00a0/":  `rm\u{3164}-rf\u{a0}/`,
		"a\x1b[2J\r\n\tb":     `a\u{1b}[2J\u{d}\u{a}\u{9}b`,
		"x\u202e\ufeff":       `x\u{202e}\u{feff}`,
		"\U000e0041":          `\u{e0041}`,
		"e\u0301 caf\u00e9":   "e\u0301 caf\u00e9",
		"/\u0338":             `/\u{338}`,
		"e\u0301\u0301\u0301": "e\u0301\u0301" + `\u{301}`,
		"\xff\u200d":          `\xff\u{200d}`,
		"end  ":               `end\u{20}\u{20}`,
		"ls" + strings.Repeat(" ", 2000) + "; rm x": "ls [2000 blanks] ; rm x",
		"\u2705\ufe0f \U0001f468\u200d\U0001f469":   "\u2705\ufe0f \U0001f468\u200d\U0001f469",
		"a\u200db":   `a\u{200d}b`,
		"日本語 Привет": "日本語 Привет",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPieces(t *testing.T) {
	for in, want := range map[string]string{
		"ls -la":                      "ls -la",
		"\u0430pt install":            "[\u0430]pt install",
		"echo \u4f60\u597d x":         "echo [\u4f60\u597d] x",
		`a\u{200b}` + "\u200b  ":      `a\u{200b}[\u{200b}\u{20}\u{20}]`,
		"a" + strings.Repeat(" ", 20): "a[ [20 blanks] ]",
		"":                            "",
	} {
		got := ""
		for _, p := range Pieces(in) {
			if p.Strange {
				p.Text = "[" + p.Text + "]"
			}
			got += p.Text
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Long texts of any kind take time in proportion to their length: in proportion to its square,
// this test would take many minutes.
func TestLongTexts(t *testing.T) {
	for _, unit := range []string{"x", "\u65e5", "x\u65e5", "\u200b", " ", "\xff", "e\u0301", "\x1b"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		Text(text)
		Visible(text)
	}
}

func TestLookalikes(t *testing.T) {
	for in, want := range map[string]string{
		"curl https://p\u0430ypal.com":  "\"p\u0430ypal\": \u0430 is U+0430",
		"rm \uff12":                     "\"\uff12\": \uff12 is U+FF12",
		"cat \u2215etc\u2215x":          "\"\u2215\": \u2215 is U+2215",
		"echo Привет мир 日本語 caf\u00e9": "",
	} {
		if got := strings.Join(Lookalikes(in), "; "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWriterKeepsSplitCharacters(t *testing.T) {
	const text = "a\u00e9\x1b[2J\u009b\U0001f600\u200d\U0001f600\u200b\r\n\xffz"
	for i := range len(text) {
		var b bytes.Buffer
		w := NewWriter(&b)
		for _, part := range []string{text[:i], text[i:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if b.String() != Text(text) {
			t.Errorf("%d: %q", i, b.String())
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("a\x1b]52;c;eA==\a\u009b1m\u202e\u200b\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{Text(s), Visible(s)} {
			if !utf8.ValidString(got) || strings.ContainsFunc(got, drives) || strings.ContainsAny(got, "\u200b\u2028\u2029\u2060\ufeff\u00ad\U000e0041") {
				t.Errorf("%q: %q", s, got)
			}
			if Text(got) != got {
				t.Errorf("%q: %q, then %q", s, got, Text(got))
			}
		}
		var pieces strings.Builder
		for _, p := range Pieces(s) {
			if pieces.WriteString(p.Text); p.Text == "" || !p.Strange && strings.ContainsFunc(p.Text, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("%q: %v", s, p)
			}
		}
		if pieces.String() != Visible(s) {
			t.Errorf("%q: %q", s, pieces.String())
		}
		if strings.ContainsFunc(Visible(s), func(r rune) bool { return unseen(r) && r != joiner && r != emojiStyle }) {
			t.Errorf("%q: %q", s, Visible(s))
		}
		var plain bytes.Buffer
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		var was, is string
		if err := json.Unmarshal(plain.Bytes(), &was); err != nil {
			t.Fatal(err)
		}
		safe := JSON(bytes.Clone(plain.Bytes()))
		if err := json.Unmarshal(safe, &is); err != nil || is != was || strings.ContainsFunc(string(safe), drives) {
			t.Errorf("%q: %q, %v", s, safe, err)
		}
	})
}

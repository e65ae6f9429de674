package styled

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/internal/highlight"
)

func texts(rows []Row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.Text())
	}
	return out
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"one two three", 7, "one two|three"},
		{"one  two", 20, "one  two"},
		{"one    two", 5, "one|two"},
		{"one ", 3, "one"},
		{"  lead", 20, "  lead"},
		{"a https://example.com/long b", 8, "a|https://example.com/long|b"},
		{"我们把文件读完了。然后运行测试", 10, "我们把文件|读完了。然|后运行测试"},
		{"看（这里）吧", 6, "看（这|里）吧"},
		{"use the 工具 here", 9, "use the|工具 here"},
		{"👨‍👩‍👧 family 👍🏽", 9, "👨‍👩‍👧 family|👍🏽"},
		{"", 5, ""},
	} {
		if got := strings.Join(texts(Row{{Text: c.in}}.Wrap(c.width, nil, nil)), "|"); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.in, c.width, got, c.want)
		}
	}
	got := Row{{Kind: Code, Text: "ab"}, {Text: "cd ef"}}.Wrap(4, Row{{Text: "* "}}, Row{{Text: "  "}})
	want := []Row{{{Text: "* "}, {Kind: Code, Text: "ab"}, {Text: "cd"}}, {{Text: "  ef"}}}
	if !slices.EqualFunc(got, want, func(a, b Row) bool { return slices.Equal(a, b) }) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"abc", 1, "…"}, {"abc", 0, ""}} {
		if got := (Row{{Text: c.in}}).Cut(c.width).Text(); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestBreak(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcdefg", 4, "abcd| efg"}, {"日本語", 4, "日本| 語"}, {"日本", 1, "日| 本"}, {"", 3, ""}} {
		if got := strings.Join(texts(Row{{Text: c.in}}.Break(c.width, Row{{Text: " "}})), "|"); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestClean(t *testing.T) {
	if got := Clean(Dim, "a\tb\nc\x1b[31m\u202e").Text; got != "a    b c␛[31m\ufffd" {
		t.Errorf("%q", got)
	}
	if got := Verbatim(Plain, "a\tb\t日\tc\r\n").Text(); got != "a   b   日  c" {
		t.Errorf("%q", got)
	}
	if got := Colour(highlight.New("go"), "\tx := \"\t\x1b\" // y\n"); got.Text() != "    x := \"  ␛\" // y" || len(got) != 4 {
		t.Errorf("%v", got)
	}
}

func TestLetters(t *testing.T) {
	got := Letters(Code, "\u0430pt install … \x1be\u0301")
	want := Row{{Kind: Code, Attr: Underlined, Text: "\u0430"}, {Kind: Code, Text: "pt install … ␛e"}, {Kind: Code, Attr: Underlined, Text: "\u0301"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Wrapping loses nothing but blanks, and only a word is wider than a row.
func FuzzWrap(f *testing.F) {
	f.Add("one 日本語 two, (three) \u0301 👨\u200d👩 x", 8)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = min(max(width, 1), 200)
		row := Row{Clean(Plain, text)}
		letters := func(s string) string {
			return strings.ReplaceAll(s, " ", "")
		}
		var all strings.Builder
		for _, r := range row.Wrap(width, nil, nil) {
			s := r.Text()
			all.WriteString(s)
			if strings.ContainsFunc(s, unicode.IsControl) {
				t.Fatalf("%q: %q", text, s)
			}
			if frame.Width(s) <= width {
				continue
			}
			for g := graphemes.FromString(strings.TrimLeft(s, " ")); g.Next(); {
				if g.Value() == " " {
					t.Fatalf("%q at %d: %q", text, width, s)
				}
			}
		}
		if got, want := letters(all.String()), letters(row.Text()); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
		if w := row.Cut(width).Width(); w > width {
			t.Fatalf("%q cut at %d has %d cells", text, width, w)
		}
	})
}

func BenchmarkWrap(b *testing.B) {
	for name, text := range map[string]string{"words": strings.Repeat("some words ", 1<<13), "one": strings.Repeat("x", 1<<16), "wide": strings.Repeat("日本", 1<<13)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Row{{Text: text}}.Wrap(100, nil, nil)
			}
		})
	}
}

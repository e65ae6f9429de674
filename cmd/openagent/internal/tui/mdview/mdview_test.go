package mdview

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/internal/markdown"
)

func text(rows []styled.Row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.Text() + "\n")
	}
	return b.String()
}

const sample = `# The *result*

I read **three files** and found the ~~bug~~ cause in ` + "`invoice.sh`" + `, see [the page](https://example.com/a) and https://example.com/b.
A second line
of the paragraph.

- one
- two words that are wrapped at the width of it
  - nested
    1. deep
- [x] done
- [ ] open

  more of it

> quoted text
> > twice

` + "```go\nfunc f() {\n\treturn \"a very long line of code, which no one wraps at all, as it is code\"\n}\n```" + `

| File | Lines | What |
|:-----|------:|:----:|
| a.go | 12 | ` + "`x`" + ` |
| longer/name.go | 1 | middle |

***
3. three
4. four
`

func TestRows(t *testing.T) {
	const want = `The result

I read three files and found the bug
cause in invoice.sh, see the page
(https://example.com/a) and
https://example.com/b.
A second line
of the paragraph.

- one
- two words that are wrapped at the
  width of it
  - nested
    1. deep
- [x] done
- [ ] open

      more of it

│ quoted text
│
│ │ twice

func f() {
    return "a very long line of code, which no one wraps at all, as it is code"
}

File           │ Lines │  What
───────────────┼───────┼───────
a.go           │    12 │   x
longer/name.go │     1 │ middle

────────────────────────────────────────

3. three
4. four
`
	if got := text(Rows(markdown.Parse(sample), 40)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestKinds(t *testing.T) {
	got := Rows(markdown.Parse("# h *i*\n\n**b _c_** `d` ~~e~~ [f](http://g)\n\n```sh\nif x # y\n```"), 80)
	want := []styled.Row{
		{{Kind: styled.Heading, Attr: styled.Strong, Text: "h "}, {Kind: styled.Heading, Attr: styled.Strong | styled.Emphasis, Text: "i"}},
		nil,
		{{Attr: styled.Strong, Text: "b "}, {Attr: styled.Strong | styled.Emphasis, Text: "c"}, {Text: " "}, {Kind: styled.Code, Text: "d"}, {Text: " "},
			{Attr: styled.Struck, Text: "e"}, {Text: " "}, {Kind: styled.Link, Attr: styled.Underlined, Text: "f"}, {Kind: styled.Dim, Text: " (http://g)"}},
		nil,
		{{Kind: styled.Keyword, Text: "if"}, {Text: " x "}, {Kind: styled.Comment, Text: "# y"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v\nwant\n%#v", got, want)
	}
}

func TestTables(t *testing.T) {
	const table = "| Key | What it does |\n|---|---|\n| enter | sends the message to the model |\n| ctrl+c | clears the input, then stops<br>the run |\n"
	for width, want := range map[int]string{
		40: `Key    │ What it does
───────┼───────────────────────────────
enter  │ sends the message to the model
ctrl+c │ clears the input, then stops
       │ the run
`,
		26: `Key    │ What it does
───────┼──────────────────
enter  │ sends the message
       │ to the model
ctrl+c │ clears the input,
       │ then stops
       │ the run
`,
	} {
		if got := text(Rows(markdown.Parse(table), width)); got != want {
			t.Errorf("at %d:\n%s\nwant:\n%s", width, got, want)
		}
	}
	wide := "|" + strings.Repeat(" name |", 8) + "\n|" + strings.Repeat("-|", 8) + "\n|" + strings.Repeat(" value |", 8) + "\n"
	got := text(Rows(markdown.Parse(wide), 30))
	if want := strings.Repeat("name: value\n", 8); got != want {
		t.Errorf("a table that is too wide:\n%s\nwant:\n%s", got, want)
	}
	got = text(Rows(markdown.Parse("| 文件 | b |\n|---|---|\n| x | longwordthatisbroken |\n"), 20))
	if want := "文件 │ b\n─────┼──────────────\nx    │ longwordthati\n     │ sbroken\n"; got != want {
		t.Errorf("wide letters:\n%s\nwant:\n%s", got, want)
	}
}

// Long texts of any kind take time in proportion to their length: in proportion to its square,
// this test would take minutes.
func TestLongTexts(t *testing.T) {
	for _, unit := range []string{"x", "\u65e5", "\u00e9 ", "**a** ", "`a` ", "http://a ", "> ", "- a\n", "|a|\n|-|\n|b|\n", "[a](b) ", "<br>"} {
		if rows := Rows(markdown.Parse(strings.Repeat(unit, 200_000/len(unit))), 80); len(rows) == 0 {
			t.Errorf("%q: nothing", unit)
		}
	}
}

// Whatever the pieces in which a text comes, its rows are the same, and they are fit for a
// terminal.
func FuzzView(f *testing.F) {
	f.Add(sample, 40, 7)
	f.Add("- a\n\x1b[2J\u202e\n\n|a|\n|-|\n|\x07\t|\n```\n\x9b\u009b\n```\n> \r\n", 20, 3)
	f.Fuzz(func(t *testing.T, src string, width, step int) {
		width, step = min(max(width, 1), 200), max(step, 1)
		var s markdown.Stream
		v := New(width)
		var got []styled.Row
		for at := 0; at < len(src); at += step {
			for _, p := range s.Feed(src[at:min(at+step, len(src))]) {
				got = append(got, v.Part(p)...)
			}
			if at < 300 {
				v.Open(s.Open())
			}
			step = max(min(step, len(src)-at), 1)
		}
		for _, p := range s.Close() {
			got = append(got, v.Part(p)...)
		}
		want := Rows(markdown.Parse(src), width)
		if text(got) != text(want) {
			t.Fatalf("%q:\n%s\nwhole:\n%s", src, text(got), text(want))
		}
		for _, r := range want {
			if strings.ContainsFunc(r.Text(), unicode.IsControl) || frame.Width(r.Text()) != r.Width() && !strings.ContainsFunc(r.Text(), func(r rune) bool { return r > 0x7f }) {
				t.Fatalf("%q: %q", src, r.Text())
			}
			for _, span := range r {
				if span.Text == "" {
					t.Fatalf("%q: an empty span in %v", src, r)
				}
			}
		}
	})
}

func BenchmarkRows(b *testing.B) {
	blocks := markdown.Parse(sample)
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		Rows(blocks, 80)
	}
}

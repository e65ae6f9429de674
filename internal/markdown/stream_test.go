package markdown

import (
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// streamed feeds a text in pieces that end at cuts, and looks at what is open between them.
func streamed(src string, cuts []int) []Part {
	var s Stream
	var out []Part
	from := 0
	for _, c := range append(slices.Clone(cuts), len(src)) {
		out = append(out, s.Feed(src[from:c])...)
		if from < 500 {
			s.Open()
		}
		from = c
	}
	return append(out, s.Close()...)
}

// samples are texts with most of what the splitter has to tell apart.
var samples = []string{
	"", "\n\n", "one\ntwo\n\nthree", "# a\n## b #\ntext\n# c", "title\n===\ntext\n---\n- x\n---\n",
	"```go\nfunc f() {}\n\n```\nafter", "~~~ sh -x\n```\n~~~", "  ```\n  a\n   b\nc\n```", "```\nopen", "``` a`b\nx", "a\r\nb\r\n\r\nc\rd",
	"- a\n- b\n\n- c\n  d\n\n  e\n1. x\n3. y\n7. z\n", "- a\nlazy\n- b\n  ```\n  code\n  ```\n- c\n\ntext", "1. a\nlazy\n2. b\n\n   c\n3) d",
	"- ```\n  a\nb\n- c\n\nd", "-\n\n  foo\n- \n- b", "-     code\ntext\n2. x\n\ny", "> a\nlazy\n> b\n\nc\n> d\n2. e\n\nf", "> - a\n> ```\nb\n```\nc\n```\n",
	"| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\n| 2 |\n\nafter", "a | b\n--- | ---\nx\n===\ny", "text\n| a |\n| - |\n| b<br>c |",
	"    code\n\n    more\ntext", "- [ ] a\n- [x] b\n  - [X] c\n", "* * *\n- - -\n* a\n* * *\n_ _ _", "**a *b* `c` ~~d~~** [e](http://f \"g\") ![h](i) <http://j> <k@l.m> http://n.o/p. \\* &amp; &#65;",
	"\tcode\n-\ttab\n\n\tin\n", "- a\n\n\n    - b\n        - c\n\n    d\n- e", "a\xff\xfeb \xe4\xbd", "- a\n    1. b\n    2. c\n- d\n# h\n- e\n+ f",
	"1. a\n\n       code\nb\n2. c", "- > q\nlazy\n- b", "a\n  ***\nb\n  > c\n    d\n", "<div>\n\n*a*\n</div>\n<!-- b\n\nc -->", "[a]: http://b\n\n[a] [c][a]",
}

func TestAnyCut(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, src := range samples {
		want := streamed(src, nil)
		all := make([]int, len(src))
		for i := range all {
			all[i] = i
			if got := streamed(src, []int{i}); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q cut at %d:\n%#v\nwhole:\n%#v", src, i, got, want)
			}
		}
		if got := streamed(src, all); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q byte by byte:\n%#v\nwhole:\n%#v", src, got, want)
		}
	}
	for range 2000 {
		var src strings.Builder
		for range 6 {
			src.WriteString(samples[r.Intn(len(samples))] + []string{"", "\n", "\n\n"}[r.Intn(3)])
		}
		sameAsParser(t, src.String())
	}
}

// Lines of all sorts, in any order, are cut where the parser sees the same blocks.
func TestAnyLines(t *testing.T) {
	bits := []string{"- ", "* ", "1. ", "2) ", "10. ", "> ", "```", "~~~", "# ", "\n", "\n\n", "  ", "    ", "a", "b c", "**", "|", "|-|", "---", "===", "\t", "x\n", "y\n", "`", "[ ] ", "- - ", "    code\n"}
	for seed := range int64(10_000) {
		r := rand.New(rand.NewSource(seed))
		var src strings.Builder
		for range 3 + r.Intn(20) {
			src.WriteString(bits[r.Intn(len(bits))])
		}
		sameAsParser(t, src.String()+"\n")
	}
}

// sameAsParser compares the blocks of a text with those of the parser alone, which gets it in
// one piece.
func sameAsParser(t *testing.T, src string) {
	t.Helper()
	clean := strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src), "\uFFFD")
	got, want := string(AppendHTML(nil, Parse(src))), string(AppendHTML(nil, parse([]byte(clean))))
	if got != want {
		t.Errorf("%q:\n%s\nthe parser alone:\n%s", src, got, want)
	}
}

// The splitter cuts where the parser sees the same blocks.
func TestSamples(t *testing.T) {
	for _, src := range samples {
		sameAsParser(t, src)
	}
}

func TestPages(t *testing.T) {
	n := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return fs.SkipDir
		}
		if filepath.Ext(file) != ".md" {
			return nil
		}
		src, err := os.ReadFile(file)
		if err != nil || len(src) > maxBlock/2 {
			return err
		}
		n++
		sameAsParser(t, string(src))
		return nil
	})
	if err != nil || n < 20 {
		t.Fatal(n, err)
	}
}

// Each block is yielded as soon as the line is there that ends it.
func TestYieldsEarly(t *testing.T) {
	var s Stream
	for _, step := range []struct {
		line string
		want []Part
	}{
		{"a\n", nil},
		{"b\n", nil},
		{"\n", []Part{{Paragraph{[]Inline{Text("a"), Break{Soft: true}, Text("b")}}, false}}},
		{"# h\n", []Part{{Heading{1, []Inline{Text("h")}}, false}}},
		{"2. x\n", nil},
		{"   y\n", nil},
		{"9. z\n", []Part{{List{Ordered: true, Start: 2, Items: []Item{{Blocks: []Block{Paragraph{[]Inline{Text("x"), Break{Soft: true}, Text("y")}}}}}}, false}}},
		{"\n", nil},
		{"4. w\n", []Part{{List{Ordered: true, Start: 3, Items: []Item{{Blocks: []Block{Paragraph{[]Inline{Text("z")}}}}}}, true}}},
		{"```go\n", []Part{{List{Ordered: true, Start: 4, Items: []Item{{Gap: true, Blocks: []Block{Paragraph{[]Inline{Text("w")}}}}}}, true}, {Code{Lang: "go"}, false}}},
		{"a := 1\n", []Part{{Code{"go", "a := 1\n"}, true}}},
		{"\n", []Part{{Code{"go", "\n"}, true}}},
		{"```\n", nil},
		{"---\n", []Part{{Rule{}, false}}},
	} {
		if got := s.Feed(step.line); !reflect.DeepEqual(got, step.want) {
			t.Errorf("%q: %#v, want %#v", step.line, got, step.want)
		}
	}
	if got := s.Close(); got != nil {
		t.Errorf("at the end: %#v", got)
	}
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		fed  string
		want []Part
	}{
		{"a **b", []Part{{Paragraph{[]Inline{Text("a "), Strong{[]Inline{Text("b")}}}}, false}}},
		{"a *b `c", []Part{{Paragraph{[]Inline{Text("a "), Emphasis{[]Inline{Text("b "), CodeSpan("c")}}}}, false}}},
		{"a **", []Part{{Paragraph{[]Inline{Text("a")}}, false}}},
		{"**a** 2 * 3 b_c \\* ~5", []Part{{Paragraph{[]Inline{Strong{[]Inline{Text("a")}}, Text(" 2 * 3 b_c * ~5")}}, false}}},
		{"**a\nb `c` d", []Part{{Paragraph{[]Inline{Strong{[]Inline{Text("a"), Break{Soft: true}, Text("b "), CodeSpan("c"), Text(" d")}}}}, false}}},
		{"- **b", []Part{{List{Items: []Item{{Blocks: []Block{Paragraph{[]Inline{Strong{[]Inline{Text("b")}}}}}}}}, false}}},
		{"# a *b", []Part{{Heading{1, []Inline{Text("a "), Emphasis{[]Inline{Text("b")}}}}, false}}},
		{"    a **b", []Part{{Code{"", "a **b\n"}, false}}},
		{"```\na **b", []Part{{Code{"", "a **b\n"}, true}}},
		{"text\n-", []Part{{Paragraph{[]Inline{Text("text")}}, false}}},
		{"1. a\n2. b\n3. c", []Part{
			{List{true, 2, []Item{{Blocks: []Block{Paragraph{[]Inline{Text("b")}}}}}}, true},
			{List{true, 3, []Item{{Blocks: []Block{Paragraph{[]Inline{Text("c")}}}}}}, true},
		}},
		{"```\na\nb", []Part{{Code{"", "b\n"}, true}}},
		{"```\na\n``", nil},
		{"a\xe4\xbd", []Part{{Paragraph{[]Inline{Text("a")}}, false}}},
	} {
		var s Stream
		s.Feed(c.fed)
		for range 2 { // looking changes nothing
			if got := s.Open(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q: %#v, want %#v", c.fed, got, c.want)
			}
		}
	}
}

// Text that models do not write may not stop the program.
func TestHostile(t *testing.T) {
	const n = 200_000
	for _, unit := range []string{"[", "]", "[a](", "![", "*a ", "*a _b ", "a* ", "_ ", "**a* ", "~~a ", "`", "`a``", "<", "<br>", "> ", "- ", "1. ", "  - a\n", "- a\n", "> a\nb\n",
		"|", "a|b\n", "|a|\n|-|\n", "http://", "xhttp://a", "http://a(", "&", "&#", "\\", "\n", "\r", "\t", " ", "    a\n", "```\n", "`` ` ``", "# a\n", "===\n", "a\n===\n", "![](", "(((", "\x00", "\xff", "[x]: y\n", "<a", "<http:", "a@b ", "~", "~~~a "} {
		start := time.Now()
		src := strings.Repeat(unit, n/len(unit))
		AppendHTML(nil, Parse(src))
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Logf("%q: %v", unit, d)
		}
	}
	for _, deep := range []string{strings.Repeat(strings.Repeat(">", 255)+"\n", 250), strings.Repeat(strings.Repeat("- ", 127)+"a\n", 250), strings.Repeat("- ", 200) + strings.Repeat(strings.Repeat(" ", 400)+"- a\n", 150), strings.Repeat(">", 60_000) + "a", strings.Repeat("- ", 30_000) + "a", strings.Repeat("*a ", 1000) + strings.Repeat("b* ", 1000)} {
		start := time.Now()
		AppendHTML(nil, Parse(deep))
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Logf("%.20q: %v", deep, d)
		}
	}
}

func FuzzCuts(f *testing.F) {
	for _, s := range samples {
		f.Add(s, int64(len(s)))
	}
	f.Fuzz(func(t *testing.T, src string, seed int64) {
		want := streamed(src, nil)
		r := rand.New(rand.NewSource(seed))
		var cuts []int
		for i := range src {
			if r.Intn(4) == 0 {
				cuts = append(cuts, i)
			}
		}
		if got := streamed(src, cuts); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q cut at %d:\n%#v\nwhole:\n%#v", src, cuts, got, want)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	src := strings.Repeat("# Title\n\nSome *words* in a paragraph, with `code` and a [link](https://example.com/a).\n\n- one\n- two **bold**\n\n```go\nfunc f() int { return 1 }\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", 20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		var s Stream
		for at := 0; at < len(src); at += 4 {
			s.Feed(src[at:min(len(src), at+4)])
		}
		s.Close()
	}
}

// BenchmarkOpen measures a frame: what came since the last one, and what is open.
func BenchmarkOpen(b *testing.B) {
	src := strings.Repeat("Some *words* in a paragraph, with `code` and a [link](https://example.com/a). ", 8) + "\n\n- one\n- two **bold**\n\n"
	var s Stream
	at := 0
	b.ReportAllocs()
	for b.Loop() {
		if at >= len(src) {
			at = 0
		}
		s.Feed(src[at:min(len(src), at+30)])
		s.Open()
		at += 30
	}
}

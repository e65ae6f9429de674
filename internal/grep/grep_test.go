package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/text/encoding/unicode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func compile(t testing.TB, pattern string, o Options) *Pattern {
	t.Helper()
	p, err := Compile(pattern, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// text searches a single text.
func text(t testing.TB, s Search, content string) Report {
	t.Helper()
	one := &searcher{Search: &s, ctx: t.Context(), room: s.Max}
	if s.Max == 0 {
		one.room = -1
	}
	r, err := one.file(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// show writes lines as "1:match" and "2-context".
func show(lines []Line) string {
	var list []string
	for _, l := range lines {
		sep := "-"
		if l.Match {
			sep = ":"
		}
		list = append(list, fmt.Sprint(l.Number, sep, l.Text))
	}
	return strings.Join(list, "|")
}

func utf16(s string, order unicode.Endianness) string {
	out, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return out
}

func TestLines(t *testing.T) {
	ten := "l1\nl2\nl3\nx4\nl5\nx6\nl7\nl8\nl9\nx10\n"
	tests := []struct {
		name, pattern, text string
		o                   Options
		before, after, max  int
		want                string
		more                bool
	}{
		{name: "plain", pattern: "x", text: ten, want: "4:x4|6:x6|10:x10"},
		{name: "before", pattern: "x", text: ten, before: 1, want: "3-l3|4:x4|5-l5|6:x6|9-l9|10:x10"},
		{name: "after", pattern: "x", text: ten, after: 2, want: "4:x4|5-l5|6:x6|7-l7|8-l8|10:x10"},
		{name: "overlapping context", pattern: "x", text: ten, before: 3, after: 3, want: "1-l1|2-l2|3-l3|4:x4|5-l5|6:x6|7-l7|8-l8|9-l9|10:x10"},
		{name: "limit", pattern: "x", text: ten, after: 1, max: 3, want: "4:x4|5-l5|6:x6", more: true},
		{name: "limit reached and no more", pattern: "x", text: ten, max: 3, want: "4:x4|6:x6|10:x10"},
		{name: "no newline at the end", pattern: "b", text: "a\nb", want: "2:b"},
		{name: "empty lines", pattern: "^$", text: "a\n\nb\n\n", want: "2:|4:"},
		{name: "empty text", pattern: "^", text: "", want: ""},
		{name: "anchors", pattern: "^a$", text: "a\nab\nba\na\r\n", want: "1:a|4:a"},
		{name: "CRLF", pattern: "a.$", text: "ab\r\nac\r\n", want: "1:ab|2:ac"},
		{name: "a class does not span lines", pattern: `a\s*b`, text: "a\nb\na b", want: "3:a b"},
		{name: "ignore case", pattern: "foo_bar", o: Options{IgnoreCase: true}, text: "Foo_Bar\nFOOBAR\n", want: "1:Foo_Bar"},
		{name: "ignore case beyond ASCII", pattern: "ÄSK", o: Options{IgnoreCase: true}, text: "ä\u017F\u212A\nask", want: "1:ä\u017F\u212A"},
		{name: "inline flag", pattern: "(?i)todo|Fix", text: "TODO\nfix\nnone", want: "1:TODO|2:fix"},
		{name: "UTF-8 mark", pattern: "^a", text: "\ufeffa", want: "1:a"},
		{name: "UTF-16 LE", pattern: "é", text: utf16("a\r\né\r\n", unicode.LittleEndian), want: "2:é"},
		{name: "UTF-16 BE", pattern: "^é$", text: utf16("a\né", unicode.BigEndian), want: "2:é"},
		{name: "invalid UTF-8", pattern: "b", text: "a\xffb", want: "1:a\uFFFDb"},
		{name: "NUL late", pattern: "b", text: strings.Repeat("a\n", 5000) + "\x00b\n", want: "5001:\x00b"},
		{name: "multiline", pattern: "a.b", o: Options{Multiline: true}, text: "x\na\nb\ny\naxb\n", want: "2:a|3:b|5:axb"},
		{name: "multiline with context", pattern: `a\nb`, o: Options{Multiline: true}, before: 1, after: 1, text: "1\n2\na\nb\n5\n6\n", want: "2-2|3:a|4:b|5-5"},
		{name: "multiline anchors and CRLF", pattern: `^b$`, o: Options{Multiline: true}, text: "a\r\nb\r\nc", want: "2:b"},
		{name: "multiline empty matches", pattern: `z*`, o: Options{Multiline: true}, text: "a\nb\n", want: "1:a|2:b"},
		{name: "two matches on a line", pattern: `a`, o: Options{Multiline: true}, text: "aaa\nab\n", want: "1:aaa|2:ab"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Search{Pattern: compile(t, tt.pattern, tt.o), Want: Lines, Before: tt.before, After: tt.after, Max: tt.max}
			r := text(t, s, tt.text)
			if got := show(r.Lines); got != tt.want || r.More != tt.more || r.Skipped != Nothing {
				t.Errorf("got %q, more %v, skipped %v\nwant %q", got, r.More, r.Skipped, tt.want)
			}
			if tt.max > 0 || tt.before+tt.after > 0 {
				return
			}
			matches := len(r.Lines)
			if s.Want = Whether; text(t, s, tt.text).Count != min(matches, 1) {
				t.Error("Whether disagrees")
			}
			if s.Want = Count; !tt.o.Multiline && text(t, s, tt.text).Count != matches {
				t.Error("Count disagrees")
			}
		})
	}
}

func TestSkipped(t *testing.T) {
	s := Search{Pattern: compile(t, "end", Options{}), Want: Lines}
	if r := text(t, s, "end\x00"); r.Skipped != Binary || r.Lines != nil {
		t.Errorf("binary: %+v", r)
	}
	long := strings.Repeat("a", maxLine+10)
	r := text(t, s, "first\n"+long+"end\nthe end\n")
	if r.Skipped != LongLine || show(r.Lines) != "3:the end" {
		t.Errorf("long line: %v %q", r.Skipped, show(r.Lines))
	}
	s.Pattern = compile(t, "end", Options{Multiline: true})
	if r := text(t, s, strings.Repeat(long+"\n", 5)); r.Skipped != TooLarge {
		t.Errorf("large text: %v", r.Skipped)
	}
	s.Pattern = compile(t, "a", Options{})
	if r := text(t, s, strings.Repeat(strings.Repeat("a", 1000)+"\n", 3000)); !r.More || len(r.Lines) > 1100 {
		t.Errorf("unlimited: %d lines, more %v", len(r.Lines), r.More)
	}
}

func TestClip(t *testing.T) {
	line := strings.Repeat("é", 3000) + "needle" + strings.Repeat("è", 3000)
	s := Search{Pattern: compile(t, "needle", Options{}), Want: Lines}
	got := text(t, s, line).Lines[0].Text
	if n := len([]rune(got)); n != ClipLength+len("[...]  [...]") || !strings.Contains(got, "éneedleè") || !strings.HasPrefix(got, "[...] é") || !strings.HasSuffix(got, "è [...]") {
		t.Errorf("%d characters: %s", n, got)
	}
	got = text(t, s, line[:6000]+"needle").Lines[0].Text
	if !strings.HasSuffix(got, "éneedle") || len([]rune(got)) != ClipLength+len("[...] ") {
		t.Errorf("at the end: %q", got)
	}
}

func TestCompileErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		`foo(?=bar)`:                     "lookahead",
		`(?<!a)b`:                        "lookbehind",
		`(a)\1`:                          "backreferences",
		`(?<n>a)\k<n>`:                   "backreferences",
		`foo(`:                           `write \(`,
		`a)`:                             `write \(`,
		`[a`:                             `write \[`,
		`*a`:                             `write \*`,
		`a\nb`:                           "multiline",
		`\pX`:                            `\pX`,
		`a{2000}`:                        "{2000}",
		strings.Repeat("a", 20000):       "16384 bytes",
		strings.Repeat(`\pL{900}`, 1000): "too large",
	} {
		if _, err := Compile(pattern, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile(%.30q): %v, want %q", pattern, err, want)
		}
	}
	if _, err := Compile(`a\nb|(c)?`, Options{}); err != nil {
		t.Error(err)
	}
}

func TestNeedles(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		want    []string
		plain   bool
	}{
		{"hello", []string{"hello"}, true},
		{"hello.*world!", []string{"world!"}, false},
		{"^func (get|set)Value", []string{"func getValue", "func setValue"}, false},
		{"foo|bar|x", []string{"foo", "bar", "x"}, false},
		{"a+b", []string{"a"}, false},
		{"(abc)?d", []string{"d"}, false},
		{"(abc){2,}", []string{"abc"}, false},
		{"a*", nil, false},
		{"foo|b*", nil, false},
		{`\w+_test`, []string{"_test"}, false},
		{"(?i)hello", []string{"hello"}, true},
		{"(?i)task", []string{"ta"}, false},
		{"(?i)sky", []string{"y"}, false},
		{"(?i)İx", []string{"x"}, false},
		{`\x{FFFD}ab`, []string{"ab"}, false},
		{`[\x{FFFD}a]`, nil, false},
	} {
		p := compile(t, tt.pattern, Options{})
		var got []string
		for _, n := range p.needles {
			got = append(got, n.text)
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(tt.want))) || p.plain != tt.plain {
			t.Errorf("%q: needles %q, plain %v", tt.pattern, got, p.plain)
		}
	}
	deep := strings.Repeat("(?:a|b(?:", 120) + "c" + strings.Repeat("))", 120)
	compile(t, deep, Options{})
}

// naive searches as simply as can be said.
func naive(re *regexp.Regexp, content string, before, after int) []Line {
	lines := strings.Split(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out []Line
	for i, l := range lines {
		near := false
		for j := max(i-after, 0); j <= min(i+before, len(lines)-1); j++ {
			near = near || re.MatchString(strings.TrimSuffix(lines[j], "\r"))
		}
		l = strings.TrimSuffix(l, "\r")
		if near {
			out = append(out, Line{i + 1, strings.ToValidUTF8(l, "\uFFFD"), re.MatchString(l)})
		}
	}
	return out
}

var atoms = []string{"a", "b", "ab", "[ab]", "c+", "(a|bc)", "x?", ".", "^", "$", `\b`, "(?i:k)", "(foo|Foo)", "é", `\w`, "[^a]", "s", "(?:ab){2}", "K", " "}

func TestNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 1))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	words := []string{"a", "b", "c", "ab", "foo", "Foo", "K", "\u212A", "é", " ", "\n", "\n", "\n", "\r\n", "\xff", "s", "\u017F", "abab"}
	for range 2000 {
		pattern := ""
		for range 1 + rnd.IntN(4) {
			pattern += pick(atoms)
		}
		if rnd.IntN(4) == 0 {
			pattern += "|" + pick(atoms)
		}
		o := Options{IgnoreCase: rnd.IntN(3) == 0}
		var content strings.Builder
		for range rnd.IntN(60) {
			content.WriteString(pick(words))
		}
		s := Search{Pattern: compile(t, pattern, o), Want: Lines, Before: rnd.IntN(3), After: rnd.IntN(3)}
		if o.IgnoreCase {
			pattern = "(?i)" + pattern
		}
		re := regexp.MustCompile(pattern)
		want := naive(re, content.String(), s.Before, s.After)
		if got := text(t, s, content.String()).Lines; !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in %q: got %q, want %q", pattern, content.String(), show(got), show(want))
		}
	}
}

// TestBlocks searches texts that do not fit into one block.
func TestBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 9))
	for round := range 9 {
		var b strings.Builder
		for b.Len() < 3*firstBlock {
			length := []int{0, 3, 90, 900, firstBlock / 3, firstBlock + 5}[rnd.IntN(4+round%3)]
			b.WriteString(strings.Repeat("x", length))
			if rnd.IntN(8) == 0 {
				b.WriteString("needle")
			}
			b.WriteByte('\n')
		}
		s := Search{Pattern: compile(t, "needle", Options{}), Want: Lines, Before: round % 5 * 100, After: round % 3 * 150}
		got, want := text(t, s, b.String()), naive(regexp.MustCompile("needle"), b.String(), s.Before, s.After)
		for i := range want {
			if i < len(got.Lines) && len(want[i].Text) > ClipLength {
				want[i].Text = got.Lines[i].Text // see TestClip
			}
		}
		if got.More {
			want = want[:min(len(got.Lines), len(want))]
		}
		if !reflect.DeepEqual(got.Lines, want) {
			t.Fatalf("round %d: %d lines, want %d", round, len(got.Lines), len(want))
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 500 {
		p := fmt.Sprintf("f%03d", i)
		if i > 200 {
			p = fmt.Sprintf("d%d/e/f%03d", i/7, i)
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		paths = append(paths, p)
		if err := os.WriteFile(filepath.Join(dir, p), []byte(strings.Repeat("x\n", i%7)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	s := Search{Pattern: compile(t, "x", Options{}), Want: Count}
	searches := map[string]func(context.Context, []string, func(string, Report) bool) error{
		"on disk": func(ctx context.Context, paths []string, report func(string, Report) bool) error {
			return s.Files(ctx, root, paths, report)
		},
		"tree": func(ctx context.Context, paths []string, report func(string, Report) bool) error {
			return s.Tree(ctx, root.FS(), paths, report)
		},
	}
	for name, files := range searches {
		t.Run(name, func(t *testing.T) { testFiles(t, paths, files) })
	}
}

func testFiles(t *testing.T, paths []string, files func(context.Context, []string, func(string, Report) bool) error) {
	var got []string
	err := files(t.Context(), append(paths, "gone"), func(path string, r Report) bool {
		got = append(got, path)
		if want := (Report{Count: (len(got) - 1) % 7}); path != "gone" && !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v", path, r)
		} else if path == "gone" && r.Skipped != Unreadable {
			t.Errorf("gone: %+v", r)
		}
		return true
	})
	if err != nil || !slices.Equal(got, append(paths, "gone")) {
		t.Errorf("%v: %q", err, got)
	}
	n := 0
	if err := files(t.Context(), paths, func(string, Report) bool { n++; return n < 100 }); err != nil || n != 100 {
		t.Errorf("stopped after %d: %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := files(ctx, paths, func(string, Report) bool { cancel(); return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestGitGrep compares with git on this package's own files.
func TestGitGrep(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, pattern := range []string{"func", "return nil, err", "^import", "[a-z]+Line", "s[.](data|done)", "no such text", "}$"} {
		for context := range 3 {
			cmd := exec.CommandContext(t.Context(), git, append([]string{"grep", "--no-index", "--no-color", "-n", "-E", "-I", "-C", fmt.Sprint(context), "-e", pattern, "--"}, files...)...)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
			out, err := cmd.Output()
			if e := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &e) && e.ExitCode() == 1) {
				t.Fatal(err)
			}
			var want []string
			for line := range bytes.Lines(out) {
				if string(line) != "--\n" {
					want = append(want, strings.TrimSuffix(string(line), "\n"))
				}
			}
			var got []string
			s := Search{Pattern: compile(t, pattern, Options{}), Want: Lines, Before: context, After: context}
			err = s.Files(t.Context(), root, files, func(path string, r Report) bool {
				for _, l := range r.Lines {
					sep := map[bool]string{true: ":", false: "-"}[l.Match]
					got = append(got, fmt.Sprint(path, sep, l.Number, sep, l.Text))
				}
				return true
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q with %d: %v\n%q\n%q", pattern, context, err, got, want)
			}
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("a(b|c)+", "xx\nabc\r\n", false)
	f.Add("(?i)ſk", "SK\n", true)
	f.Add("^$|x*", "\n\nx", false)
	f.Fuzz(func(t *testing.T, pattern, content string, fold bool) {
		p, err := Compile(pattern, Options{IgnoreCase: fold})
		if err != nil || len(content) > 4096 || p.program > 2000 {
			return
		}
		s := Search{Pattern: p, Want: Lines, Before: 1, After: 2}
		got := text(t, s, content)
		if got.Skipped != Nothing || strings.HasPrefix(content, "\xef\xbb\xbf") || strings.HasPrefix(content, "\xff\xfe") || strings.HasPrefix(content, "\xfe\xff") {
			return
		}
		if want := naive(p.re, content, 1, 2); !reflect.DeepEqual(got.Lines, want) && len(content) < ClipLength {
			t.Errorf("got %q, want %q", show(got.Lines), show(want))
		}
		if m, err := Compile(pattern, Options{IgnoreCase: fold, Multiline: true}); err == nil {
			s.Pattern = m
			text(t, s, content)
		}
	})
}

func benchmark(b *testing.B, pattern string, o Options) {
	line := "\tif err := s.report(ctx, state, options); err != nil { return fmt.Errorf(\"reporting: %w\", err) }\n"
	content := strings.Repeat(line, 10000)
	s := Search{Pattern: compile(b, pattern, o), Want: Count}
	one := &searcher{Search: &s, ctx: b.Context(), room: -1}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := one.file(strings.NewReader(content)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLiteral(b *testing.B)    { benchmark(b, "Needle", Options{}) }
func BenchmarkIgnoreCase(b *testing.B) { benchmark(b, "needle", Options{IgnoreCase: true}) }
func BenchmarkRegexp(b *testing.B)     { benchmark(b, `fmt\.(Print|Fatal)\w+\(`, Options{}) }
func BenchmarkNoNeedle(b *testing.B)   { benchmark(b, `\d{3,}`, Options{}) }
func BenchmarkEveryLine(b *testing.B)  { benchmark(b, `err`, Options{}) }

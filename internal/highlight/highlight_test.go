package highlight

import (
	"strings"
	"testing"
)

// marked writes spans as text, with the first letter of their kind around those that are not
// plain.
func marked(lang, src string) string {
	s := New(lang)
	var b strings.Builder
	for line := range strings.Lines(src) {
		for _, span := range s.Line(nil, line) {
			if span.Kind == Plain {
				b.WriteString(span.Text)
			} else {
				b.WriteString("<" + string(".ksncna-"[span.Kind]) + ":" + span.Text + ">")
			}
		}
	}
	return b.String()
}

func TestLanguages(t *testing.T) {
	for _, c := range []struct{ lang, in, want string }{
		{"go", "func f(r rune) { return r == '\\'' || r == 'é' } // x\n", "<k:func> f(r rune) { <k:return> r == <s:'\\''> || r == <s:'é'> } <c:// x\n>"},
		{"go", "a := `x\n\"y` + \"z\\\"\" + 0x1F + 1.5e-3 /* c\nd */ nil", "a := <s:`x\n><s:\"y`> + <s:\"z\\\"\"> + <n:0x1F> + <n:1.5e-3> <c:/* c\n><c:d */> <k:nil>"},
		{"python", "def f(x):\n  \"\"\"doc\n  'more' \"\"\"\n  return f'{x}' # c", "<k:def> f(x):\n  <s:\"\"\"doc\n><s:  'more' \"\"\">\n  <k:return> f<s:'{x}'> <c:# c>"},
		{"TS", "const a = `x${b}\ny`; let c$ = 'it\\'s'", "<k:const> a = <s:`x${b}\n><s:y`>; <k:let> c$ = <s:'it\\'s'>"},
		{"rust", "fn f<'a>(x: &'a str) -> char { 'x' } // r\nlet s = r#\"a\"b\"#; 0..10 /* a /* b */ c */", "<k:fn> f<'a>(x: &'a <k:str>) -> <k:char> { <s:'x'> } <c:// r\n><k:let> s = <s:r#\"a\"b\"#>; <n:0>..<n:10> <c:/* a /* b */ c */>"},
		{"c", "#include <x.h>\nchar c = '\\n'; // y", "<k:#include> <x.h>\n<k:char> c = <s:'\\n'>; <c:// y>"},
		{"sh", "if [ \"$a\" ]; then echo $b 'x\ny'; fi # z\necho a#b", "<k:if> [ <s:\"$a\"> ]; <k:then> <k:echo> <n:$b> <s:'x\n><s:y'>; <k:fi> <c:# z\n><k:echo> a#b"},
		{"json", "{\"a\": [1, true, \"b\"]}", "{<s:\"a\">: [<n:1>, <k:true>, <s:\"b\">]}"},
		{"yaml", "a-b: don't # c\n- d: \"e\"\n- f\nurl: http://x", "<n:a-b>: don't <c:# c\n>- <n:d>: <s:\"e\">\n- f\n<n:url>: http://x"},
		{"toml", "[x]\nkey = 'v' # c\nn = 12", "[x]\n<n:key> = <s:'v'> <c:# c\n><n:n> = <n:12>"},
		{"sql", "Select 'it''s' FROM \"t\" -- c", "<k:Select> <s:'it''s'> <k:FROM> <s:\"t\"> <c:-- c>"},
		{"html", "<a href=\"x>y\" b>t &amp; u</a><!-- c\nd -->", "<<k:a> <n:href>=<s:\"x>y\"> <n:b>>t <n:&amp;> u<<k:/a>><c:<!-- c\n><c:d -->>"},
		{"css", ".a { color: #fff; /* x */ width: 10px }\n@media x {}", ".a { color: #fff; <c:/* x */> width: <n:10px> }\n<k:@media> x {}"},
		{"ruby", "def a? = @b # c", "<k:def> a? = <n:@b> <c:# c>"},
		{"php", "$a = \"b\"; # c\nfunction f() {}", "<n:$a> = <s:\"b\">; <c:# c\n><k:function> f() {}"},
		{"kotlin", "val a = \"\"\"x\ny\"\"\"", "<k:val> a = <s:\"\"\"x\n><s:y\"\"\">"},
		{"swift", "let a = \"b\" // c", "<k:let> a = <s:\"b\"> <c:// c>"},
		{"java", "public int a = 'b';", "<k:public> <k:int> a = <s:'b'>;"},
		{"diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z", "<n:--- a\n><n:+++ b\n><n:@@ -1 +1 @@\n><-:-x\n><a:+y\n> z"},
		{"markdown", "# a\nb `c` d\n```\nx\n```", "<n:# a\n>b <s:`c`> d\n<s:```\n><s:x\n><s:```>"},
		{"dockerfile", "FROM a AS b # c\nRUN x \"$Y\"", "<k:FROM> a <k:AS> b <c:# c\n><k:RUN> x <s:\"$Y\">"},
		{"make", ".PHONY: all\nall: x # c\n\tit's $(Y)", "<n:.PHONY>: all\n<n:all>: x <c:# c\n>\tit's $(Y)"},
		{"nosuch", "func \"x\" // y", "func \"x\" // y"},
	} {
		if got := marked(c.lang, c.in); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.lang, got, c.want)
		}
	}
}

func TestByFile(t *testing.T) {
	for file, want := range map[string]string{
		"a/b.go": "go", "C:\\x\\Y.PY": "py", "Dockerfile": "dockerfile", "Dockerfile.dev": "dockerfile", "src/Makefile": "makefile", "go": "", "json": "", "a": "", "": "",
		"x.test.tsx": "tsx", ".bashrc": "", "lib.rs": "rs", "Gemfile": "gemfile",
	} {
		if got := ByFile(file); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
	if !Known("Go") || Known("nosuch") || Known("") {
		t.Error("Known")
	}
}

// The spans of a text are the text, and none is empty or like the one before it.
func FuzzLine(f *testing.F) {
	for name := range languages() {
		f.Add(name, "a 'b' \"c\" `d` /* e */ // f # g -- h <i j=\"k\"> <!-- l\n1.5e+3 $m @n r#\"o\"# \"\"\"p\n'''q\\")
	}
	f.Fuzz(func(t *testing.T, lang, src string) {
		s := New(lang)
		for line := range strings.Lines(src) {
			var b strings.Builder
			last := Kind(255)
			for _, span := range s.Line(nil, line) {
				if span.Text == "" || span.Kind == last {
					t.Fatalf("%q in %s: %v", line, lang, span)
				}
				b.WriteString(span.Text)
				last = span.Kind
			}
			if b.String() != line {
				t.Fatalf("%q in %s: %q", line, lang, b.String())
			}
		}
	})
}

// One line of any text takes time in proportion to its length: compare the sizes.
func BenchmarkLine(b *testing.B) {
	for _, unit := range []string{"x := f(\"a\", 1) // b ", "'\\", "/*", "\"\"\"", "<a b=\"", "&a", "#", "`", "1e+", "r##\"", "\u00e9"} {
		for _, size := range []int{1 << 12, 1 << 16, 1 << 20} {
			line := strings.Repeat(unit, size/len(unit))
			for _, lang := range []string{"go", "rust", "html", "markdown", "yaml"} {
				b.Run(lang+"/"+unit[:min(len(unit), 5)]+"/"+sizeName(size), func(b *testing.B) {
					b.SetBytes(int64(len(line)))
					var spans []Span
					for b.Loop() {
						spans = New(lang).Line(spans[:0], line)
					}
				})
			}
		}
	}
}

func sizeName(n int) string {
	return map[int]string{1 << 12: "4K", 1 << 16: "64K", 1 << 20: "1M"}[n]
}

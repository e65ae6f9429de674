package markdown

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestHTML(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a & <b>*c*</b>", "<p>a &amp; &lt;b&gt;<em>c</em>&lt;/b&gt;</p>\n"},
		{"<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>\n"},
		{"[a](javascript:x)", "<p>a (javascript:x)</p>\n"},
		{"[a](JAVASCRIPT:x) [b](data:text/html,x) [c](//h/p) [d](docs/x.md)", "<p>a (JAVASCRIPT:x) b (data:text/html,x) c (//h/p) d (docs/x.md)</p>\n"},
		{"[a](https://h/?b=c&d \"title\")", "<p><a href=\"https://h/?b=c&amp;d\" rel=\"noreferrer\">a</a></p>\n"},
		{"[a](https://h/%22onclick=%22x)", "<p><a href=\"https://h/%22onclick=%22x\" rel=\"noreferrer\">a</a></p>\n"},
		{"[![a](http://h/i.png)](http://h)", "<p><a href=\"http://h\" rel=\"noreferrer\">a</a></p>\n"},
		{"![a](http://h/i.png) ![](http://h/j.png)", "<p><a href=\"http://h/i.png\" rel=\"noreferrer\">a</a> <a href=\"http://h/j.png\" rel=\"noreferrer\">image</a></p>\n"},
		{"See http://a.b/c_d_e(f), (https://g.h/i) and xhttp://j. 见https://k.l/m。", "<p>See <a href=\"http://a.b/c_d_e(f)\" rel=\"noreferrer\">http://a.b/c_d_e(f)</a>, (<a href=\"https://g.h/i\" rel=\"noreferrer\">https://g.h/i</a>) and xhttp://j. 见<a href=\"https://k.l/m\" rel=\"noreferrer\">https://k.l/m</a>。</p>\n"},
		{"<a@b.c>", "<p><a href=\"mailto:a@b.c\" rel=\"noreferrer\">a@b.c</a></p>\n"},
		{"5~10 and 20~30, ~~not~~", "<p>5~10 and 20~30, <del>not</del></p>\n"},
		{"a ~~~b~~~ ~~c~~", "<p>a ~~~b~~~ <del>c</del></p>\n"},
		{"```\"><script>\n<\n```", "<pre><code class=\"language-&#34;&gt;&lt;script&gt;\">&lt;\n</code></pre>\n"},
		{"```go\nx := \"<\" // y\n```", "<pre><code class=\"language-go\">x := <span class=\"str\">&#34;&lt;&#34;</span> <span class=\"com\">// y\n</span></code></pre>\n"},
		{"3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		{"- a\n\n- b\n- [x] c\n  - d", "<ul>\n<li>a</li>\n<li><p>b</p>\n</li>\n<li><input type=\"checkbox\" disabled checked> c\n<ul>\n<li>d</li>\n</ul>\n</li>\n</ul>\n"},
		{"|a|b|\n|-|-:|\n|1<br>2|", "<table>\n<thead>\n<tr><th>a</th><th align=\"right\">b</th></tr>\n</thead>\n<tbody>\n<tr><td>1<br>\n2</td><td align=\"right\"></td></tr>\n</tbody>\n</table>\n"},
		{"&lt;b&gt; \\&amp; &nosuch; \\* `a\\*&lt;`", "<p>&lt;b&gt; &amp;amp; &amp;nosuch; * <code>a\\*&amp;lt;</code></p>\n"},
		{"a\nb  \nc", "<p>a\nb<br>\nc</p>\n"},
		{"> a\n\n***", "<blockquote>\n<p>a</p>\n</blockquote>\n<hr>\n"},
	} {
		if got := string(AppendHTML(nil, Parse(c.in))); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.in, got, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	p := Parse("a **b `c`** [d](http://e)\n~~f~~")[0].(Paragraph)
	if got := Plain(p.Text); got != "a b c d f" {
		t.Errorf("%q", got)
	}
}

// Of any text, a page has only the elements and attributes that the writer knows.
func FuzzHTML(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Add("[a](javascript:b) <img src=x onerror=y> ![c](\"d) `<script>` http://e\"f")
	elements := strings.Fields("html head body p h1 h2 h3 h4 h5 h6 pre code blockquote ul ol li input table thead tbody tr th td hr em strong del a br span")
	f.Fuzz(func(t *testing.T, src string) {
		page := string(AppendHTML(nil, Parse(src)))
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type == html.TextNode {
				continue
			}
			if n.Type != html.ElementNode || !slices.Contains(elements, n.Data) {
				t.Fatalf("%q: %v %q in %s", src, n.Type, n.Data, page)
			}
			for _, a := range n.Attr {
				ok := false
				switch a.Key {
				case "href":
					ok = n.Data == "a" && SafeURL(a.Val)
				case "rel":
					ok = a.Val == "noreferrer"
				case "class":
					ok = n.Data == "code" && strings.HasPrefix(a.Val, "language-") || n.Data == "span" && slices.Contains(classes[:], a.Val)
				case "start":
					ok = n.Data == "ol"
				case "align":
					ok = n.Data == "th" || n.Data == "td"
				case "type", "disabled", "checked":
					ok = n.Data == "input"
				}
				if !ok {
					t.Fatalf("%q: %s=%q in %s", src, a.Key, a.Val, page)
				}
			}
		}
	})
}

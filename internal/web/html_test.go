package web

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	"golang.org/x/net/html"
)

func TestMain(m *testing.M) {
	if os.Getenv(proxyChild) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

func convert(t testing.TB, doc string) Page {
	t.Helper()
	base, _ := url.Parse("https://a.org/docs/page.html?x=1")
	p, err := Convert(t.Context(), []byte(doc), base)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConvert(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"blocks", "<h1>One</h1><p>a <b>bold</b> and <em>soft</em> word</p><hr><blockquote>said</blockquote>", "# One\n\na **bold** and *soft* word\n\n* * *\n\n> said"},
		{"lists", "<ol start=3><li>a<li>b<ul><li>c</ul></ol>", "3. a\n4. b\n   \n   - c"},
		{"code", `<pre><code class="language-go">a := "&lt;x&gt;"` + "\n</code></pre><p>run <code>go vet</code>", "```go\na := \"<x>\"\n```\n\nrun `go vet`"},
		{"table", "<table><tr><th>a<th>b<tr><td>1<td>2|3</table>", "| a | b |\n|---|---|\n| 1 | 2\\|3 |"},
		{"links", `<a href="../x?q=a&amp;b=c">up</a> <a href="//b.org/">other</a> <a href="#part">part</a> <img src="i.png" alt="pic">`,
			"[up](https://a.org/x?q=a&b=c) [other](https://b.org/) [part](https://a.org/docs/page.html?x=1#part) ![pic](https://a.org/docs/i.png)"},
		{"base", `<head><base href="/other/"></head><a href=y>y</a>`, "[y](https://a.org/other/y)"},
		{"dangerous links", `<a href="javascript:alert(1)">x</a> <img src="data:image/png;base64,AAAA" alt="dot">`, "[x]() dot"},
		{"unread", `<head><title>T</title><style>p{}</style></head><script>alert(1)</script><noscript>no</noscript><template>t</template><svg><text>s</text></svg>` +
			`<button>Press</button><iframe>f</iframe><p hidden>h1</p><p style="Display : none">h2</p><p style="visibility:hidden">h3</p><!-- c --><p>seen`, "seen"},
		{"nested tables", "<table><tr><td><table><tr><th>a<tr><td>1</table><td>beside</table>", "| a |\n|---|\n| 1 |\n\nbeside"},
		{"no HTML", "just text", "just text"},
		{"empty", "", ""},
	} {
		if got := convert(t, c.doc).Text; got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
	if p := convert(t, "<title> A \n <b>title\x01\u202e </title>x"); p.Title != "A <b>title" {
		t.Errorf("title %q", p.Title)
	}
}

// Documents that make the converter burn time or memory: at their full size they
// take minutes, or more memory than there is, unless they are trimmed.
func TestConvertHostile(t *testing.T) {
	for name, c := range map[string]struct{ once, again string }{
		"quotations in each other":     {strings.Repeat("<blockquote>", 500), "<p>x"},
		"lists in each other":          {strings.Repeat("<ul><li>", 240), "<p>x"},
		"spans":                        {"<table>", "<tr><td colspan=1000000000 rowspan=1000000000>x"},
		"rows shorter than the first":  {"<table><tr>" + strings.Repeat("<td>x", 4000), "<tr><td>y"},
		"tables in each other":         {strings.Repeat("<table><tr><td>", 160), "x<br>"},
		"elements":                     {"", "<b>x</b>"},
		"elements that are not closed": {"", "<b>"},
		"one text":                     {"<p>", "\\`*_"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		doc := c.once + strings.Repeat(c.again, 32<<10/len(c.again))
		p, err := Convert(ctx, []byte(doc), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(p.Text) > 60*len(doc) {
			t.Errorf("%s: %d bytes became %d", name, len(doc), len(p.Text))
		}
		cancel()
	}
}

// What is beyond the bounds of a document is left out, and that is told.
func TestTrimBounds(t *testing.T) {
	for name, from := range map[string]trimmer{"nodes": {nodes: maxNodes - 20}, "text": {bytes: maxText - 20}} {
		root, err := html.Parse(strings.NewReader(strings.Repeat("<p>é word", 50)))
		if err != nil {
			t.Fatal(err)
		}
		from.ctx = t.Context()
		from.trim(root)
		page, err := markdown(t.Context(), root)
		if err != nil || !from.cut() || len(page) > 100 || !strings.HasPrefix(page, "é word") || !utf8.ValidString(page) {
			t.Errorf("%s: %q, cut %v, %v", name, page, from.cut(), err)
		}
	}
	if convert(t, "<p>short").Truncated {
		t.Error("a short document is called truncated")
	}
}

// A document nested too deeply for the parser becomes plain text.
func TestPlain(t *testing.T) {
	p := convert(t, "<title>T</title><script>no()</script>"+strings.Repeat("<div>", 600)+"<p>one <b>two</b>\n  three<p>four")
	if p.Title != "T" || p.Text != "one two\nthree\nfour\n" {
		t.Errorf("%+v", p)
	}
	long, err := Plain(t.Context(), []byte(strings.Repeat(" ", maxText-1)+"é<p>more"))
	if err != nil || !long.Truncated || long.Text != "" {
		t.Errorf("%d bytes, %v, %v", len(long.Text), long.Truncated, err)
	}
}

func TestConvertCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Convert(ctx, []byte("<p>x"), nil); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if _, err := Plain(ctx, []byte("<p>x")); err != context.Canceled {
		t.Errorf("plain: got %v", err)
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{" a \n\t b ", 9, "a b"}, {"a\x00\x1b[31mb\u200b\u202e\u0085c", 20, "a[31mb c"}, {"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc…"},
		{"éééé", 6, "é…"}, {"", 5, ""}, {"x\xffy", 5, "xy"},
	} {
		if got := Line(c.in, c.limit); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for _, doc := range []string{
		"<p>x</p>", "<table><tr><td colspan=99999999>x<tr><td rowspan=0>y", "<ul><li><blockquote><pre>\n<code>x", "<a href='http://[::1'>x</a>",
		"<svg><p><table><caption><b>x", "<title><script></title>x", "<base href=javascript:x><a href=x>y", "\xff\xfe<p>\x00", "<select><table><td>", "<frameset><frame>",
		"<img src=x alt='](y)'>", "<h1><table><tr><td>x</table></h1>", "<template><li>x</template><dl><dt><hr>", "<math><mi><table><tr><annotation-xml>",
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if len(doc) > 64<<10 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		base, _ := url.Parse("https://a.org/")
		p, err := Convert(ctx, []byte(strings.ToValidUTF8(doc, "\uFFFD")), base)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Title) {
			t.Errorf("not UTF-8: %q %q", p.Title, p.Text)
		}
		if len(p.Text) > 1<<20+100*len(doc) {
			t.Errorf("%d bytes became %d", len(doc), len(p.Text))
		}
	})
}

func BenchmarkConvert(b *testing.B) {
	doc := []byte("<html><title>x</title>" + strings.Repeat("<h2>Head</h2><p>A <a href=/y>link</a> in some <b>words</b> of a page.</p><ul><li>a<li>b</ul>", 1000))
	base, _ := url.Parse("https://a.org/")
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Convert(b.Context(), doc, base); err != nil {
			b.Fatal(err)
		}
	}
}

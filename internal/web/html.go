package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/openagent-go/agent/internal/text"
)

// A Page is an HTML document as text.
type Page struct {
	Title     string
	Text      string // Markdown
	Truncated bool   // the document was too large to be converted as a whole
}

// Convert turns an HTML document in UTF-8 into Markdown. Links become absolute by base,
// which may be nil. Invisible parts (scripts, styles, forms, hidden elements) are left out.
// A document that cannot be converted becomes plain text; the only error is that of ctx.
func Convert(ctx context.Context, doc []byte, base *url.URL) (Page, error) {
	root, err := html.Parse(untilDone{ctx, bytes.NewReader(doc)})
	if ctx.Err() != nil {
		return Page{}, ctx.Err()
	}
	if err != nil { // nested too deeply
		return Plain(ctx, doc)
	}
	t := trimmer{ctx: ctx, base: base}
	t.trim(root)
	page := Page{Title: t.title, Truncated: t.cut()}
	page.Text, err = markdown(ctx, root)
	if ctx.Err() != nil {
		return Page{}, ctx.Err()
	}
	if err != nil {
		return Plain(ctx, doc)
	}
	return page, nil
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p[:min(len(p), 64<<10)])
}

// markdown converts a trimmed document. The converter knows no end of time: a
// renderer that answers for every node stops it when ctx ends.
func markdown(ctx context.Context, root *html.Node) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("converting HTML: %v", v)
		}
	}()
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithHeaderPromotion(true),
			table.WithSkipEmptyRows(true),
		),
	))
	c.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			return converter.RenderSuccess
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly-1)
	out, err := c.ConvertNode(root)
	if err != nil {
		return "", fmt.Errorf("converting HTML: %w", err)
	}
	return string(out), nil
}

// The input of the converter is bounded, because its time and memory grow faster than the
// document: with the depth of quotations and lists, with the spans and the columns of
// tables.
const (
	maxNodes   = 200_000
	maxText    = 4 << 20 // bytes of text
	maxNesting = 10      // quotations and lists within each other
	maxCells   = 20_000  // of a table when each row is as long as the longest
	maxLink    = 4 << 10 // bytes
	maxTitle   = 300     // bytes
)

// A trimmer removes from a document the invisible parts, and the parts that would make the
// conversion expensive.
type trimmer struct {
	ctx   context.Context
	base  *url.URL
	title string
	nodes int
	bytes int
}

// unread are the elements that are left out.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Link: true, atom.Meta: true,
	atom.Iframe: true, atom.Frameset: true, atom.Object: true, atom.Embed: true, atom.Applet: true, atom.Canvas: true,
	atom.Svg: true, atom.Math: true, atom.Audio: true, atom.Video: true, atom.Map: true,
	atom.Button: true, atom.Input: true, atom.Select: true, atom.Textarea: true, atom.Datalist: true, atom.Dialog: true,
}

// trim works on the document below root, which is at most 512 elements deep.
func (t *trimmer) trim(root *html.Node) { t.children(root, 0) }

// cut reports whether there was more than may be kept.
func (t *trimmer) cut() bool { return t.nodes > maxNodes || t.bytes > maxText }

func (t *trimmer) children(parent *html.Node, nesting int) (tables bool) {
	for n := parent.FirstChild; n != nil; {
		next := n.NextSibling
		if !t.keeps(n) {
			parent.RemoveChild(n)
		} else if n.Type == html.ElementNode {
			tables = t.element(n, nesting) || tables
		}
		n = next
	}
	return tables
}

// keeps reports whether a node is to be read, and counts it.
func (t *trimmer) keeps(n *html.Node) bool {
	t.nodes++
	if t.cut() || t.ctx.Err() != nil {
		return false
	}
	switch n.Type {
	case html.TextNode:
		if rest := maxText - t.bytes; len(n.Data) > rest {
			t.bytes += len(n.Data)
			n.Data = strings.ToValidUTF8(n.Data[:rest], "")
			return true
		}
		t.bytes += len(n.Data)
		return true
	case html.ElementNode:
	default:
		return n.Type == html.DoctypeNode
	}
	if n.DataAtom == atom.Title && t.title == "" {
		t.title = Line(content(n), maxTitle)
	}
	if n.DataAtom == atom.Base {
		t.rebase(attribute(n, "href"))
	}
	return !unread[n.DataAtom] && !hidden(n)
}

// element trims an element and reports whether there is a table in it.
func (t *trimmer) element(n *html.Node, nesting int) (tables bool) {
	switch n.DataAtom {
	case atom.Blockquote, atom.Ul, atom.Ol, atom.Dl, atom.Menu:
		if nesting++; nesting > maxNesting {
			rename(n, atom.Div)
		}
	case atom.Li:
		if nesting > maxNesting {
			rename(n, atom.Div)
		}
	case atom.A:
		t.link(n, "href")
	case atom.Img:
		t.link(n, "src")
	}
	n.Attr = kept(n)
	tables = t.children(n, nesting)
	if n.DataAtom == atom.Table {
		if tables || sparse(n) {
			unfold(n)
		}
		tables = true
	}
	return tables
}

// kept returns the attributes that matter for Markdown. Spans do not: a cell
// with a huge one costs as much as a table of that size.
func kept(n *html.Node) []html.Attribute {
	out := n.Attr[:0]
	for _, a := range n.Attr {
		switch a.Key {
		case "href", "src", "alt", "title", "start", "align":
			out = append(out, a)
		case "class": // the language of code
			if n.DataAtom == atom.Code || n.DataAtom == atom.Pre {
				out = append(out, a)
			}
		}
	}
	return out
}

// hidden reports whether browsers do not show an element.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			style := strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return unicode.ToLower(r)
			}, a.Val)
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func (t *trimmer) rebase(href string) {
	if u, err := url.Parse(strings.TrimSpace(href)); err == nil && href != "" {
		if t.base != nil {
			u = t.base.ResolveReference(u)
		}
		if u.Scheme == "http" || u.Scheme == "https" {
			t.base = u
		}
	}
}

// link makes an address absolute, and drops it where it leads nowhere that can
// be fetched or written to.
func (t *trimmer) link(n *html.Node, key string) {
	for i := range n.Attr {
		a := &n.Attr[i]
		if a.Key != key {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(a.Val))
		if err != nil || len(a.Val) > maxLink {
			a.Val = ""
			continue
		}
		if t.base != nil {
			u = t.base.ResolveReference(u)
		}
		switch u.Scheme {
		case "http", "https", "mailto", "tel", "ftp", "":
			a.Val = u.String()
		default: // javascript, data, blob …
			a.Val = ""
		}
	}
	if key == "src" && attribute(n, key) == "" { // an image without an address is its description
		text := &html.Node{Type: html.TextNode, Data: attribute(n, "alt")}
		rename(n, atom.Span)
		n.AppendChild(text)
	}
}

// sparse reports whether a table has rows of very different lengths: the short
// ones would be filled up.
func sparse(table *html.Node) bool {
	rows, longest, row := 0, 0, 0
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Tr:
			rows, row = rows+1, 0
		case atom.Td, atom.Th:
			row++
			longest = max(longest, row)
		}
	}
	return rows*longest > maxCells && rows > 1 && longest > 64
}

// unfold makes a table that cannot be shown as one a row of paragraphs. Tables
// in its cells stay.
func unfold(table *html.Node) {
	rename(table, atom.Div)
	var cells func(n *html.Node)
	cells = func(n *html.Node) {
		for c := range n.ChildNodes() {
			switch c.DataAtom {
			case atom.Table:
				continue
			case atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
				rename(c, atom.Div)
			}
			cells(c)
		}
	}
	cells(table)
}

func rename(n *html.Node, to atom.Atom) {
	n.DataAtom, n.Data = to, to.String()
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// content returns the text below a node.
func content(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode && b.Len() < maxText {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// Plain returns the text of an HTML document, its blocks as paragraphs.
func Plain(ctx context.Context, doc []byte) (Page, error) {
	var page Page
	var b strings.Builder
	z := html.NewTokenizer(untilDone{ctx, bytes.NewReader(doc)})
	skip := 0
	title := false
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			if ctx.Err() != nil {
				return Page{}, ctx.Err()
			}
			page.Text = paragraphs(b.String())
			return page, nil
		case html.TextToken:
			switch text := string(z.Text()); {
			case title && page.Title == "":
				page.Title = Line(text, maxTitle)
			case skip > 0 || title:
			case b.Len()+len(text) > maxText:
				page.Truncated = true
				text = strings.ToValidUTF8(text[:max(maxText-b.Len(), 0)], "")
				fallthrough
			default:
				b.WriteString(text)
			}
			continue
		case html.CommentToken, html.DoctypeToken:
			continue
		}
		name, _ := z.TagName()
		switch a := atom.Lookup(name); {
		case a == atom.Title:
			title = kind == html.StartTagToken
		case a == atom.Script || a == atom.Style || a == atom.Template || a == atom.Noscript:
			if kind == html.StartTagToken {
				skip++
			} else if kind == html.EndTagToken && skip > 0 {
				skip--
			}
		case !inline[a] && skip == 0:
			b.WriteByte('\n')
		}
	}
}

// inline are the elements that do not break a line.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.B: true, atom.I: true, atom.U: true, atom.S: true, atom.Em: true, atom.Strong: true, atom.Span: true,
	atom.Code: true, atom.Font: true, atom.Small: true, atom.Sub: true, atom.Sup: true, atom.Img: true, atom.Label: true,
	atom.Mark: true, atom.Abbr: true, atom.Cite: true, atom.Kbd: true, atom.Q: true, atom.Time: true, atom.Tt: true, atom.Var: true,
	atom.Wbr: true, atom.Samp: true, atom.Del: true, atom.Ins: true, atom.Big: true, atom.Bdi: true, atom.Bdo: true, atom.Dfn: true,
}

// paragraphs takes the indentation and the empty lines out of a text.
func paragraphs(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = oneLine(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Line returns text of a document as one line of at most limit bytes: white
// space is single blanks, control characters and invisible formatting are gone.
func Line(document string, limit int) string {
	return text.Bytes(oneLine(document), limit)
}

func oneLine(text string) string {
	var b strings.Builder
	blank := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			blank = b.Len() > 0
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
		default:
			if blank {
				b.WriteByte(' ')
				blank = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

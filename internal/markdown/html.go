package markdown

import (
	"html"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/highlight"
)

// AppendHTML appends blocks as HTML. Text is escaped, only addresses that [SafeURL] allows are
// links, and an image is a link to it: a page of it loads nothing. Pieces of code have one of
// the classes kw, str, num, com, name, add and del.
func AppendHTML(b []byte, blocks []Block) []byte {
	for _, block := range blocks {
		b = appendBlock(b, block)
	}
	return b
}

func appendBlock(b []byte, block Block) []byte {
	switch block := block.(type) {
	case Paragraph:
		b = append(b, "<p>"...)
		b = appendInlines(b, block.Text)
		b = append(b, "</p>\n"...)
	case Heading:
		tag := "h" + strconv.Itoa(min(max(block.Level, 1), 6)) + ">"
		b = append(append(b, '<'), tag...)
		b = appendInlines(b, block.Text)
		b = append(append(append(b, "</"...), tag...), '\n')
	case Code:
		b = append(b, "<pre><code"...)
		if block.Lang != "" {
			b = append(append(append(b, ` class="language-`...), html.EscapeString(block.Lang)...), '"')
		}
		b = appendCode(append(b, '>'), block)
		b = append(b, "</code></pre>\n"...)
	case Quote:
		b = append(b, "<blockquote>\n"...)
		b = AppendHTML(b, block.Blocks)
		b = append(b, "</blockquote>\n"...)
	case List:
		tag := "ul"
		if block.Ordered {
			tag = "ol"
		}
		b = append(append(b, '<'), tag...)
		if block.Ordered && block.Start != 1 {
			b = append(append(append(b, ` start="`...), strconv.Itoa(block.Start)...), '"')
		}
		b = append(b, ">\n"...)
		for _, item := range block.Items {
			b = appendItem(b, item)
		}
		b = append(append(append(b, "</"...), tag...), ">\n"...)
	case Table:
		b = appendTable(b, block)
	case Rule:
		b = append(b, "<hr>\n"...)
	}
	return b
}

var classes = [...]string{highlight.Keyword: "kw", highlight.String: "str", highlight.Number: "num", highlight.Comment: "com",
	highlight.Name: "name", highlight.Added: "add", highlight.Removed: "del"}

func appendCode(b []byte, code Code) []byte {
	if !highlight.Known(code.Lang) {
		return append(b, html.EscapeString(code.Text)...)
	}
	s := highlight.New(code.Lang)
	var spans []highlight.Span
	for line := range strings.Lines(code.Text) {
		spans = s.Line(spans[:0], line)
		for _, span := range spans {
			if span.Kind == highlight.Plain {
				b = append(b, html.EscapeString(span.Text)...)
				continue
			}
			b = append(append(append(b, `<span class="`...), classes[span.Kind]...), `">`...)
			b = append(append(b, html.EscapeString(span.Text)...), "</span>"...)
		}
	}
	return b
}

// appendItem appends an item. Its text is a paragraph only if there is another one, or a
// blank line before the item.
func appendItem(b []byte, item Item) []byte {
	b = append(b, "<li>"...)
	switch item.Task {
	case OpenTask:
		b = append(b, `<input type="checkbox" disabled> `...)
	case DoneTask:
		b = append(b, `<input type="checkbox" disabled checked> `...)
	}
	paragraphs := 0
	for _, block := range item.Blocks {
		if _, ok := block.(Paragraph); ok {
			paragraphs++
		}
	}
	for i, block := range item.Blocks {
		p, ok := block.(Paragraph)
		if !ok || i > 0 || paragraphs > 1 || item.Gap {
			b = appendBlock(b, block)
			continue
		}
		if b = appendInlines(b, p.Text); len(item.Blocks) > 1 {
			b = append(b, '\n')
		}
	}
	return append(b, "</li>\n"...)
}

func appendTable(b []byte, t Table) []byte {
	row := func(cells [][]Inline, tag string) {
		b = append(b, "<tr>"...)
		for i, c := range cells {
			b = append(append(b, '<'), tag...)
			if i < len(t.Align) && t.Align[i] != AlignNone {
				b = append(append(append(b, ` align="`...), [...]string{AlignLeft: "left", AlignCenter: "center", AlignRight: "right"}[t.Align[i]]...), '"')
			}
			b = append(b, '>')
			b = appendInlines(b, c)
			b = append(append(append(b, "</"...), tag...), '>')
		}
		b = append(b, "</tr>\n"...)
	}
	b = append(b, "<table>\n<thead>\n"...)
	row(t.Head, "th")
	b = append(b, "</thead>\n<tbody>\n"...)
	for _, r := range t.Rows {
		row(r, "td")
	}
	return append(b, "</tbody>\n</table>\n"...)
}

func appendInlines(b []byte, text []Inline) []byte {
	wrap := func(tag string, text []Inline) {
		b = append(append(append(b, '<'), tag...), '>')
		b = appendInlines(b, text)
		b = append(append(append(b, "</"...), tag...), '>')
	}
	for _, i := range text {
		switch i := i.(type) {
		case Text:
			b = append(b, html.EscapeString(string(i))...)
		case Emphasis:
			wrap("em", i.Text)
		case Strong:
			wrap("strong", i.Text)
		case Strike:
			wrap("del", i.Text)
		case CodeSpan:
			b = append(append(append(b, "<code>"...), html.EscapeString(string(i))...), "</code>"...)
		case Link:
			b = appendLink(b, i.URL, i.Text)
		case Image:
			if len(i.Text) == 0 {
				i.Text = []Inline{Text("image")}
			}
			b = appendLink(b, i.URL, i.Text)
		case Break:
			if !i.Soft {
				b = append(b, "<br>"...)
			}
			b = append(b, '\n')
		}
	}
	return b
}

// appendLink appends a link, or a text and its address if no page may link to that.
func appendLink(b []byte, url string, text []Inline) []byte {
	if !SafeURL(url) {
		b = appendInlines(b, text)
		if url != "" && url != Plain(text) {
			b = append(append(append(b, " ("...), html.EscapeString(strings.ToValidUTF8(url, "\uFFFD"))...), ')')
		}
		return b
	}
	b = append(append(append(b, `<a href="`...), html.EscapeString(url)...), `" rel="noreferrer">`...)
	b = appendInlines(b, text)
	return append(b, "</a>"...)
}

// Package mdview draws blocks of Markdown as rows of a terminal.
//
//	v := mdview.New(80)
//	for _, part := range stream.Feed(delta) {
//		history = append(history, v.Part(part)...)
//	}
//	live := v.Open(stream.Open())
//
// The rows of a part never change. Prose is wrapped at words, and at most 100 cells wide, for
// that is how far one reads. Code is never wrapped: the terminal does that, so that a copy of
// a line is one line.
package mdview

import (
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/internal/highlight"
	"github.com/openagent-go/agent/internal/markdown"
)

const (
	maxProse = 100 // cells
	minProse = 16  // also within deep lists
)

// A View draws the parts of one text.
type View struct {
	width int
	plain bool // letters say what styles say elsewhere
	any   bool // something was drawn
	code  highlight.Scanner
}

// New returns a view of so many cells.
func New(width int) *View { return &View{width: max(width, minProse)} }

// Continue makes a view of NewPlain continue a text of which another one has drawn the beginning.
func (v *View) Continue() { v.any = true }

// NewPlain returns a view for places without styles, and for people who listen: headings have
// their signs, code is indented or in backticks, and lines are drawn with - and |. Rows of text
// are as long as the texts if width is 0.
func NewPlain(width int) *View {
	v := &View{width: max(width, minProse), plain: true}
	if width <= 0 {
		v.width = 1 << 30
	}
	return v
}

// Rows draws a whole text.
func Rows(blocks []markdown.Block, width int) []styled.Row {
	v := New(width)
	var out []styled.Row
	for _, b := range blocks {
		out = append(out, v.Part(markdown.Part{Block: b})...)
	}
	return out
}

// Part draws the next part of the text. A blank row separates it from the block before it.
func (v *View) Part(p markdown.Part) []styled.Row {
	var out []styled.Row
	if v.any && !p.Continues {
		out = append(out, nil)
	}
	v.any = true
	switch b := p.Block.(type) {
	case markdown.Code:
		if !p.Continues {
			v.code = *highlight.New(b.Lang)
		}
		return append(out, v.lines(&v.code, b.Text)...)
	case markdown.List:
		return append(out, v.list(b, p.Continues)...)
	}
	return append(out, v.block(p.Block)...)
}

// Open draws the parts that may still change.
func (v *View) Open(parts []markdown.Part) []styled.Row {
	c := *v
	var out []styled.Row
	for _, p := range parts {
		out = append(out, c.Part(p)...)
	}
	return out
}

// blocks draws the blocks of an item or a quote.
func (v *View) blocks(blocks []markdown.Block) []styled.Row {
	var out []styled.Row
	for i, b := range blocks {
		if _, list := b.(markdown.List); i > 0 && !list {
			out = append(out, nil)
		}
		out = append(out, v.block(b)...)
	}
	return out
}

func (v *View) block(b markdown.Block) []styled.Row {
	switch b := b.(type) {
	case markdown.Paragraph:
		return v.prose(b.Text, styled.Plain, 0)
	case markdown.Heading:
		if v.plain {
			sign := markdown.Text(strings.Repeat("#", b.Level) + " ")
			return v.prose(append([]markdown.Inline{sign}, b.Text...), styled.Heading, styled.Strong)
		}
		return v.prose(b.Text, styled.Heading, styled.Strong)
	case markdown.Code:
		return v.lines(highlight.New(b.Lang), b.Text)
	case markdown.Quote:
		mark := styled.Row{{Kind: styled.Dim, Text: v.sign("│ ", "> ")}}
		return v.within(mark, mark, b.Blocks)
	case markdown.List:
		return v.list(b, false)
	case markdown.Table:
		return v.table(b)
	case markdown.Rule:
		if v.plain {
			return []styled.Row{{{Kind: styled.Dim, Text: "---"}}}
		}
		return []styled.Row{{{Kind: styled.Dim, Text: strings.Repeat("─", min(v.width, maxProse))}}}
	}
	return nil
}

// within draws blocks behind a mark. It stands before the first row, and rest before the
// others.
func (v *View) within(first, rest styled.Row, blocks []markdown.Block) []styled.Row {
	in := View{width: v.width - rest.Width(), plain: v.plain}
	if in.width < minProse { // too deep: no further indentation
		in.width, rest = minProse, nil
	}
	var out []styled.Row
	for i, r := range in.blocks(blocks) {
		mark := rest
		if i == 0 {
			mark = first
		}
		out = append(out, styled.Join(mark, r))
	}
	if out == nil {
		out = append(out, styled.Join(first))
	}
	for i, r := range out { // no blanks at ends of rows
		if n := len(r) - 1; n >= 0 {
			if r[n].Text = strings.TrimRight(r[n].Text, " "); r[n].Text == "" {
				out[i] = r[:n]
			}
		}
	}
	return out
}

func (v *View) list(l markdown.List, continues bool) []styled.Row {
	var out []styled.Row
	for i, item := range l.Items {
		if item.Gap && (continues || i > 0) {
			out = append(out, nil)
		}
		mark := "- "
		if l.Ordered {
			mark = strconv.Itoa(l.Start+i) + ". "
		}
		indent := styled.Row{{Text: strings.Repeat(" ", len(mark))}}
		first := styled.Row{{Kind: styled.Dim, Text: mark}}
		switch item.Task {
		case markdown.OpenTask:
			first = append(first, styled.Span{Kind: styled.Dim, Text: "[ ] "})
		case markdown.DoneTask:
			first = append(first, styled.Span{Kind: styled.Good, Text: "[x] "})
		}
		if item.Task != markdown.NoTask {
			indent[0].Text += "    "
		}
		out = append(out, v.within(first, indent, item.Blocks)...)
	}
	return out
}

// sign returns one of two signs for the same thing.
func (v *View) sign(drawn, plain string) string {
	if v.plain {
		return plain
	}
	return drawn
}

// lines draws lines of code.
func (v *View) lines(s *highlight.Scanner, text string) []styled.Row {
	var out []styled.Row
	for line := range strings.Lines(text) {
		if v.plain {
			out = append(out, styled.Join(styled.Row{{Text: "    "}}, styled.Verbatim(styled.Plain, line)))
		} else {
			out = append(out, styled.Colour(s, line))
		}
	}
	return out
}

// measure is how wide rows of text are at most.
func (v *View) measure() int {
	if v.plain {
		return v.width
	}
	return min(v.width, maxProse)
}

// prose draws a text.
func (v *View) prose(text []markdown.Inline, k styled.Kind, a styled.Attr) []styled.Row {
	var out []styled.Row
	for _, line := range v.spans(text, k, a) {
		out = append(out, line.Wrap(v.measure(), nil, nil)...)
	}
	return out
}

// spans returns the lines of a text, before they are wrapped.
func (v *View) spans(text []markdown.Inline, k styled.Kind, a styled.Attr) []styled.Row {
	w := writer{rows: []styled.Row{nil}, plain: v.plain}
	w.text(text, k, a)
	return w.rows
}

type writer struct {
	rows  []styled.Row
	plain bool
}

func (w *writer) say(k styled.Kind, a styled.Attr, text string) {
	s := styled.Clean(k, text)
	s.Attr = a
	last := len(w.rows) - 1
	w.rows[last] = w.rows[last].Add(s)
}

func (w *writer) text(text []markdown.Inline, k styled.Kind, a styled.Attr) {
	for _, i := range text {
		switch i := i.(type) {
		case markdown.Text:
			w.say(k, a, string(i))
		case markdown.Emphasis:
			w.text(i.Text, k, a|styled.Emphasis)
		case markdown.Strong:
			w.text(i.Text, k, a|styled.Strong)
		case markdown.Strike:
			w.text(i.Text, k, a|styled.Struck)
		case markdown.CodeSpan:
			code := string(i)
			if w.plain {
				code = "`" + code + "`"
			}
			w.say(styled.Code, a, code)
		case markdown.Link:
			w.text(i.Text, styled.Link, a|styled.Underlined)
			w.address(i.URL, i.Text, a)
		case markdown.Image:
			w.say(styled.Dim, a, "[image: ")
			w.text(i.Text, styled.Link, a)
			w.say(styled.Dim, a, "]")
			w.address(i.URL, nil, a)
		case markdown.Break:
			w.rows = append(w.rows, nil)
		}
	}
}

// address writes where a link leads, unless its text says so.
func (w *writer) address(url string, text []markdown.Inline, a styled.Attr) {
	if plain := markdown.Plain(text); url != plain && url != "mailto:"+plain && url != "" {
		w.say(styled.Dim, a&^styled.Struck, " ("+url+")")
	}
}

// Package markdown reads the Markdown that models write: CommonMark with tables, task lists
// and strikethrough. Its tree is small and its own, so that whoever draws it needs no parser.
//
//	html := markdown.AppendHTML(nil, markdown.Parse(answer))
//
// A [Stream] reads an answer that is still being written, and yields the blocks that can no
// longer change. Whatever the pieces in which the text comes, the result is that of [Parse].
//
// Raw HTML is text here. So are link reference definitions: they would change text before
// them, which may be on the screen already.
package markdown

// A Block is a part of a document: [Paragraph], [Heading], [Code], [Quote], [List], [Table]
// or [Rule].
type Block interface{ block() }

// A Paragraph is running text.
type Paragraph struct{ Text []Inline }

// A Heading has a level from 1 to 6.
type Heading struct {
	Level int
	Text  []Inline
}

// Code is a block of code, fenced or indented.
type Code struct {
	Lang string // the first word after the fence, as it was written
	Text string // its lines, each with its line end
}

// A Quote holds blocks that are quoted.
type Quote struct{ Blocks []Block }

// A List holds items.
type List struct {
	Ordered bool
	Start   int // number of the first item of an ordered list
	Items   []Item
}

// An Item belongs to a list.
type Item struct {
	Task   Task
	Gap    bool // a blank line is before it
	Blocks []Block
}

// Task is the state of an item's check box.
type Task byte

// The states of check boxes. An ordinary item has none.
const (
	NoTask Task = iota
	OpenTask
	DoneTask
)

// A Table has a head and rows. Every row has as many cells as the head.
type Table struct {
	Align []Align
	Head  [][]Inline
	Rows  [][][]Inline
}

// Align says on which side of a column its texts are.
type Align byte

// The alignments of columns.
const (
	AlignNone Align = iota
	AlignLeft
	AlignCenter
	AlignRight
)

// A Rule is a line between blocks.
type Rule struct{}

func (Paragraph) block() {}
func (Heading) block()   {}
func (Code) block()      {}
func (Quote) block()     {}
func (List) block()      {}
func (Table) block()     {}
func (Rule) block()      {}

// An Inline is a part of a text: [Text], [Emphasis], [Strong], [Strike], [CodeSpan], [Link],
// [Image] or [Break].
type Inline interface{ inline() }

// Text is text as it is to be shown.
type Text string

// Emphasis is stressed text, often in italics.
type Emphasis struct{ Text []Inline }

// Strong is text of importance, often bold.
type Strong struct{ Text []Inline }

// Strike is text that no longer holds.
type Strike struct{ Text []Inline }

// A CodeSpan is code within text.
type CodeSpan string

// A Link leads to an address of any scheme: see [SafeURL].
type Link struct {
	URL  string
	Text []Inline
}

// An Image is not loaded by anything here. Its text describes it.
type Image struct {
	URL  string
	Text []Inline
}

// A Break ends a line. The writer asked for it, unless it is soft: then it is only where a
// line ended in the source.
type Break struct{ Soft bool }

func (Text) inline()     {}
func (Emphasis) inline() {}
func (Strong) inline()   {}
func (Strike) inline()   {}
func (CodeSpan) inline() {}
func (Link) inline()     {}
func (Image) inline()    {}
func (Break) inline()    {}

// Plain returns the letters of a text, with spaces for its soft breaks.
func Plain(text []Inline) string {
	var b []byte
	return string(appendPlain(b, text))
}

func appendPlain(b []byte, text []Inline) []byte {
	for _, i := range text {
		switch i := i.(type) {
		case Text:
			b = append(b, i...)
		case CodeSpan:
			b = append(b, i...)
		case Break:
			b = append(b, ' ')
		default:
			b = appendPlain(b, within(i))
		}
	}
	return b
}

// within returns the text inside of an inline.
func within(i Inline) []Inline {
	switch i := i.(type) {
	case Emphasis:
		return i.Text
	case Strong:
		return i.Text
	case Strike:
		return i.Text
	case Link:
		return i.Text
	case Image:
		return i.Text
	}
	return nil
}

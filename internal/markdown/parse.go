package markdown

import (
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	xast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Parse returns the blocks of a text.
func Parse(src string) []Block {
	var s Stream
	return Join(append(s.Feed(src), s.Close()...))
}

// newParser returns a parser of single blocks. It knows neither HTML nor link reference
// definitions.
var newParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(lineBreak{}, 400),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(strike{}, 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
})

// lineBreak reads <br>, which cells of tables have instead of line ends.
type lineBreak struct{}

func (lineBreak) Trigger() []byte { return []byte{'<'} }

func (lineBreak) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	for _, tag := range []string{"<br>", "<br/>", "<br />"} {
		if len(line) >= len(tag) && strings.EqualFold(string(line[:len(tag)]), tag) {
			block.Advance(len(tag))
			return &breakNode{}
		}
	}
	return nil
}

type breakNode struct{ ast.BaseInline }

var kindBreak = ast.NewNodeKind("Break")

func (*breakNode) Kind() ast.NodeKind         { return kindBreak }
func (n *breakNode) Dump(src []byte, lvl int) { ast.DumpHelper(n, src, lvl, nil, nil) }

// strike reads ~~text~~. A single tilde is none: in 5~10 it stands for "to".
type strike struct{}

func (strike) Trigger() []byte { return []byte{'~'} }

func (strike) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, strike{})
	if node == nil {
		return nil
	}
	segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	if node.OriginalLength > 2 {
		return ast.NewTextSegment(segment)
	}
	node.Segment = segment
	pc.PushDelimiter(node)
	return node
}

func (strike) IsDelimiter(b byte) bool { return b == '~' }

func (strike) CanOpenCloser(opener, closer *parser.Delimiter) bool { return opener.Char == closer.Char }

func (strike) OnMatch(int) ast.Node { return xast.NewStrikethrough() }

const (
	maxMarks = 4096 // characters that may mark something in a block: pairing them costs their square
	maxDepth = 100  // of blocks and of inlines within each other: what is deeper is at this depth
)

// parseBlocks returns the blocks of a source that is not cut within a block. One that would
// cost too much is plain text.
func parseBlocks(src []byte) []Block {
	if costly(src) {
		return []Block{Paragraph{lines(string(src))}}
	}
	return parse(src)
}

func parse(src []byte) []Block {
	return reading{src}.blocks(newParser().Parse(text.NewReader(src)), 0)
}

// costly reports whether a source has more marks, or deeper nesting, than anybody writes.
func costly(src []byte) bool {
	marks, deep, start := 0, 0, true
	for i, c := range src {
		switch c {
		case '\n':
			deep, start = 0, true
		case '>', '-', '+', '.', ')', '*':
			if start && (c == '>' || i+1 < len(src) && (src[i+1] == ' ' || src[i+1] == '\t')) {
				deep++
			}
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			start = false
		}
		switch c {
		case '*', '_', '~', '[', ']', '`', '<', '>', '!':
			marks++
		}
		if marks > maxMarks || deep > maxDepth {
			return true
		}
	}
	return false
}

// lines returns plain text, with a break at each line end.
func lines(s string) []Inline {
	var out []Inline
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		if out != nil {
			out = append(out, Break{})
		}
		if line != "" {
			out = append(out, Text(line))
		}
	}
	return out
}

// reading turns the parser's nodes into ours.
type reading struct{ src []byte }

func (r reading) blocks(parent ast.Node, depth int) []Block {
	var out []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Paragraph, *ast.TextBlock:
			if text := r.inlines(n, depth); len(text) > 0 {
				out = append(out, Paragraph{text})
			}
		case *ast.Heading:
			out = append(out, Heading{n.Level, r.inlines(n, depth)})
		case *ast.CodeBlock:
			out = append(out, Code{Text: r.code(n)})
		case *ast.FencedCodeBlock:
			out = append(out, Code{string(n.Language(r.src)), r.code(n)})
		case *ast.Blockquote:
			if in := r.blocks(n, depth+1); depth < maxDepth {
				out = append(out, Quote{in})
			} else {
				out = append(out, in...)
			}
		case *ast.List:
			l := r.list(n, depth)
			if depth < maxDepth {
				out = append(out, l)
				continue
			}
			for _, item := range l.Items {
				out = append(out, item.Blocks...)
			}
		case *xast.Table:
			out = append(out, r.table(n, depth))
		case *ast.ThematicBreak:
			out = append(out, Rule{})
		}
	}
	return out
}

func (r reading) code(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(r.src))
	}
	s := b.String()
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

func (r reading) list(n *ast.List, depth int) List {
	l := List{Ordered: n.IsOrdered(), Start: n.Start}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		item := Item{Gap: c != n.FirstChild() && c.HasBlankPreviousLines(), Blocks: r.blocks(c, depth+1)}
		if first := c.FirstChild(); first != nil {
			if box, ok := first.FirstChild().(*xast.TaskCheckBox); ok {
				if item.Task = OpenTask; box.IsChecked {
					item.Task = DoneTask
				}
			}
		}
		l.Items = append(l.Items, item)
	}
	return l
}

func (r reading) table(n *xast.Table, depth int) Table {
	var t Table
	for _, a := range n.Alignments {
		t.Align = append(t.Align, map[xast.Alignment]Align{xast.AlignLeft: AlignLeft, xast.AlignCenter: AlignCenter, xast.AlignRight: AlignRight}[a])
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([][]Inline, 0, len(t.Align))
		for c := row.FirstChild(); c != nil && len(cells) < len(t.Align); c = c.NextSibling() {
			cells = append(cells, r.inlines(c, depth))
		}
		cells = append(cells, make([][]Inline, len(t.Align)-len(cells))...)
		if t.Head == nil {
			t.Head = cells
		} else {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// inlines returns the text of a node. Addresses in it are links.
func (r reading) inlines(parent ast.Node, depth int) []Inline {
	return addresses(r.texts(parent, depth))
}

func (r reading) texts(parent ast.Node, depth int) []Inline {
	var out []Inline
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			s := string(n.Segment.Value(r.src))
			if !n.IsRaw() {
				s = unescape(s)
			}
			out = appendText(out, s)
			if n.HardLineBreak() || n.SoftLineBreak() {
				out = append(out, Break{Soft: !n.HardLineBreak()})
			}
		case *ast.String:
			out = appendText(out, string(n.Value))
		case *breakNode:
			out = append(out, Break{})
		case *ast.CodeSpan:
			var b strings.Builder
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					b.Write(t.Segment.Value(r.src))
				}
			}
			out = append(out, CodeSpan(strings.ReplaceAll(b.String(), "\n", " ")))
		case *ast.Emphasis:
			if text := r.texts(n, depth+1); depth >= maxDepth {
				out = append(out, text...)
			} else if n.Level == 2 {
				out = append(out, Strong{text})
			} else {
				out = append(out, Emphasis{text})
			}
		case *xast.Strikethrough:
			if text := r.texts(n, depth+1); depth >= maxDepth {
				out = append(out, text...)
			} else {
				out = append(out, Strike{text})
			}
		case *ast.Link:
			out = append(out, Link{unescape(string(n.Destination)), unlinked(r.texts(n, depth+1))})
		case *ast.Image:
			out = append(out, Image{unescape(string(n.Destination)), unlinked(r.texts(n, depth+1))})
		case *ast.AutoLink:
			url := string(n.URL(r.src))
			if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
				url = "mailto:" + url
			}
			out = append(out, Link{url, []Inline{Text(n.Label(r.src))}})
		}
	}
	return out
}

// unlinked returns a text with the texts of its links and images in place of them.
func unlinked(text []Inline) []Inline {
	var out []Inline
	for _, i := range text {
		switch i := i.(type) {
		case Link:
			out = append(out, unlinked(i.Text)...)
		case Image:
			out = append(out, unlinked(i.Text)...)
		case Emphasis:
			out = append(out, Emphasis{unlinked(i.Text)})
		case Strong:
			out = append(out, Strong{unlinked(i.Text)})
		case Strike:
			out = append(out, Strike{unlinked(i.Text)})
		default:
			out = append(out, i)
		}
	}
	return out
}

// appendText appends a text to the one before it.
func appendText(out []Inline, s string) []Inline {
	if s == "" {
		return out
	}
	if n := len(out); n > 0 {
		if t, ok := out[n-1].(Text); ok {
			out[n-1] = t + Text(s)
			return out
		}
	}
	return append(out, Text(s))
}

// unescape resolves backslashes before punctuation, and entities such as &amp;.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	const longest = 33 // the longest name of an entity, with & and ;
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
			continue
		case c == '&':
			if n := strings.IndexByte(s[i:min(len(s), i+longest)], ';'); n > 1 {
				if e := s[i : i+n+1]; html.UnescapeString(e) != e {
					b.WriteString(html.UnescapeString(e))
					i += n + 1
					continue
				}
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

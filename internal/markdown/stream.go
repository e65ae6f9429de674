package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A Part is a block, or a part of one: an item of a list, or lines of code.
type Part struct {
	Block     Block
	Continues bool // the block of the part before it: of the same type
}

// Join puts the parts of blocks together.
func Join(parts []Part) []Block {
	var out []Block
	for i := 0; i < len(parts); {
		j := i + 1
		for j < len(parts) && parts[j].Continues {
			j++
		}
		out = append(out, joined(parts[i:j]))
		i = j
	}
	return out
}

// joined returns the block whose parts these are.
func joined(parts []Part) Block {
	if len(parts) == 1 {
		return parts[0].Block
	}
	switch first := parts[0].Block.(type) {
	case Code:
		var text strings.Builder
		for _, p := range parts {
			text.WriteString(p.Block.(Code).Text)
		}
		first.Text = text.String()
		return first
	case List:
		items := make([]Item, 0, len(parts))
		for _, p := range parts {
			items = append(items, p.Block.(List).Items...)
		}
		first.Items = items
		return first
	}
	return parts[0].Block
}

// maxBlock is how many bytes a block may have. A longer one becomes several.
const maxBlock = 64 << 10

// A Stream reads a text that comes in pieces. The zero value is ready for use.
//
// It looks at each line once, and parses a block when no further line can change it. Text
// that it has not yielded is at most one block.
type Stream struct {
	line   []byte // the last line, without its end
	cr     bool   // the last byte was a carriage return
	source []byte // lines of the open block
	state  state
	open   line // a fence, or the latest item
	blank  bool // the last line of source is blank
	prose  bool // a paragraph of the item is open, to which a line without indentation belongs
	code   bool // a fence is in the item

	in     bool // the open item continues a list
	gap    bool // and a blank line was before it
	list   bool // the last block that was parsed is a list
	number int  // of the next item of that list
}

// state says how the lines of the open block are to be read.
type state byte

const (
	between   state = iota // no block is open
	paragraph              // or a table, or a heading above its line
	codeLines              // indented code
	fenced                 // its lines are yielded one by one
	quoted
	listed
	// A block with a line that belongs to it or does not: only the parser knows.
	unclear
	// The same, with a fence that may be open.
	unclearFence
)

// Feed takes in the next piece of the text, and returns the parts that can no longer change.
func (s *Stream) Feed(piece string) []Part {
	var out []Part
	for piece != "" {
		if s.cr && piece[0] == '\n' {
			piece = piece[1:]
			s.cr = false
			continue
		}
		s.cr = false
		n := strings.IndexAny(piece, "\r\n")
		room := maxBlock - len(s.line)
		if n < 0 && len(piece) < room {
			s.line = append(s.line, piece...)
			break
		}
		if n < 0 || n >= room {
			out = s.longLine(out, piece[:room])
			piece = piece[room:]
			continue
		}
		s.cr = piece[n] == '\r'
		s.line = append(s.line, piece[:n]...)
		out = s.add(out, s.takeLine())
		piece = piece[n+1:]
	}
	return out
}

// takeLine returns the line and begins the next one.
func (s *Stream) takeLine() string {
	l := strings.ToValidUTF8(string(s.line), "\uFFFD")
	s.line = s.line[:0]
	return l
}

// longLine ends a block within a line that is too long. Its last character may not be
// complete: it stays.
func (s *Stream) longLine(out []Part, end string) []Part {
	s.line = append(s.line, end...)
	n := whole(s.line)
	rest := string(s.line[n:])
	s.line = s.line[:n]
	if s.state == fenced {
		out = append(out, Part{Code{s.open.lang, s.takeLine()}, true})
	} else {
		out = s.end(s.add(out, s.takeLine()))
	}
	s.line = append(s.line, rest...)
	return out
}

// whole returns how many bytes of a text are there without a character that is not complete.
func whole(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// Close returns the parts of the text that was fed and not yielded: nothing follows it.
func (s *Stream) Close() []Part {
	var out []Part
	if len(s.line) > 0 {
		out = s.add(out, s.takeLine())
	}
	out = s.end(out)
	*s = Stream{}
	return out
}

// Open returns the parts that may still change, as they are if nothing follows. A last line
// that so far has only marks, such as the first hyphen of a list, is left out. What is open in
// the last line, such as strong text, ends with it.
func (s *Stream) Open() []Part {
	c := *s
	c.source = append([]byte(nil), s.source...)
	last := string(s.line[:whole(s.line)])
	if s.state == fenced {
		if strings.Trim(last, " "+string(s.open.mark)) == "" {
			last = ""
		}
	} else if strings.Trim(last, "-=*_+#>`~|: \t0123456789.)") == "" {
		last = ""
	} else if k := readLine(last).kind; s.state == paragraph || s.state == listed && s.prose || s.state == between && k != fence && k != indented {
		from := 0
		if s.state != paragraph { // marks of other items and blocks are not open
			from = bytes.LastIndexByte(s.source, '\n') + 1
		}
		last = finished(string(s.source[from:]), last)
	}
	c.line = []byte(last)
	return c.Close()
}

// add takes in a line.
func (s *Stream) add(out []Part, text string) []Part {
	l := readLine(text)
	if len(s.source)+len(text) >= maxBlock {
		out = s.end(out)
	}
	switch s.state {
	case fenced:
		if l.ends(s.open) {
			s.state = between
			return out
		}
		return append(out, Part{Code{s.open.lang, unindent(text, s.open.indent) + "\n"}, true})
	case paragraph:
		switch {
		case l.kind == blank:
			return s.end(out)
		case l.underlines():
			if bytes.IndexByte(s.source, '|') >= 0 { // a table has no underline: it is text below it
				s.state = unclear
				s.keep(l)
				return out
			}
			s.keep(l)
			return s.end(out)
		case !l.interrupts():
			s.keep(l)
			return out
		}
		out = s.end(out)
	case codeLines:
		if l.kind == blank || l.kind == indented {
			s.keep(l)
			return out
		}
		out = s.end(out)
	case quoted:
		switch {
		case l.kind == quote:
			s.keep(l)
			return out
		case l.kind != blank && l.kind != fence && l.kind != heading:
			s.keep(l)
			s.state = unclear
			return out
		}
		out = s.end(out)
	case listed:
		switch {
		case l.kind == blank:
			if s.open.empty {
				s.state = unclear // what follows may belong to the empty item
			}
			s.keep(l)
			s.prose = false
			return out
		case l.indent >= s.open.size:
			s.inItem(l)
			return out
		case l.kind == item && l.mark == s.open.mark && (l.number < 0) == (s.open.number < 0):
			gap := s.blank
			out = s.end(out)
			s.in, s.gap = s.list, gap
		case !s.blank && (l.kind == prose || l.kind == indented):
			if s.keep(l); !s.prose {
				s.state = unclear
			}
			return out
		default:
			out = s.end(out)
		}
	case unclear:
		switch {
		case l.indent == 0 && (s.blank && l.kind != item && l.kind != blank || l.kind == heading || l.kind == fence):
			out = s.end(out)
		case l.indent == 0 && l.kind == item && (s.blank || l.interrupts()):
			s.openItem(l)
			return out
		default:
			if l.kind == fence {
				s.state = unclearFence
			}
			s.keep(l)
			return out
		}
	case unclearFence:
		s.keep(l)
		return out
	}
	return s.begin(out, l)
}

// begin opens a block.
func (s *Stream) begin(out []Part, l line) []Part {
	switch l.kind {
	case blank:
		return out
	case fence:
		s.state, s.open = fenced, l
		return append(out, Part{Code{Lang: l.lang}, false})
	case heading, rule:
		s.keep(l)
		return s.end(out)
	case indented:
		s.state = codeLines
	case quote:
		s.state = quoted
	case item:
		s.openItem(l)
		return out
	default:
		s.state = paragraph
	}
	s.keep(l)
	return out
}

// openItem takes in the first line of an item.
func (s *Stream) openItem(l line) {
	s.keep(l)
	s.state, s.open, s.code, s.prose = listed, l, false, false
	s.follow(l)
}

// inItem takes in a further line of an item.
func (s *Stream) inItem(l line) {
	within := readLine(strings.TrimLeft(l.text, " \t"))
	if !s.prose && l.indent-s.open.size >= tab {
		within.kind = indented
	}
	s.keep(l)
	s.follow(within)
}

// follow notes whether a line of an item, without its indentation, leaves a paragraph open.
// It says so only if that is certain.
func (s *Stream) follow(l line) {
	for l.kind == item && !l.empty && !l.code {
		l = readLine(l.rest)
	}
	s.code = s.code || l.kind == fence
	s.prose = !s.code && l.kind == prose && !l.underlines()
}

// keep appends a line to the open block.
func (s *Stream) keep(l line) {
	s.source = append(append(s.source, l.text...), '\n')
	s.blank = l.kind == blank
	s.open.empty = false
}

// end parses the open block.
func (s *Stream) end(out []Part) []Part {
	if len(s.source) > 0 {
		s.list = false
		for i, b := range parseBlocks(s.source) {
			p := Part{Block: b}
			l, ok := b.(List)
			if ok && i == 0 && s.in {
				l.Start = s.number
				l.Items[0].Gap = s.gap
				p = Part{l, true}
			}
			if s.list = ok; ok {
				s.number = l.Start + len(l.Items)
			}
			out = append(out, p)
		}
	}
	s.source = s.source[:0]
	s.state, s.blank, s.gap, s.in = between, false, false, false
	return out
}

// unindent removes at most n columns of white space. Of a tab that is wider, the rest becomes
// spaces.
func unindent(s string, n int) string {
	for column := 0; column < n && s != ""; s = s[1:] {
		switch s[0] {
		case ' ':
			column++
		case '\t':
			if column += tab - column%tab; column > n {
				return strings.Repeat(" ", column-n) + s[1:]
			}
		default:
			return s
		}
	}
	return s
}

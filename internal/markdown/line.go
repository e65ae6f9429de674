package markdown

import "strings"

// kind says what a line begins, if nothing before it holds it.
type kind byte

const (
	blank kind = iota
	prose
	indented // by at least four columns
	fence
	heading
	rule
	quote
	item
)

// A line is a line of the source, without its line end.
type line struct {
	text   string
	kind   kind
	indent int // columns before its first character that is not white space

	mark byte // of a fence, or the one that tells lists apart
	size int  // of a fence, or the column where the text of an item begins
	lang string

	rest   string // of an item: its text
	empty  bool   // an item without text
	code   bool   // an item that begins with indented code
	number int    // of an item of an ordered list, or -1
}

const tab = 4 // columns

// readLine classifies a line.
func readLine(s string) line {
	l := line{text: s, kind: prose}
	at := 0
	for ; at < len(s) && (s[at] == ' ' || s[at] == '\t'); at++ {
		if s[at] == '\t' {
			l.indent += tab - l.indent%tab
		} else {
			l.indent++
		}
	}
	rest := s[at:]
	switch {
	case strings.Trim(rest, " \t\v\f") == "":
		l.kind = blank
	case l.indent >= tab:
		l.kind = indented
	case rest[0] == '>':
		l.kind = quote
	case l.isFence(rest), l.isHeading(rest), l.isRule(rest), l.isItem(rest):
	}
	return l
}

func (l *line) isFence(s string) bool {
	n := run(s, s[0])
	if s[0] != '`' && s[0] != '~' || n < 3 {
		return false
	}
	info := strings.TrimSpace(s[n:])
	if s[0] == '`' && strings.IndexByte(info, '`') >= 0 {
		return false
	}
	lang, _, _ := strings.Cut(info, " ")
	l.kind, l.mark, l.size, l.lang = fence, s[0], n, lang
	return true
}

// ends reports whether a line ends the code of a fence.
func (l line) ends(open line) bool {
	return l.kind == fence && l.mark == open.mark && l.size >= open.size && strings.Trim(l.text, " \t"+string(l.mark)) == ""
}

func (l *line) isHeading(s string) bool {
	if n := run(s, '#'); n > 0 && n <= 6 && (n == len(s) || s[n] == ' ' || s[n] == '\t') {
		l.kind = heading
		return true
	}
	return false
}

func (l *line) isRule(s string) bool {
	c := s[0]
	if c != '*' && c != '-' && c != '_' || strings.Trim(s, " \t"+string(c)) != "" || strings.Count(s, string(c)) < 3 {
		return false
	}
	l.kind = rule
	return true
}

func (l *line) isItem(s string) bool {
	n, number := 0, -1
	switch s[0] {
	case '-', '+', '*':
		n = 1
	default:
		for n < len(s) && n < 10 && '0' <= s[n] && s[n] <= '9' {
			number = max(number, 0)*10 + int(s[n]-'0')
			n++
		}
		if n == 0 || n > 9 || n == len(s) || s[n] != '.' && s[n] != ')' {
			return false
		}
		n++
	}
	if n < len(s) && s[n] != ' ' && s[n] != '\t' {
		return false
	}
	l.kind, l.mark, l.number = item, s[n-1], number
	after, column := 0, l.indent+n
	for i := n; i < len(s) && (s[i] == ' ' || s[i] == '\t'); i++ {
		width := 1
		if s[i] == '\t' {
			width = tab - (column+after)%tab
		}
		after += width
	}
	l.rest = strings.TrimLeft(s[n:], " \t")
	l.empty = strings.TrimSpace(l.rest) == ""
	l.code = !l.empty && after > tab
	if l.empty || l.code {
		after = 1
	}
	l.size = column + after
	return true
}

// underlines reports whether a line makes a heading of the paragraph before it.
func (l line) underlines() bool {
	s := strings.Trim(l.text, " \t")
	return l.indent < tab && s != "" && (run(s, '=') == len(s) || run(s, '-') == len(s))
}

// interrupts reports whether a line ends a paragraph.
func (l line) interrupts() bool {
	switch l.kind {
	case fence, heading, rule, quote:
		return true
	case item:
		return !l.empty && (l.number == -1 || l.number == 1)
	}
	return false
}

// run returns how many bytes c a text begins with.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

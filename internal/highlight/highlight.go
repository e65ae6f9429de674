// Package highlight finds strings, comments, numbers and keywords in code, so that a page or a
// terminal can colour them.
//
//	s := highlight.New("go")
//	for _, line := range lines {
//		spans = s.Line(spans[:0], line)
//	}
//
// It reads a line once, from left to right, and remembers only which comment or string is open
// at its end. So lines can come one by one, and hostile text costs no more than other text. It
// guesses: a language that it does not know is plain, and code that it misreads only has other
// colours.
package highlight

import (
	"path"
	"strings"
	"unicode/utf8"
)

// Kind says what a span is.
type Kind byte

// The kinds of spans.
const (
	Plain Kind = iota
	Keyword
	String
	Number
	Comment
	Name    // a key, an element, a variable, a heading
	Added   // a line of a diff
	Removed // a line of a diff
)

// A Span is a piece of a line.
type Span struct {
	Kind Kind
	Text string
}

// Known reports whether a language is known by a name, such as "go", "Python" or "c++".
func Known(lang string) bool { return languages()[strings.ToLower(lang)] != nil }

// ByFile returns the language of a file by its name, or "".
func ByFile(file string) string {
	base := strings.ToLower(path.Base(strings.ReplaceAll(file, "\\", "/")))
	for _, name := range []string{strings.TrimPrefix(path.Ext(base), "."), strings.TrimSuffix(base, path.Ext(base))} {
		if l := languages()[name]; l != nil && (name != base || l.file) {
			return name
		}
	}
	return ""
}

// A Scanner reads the lines of a text.
type Scanner struct {
	lang *language
	open *pair // the string or comment that is open
	deep int   // comments that are open within each other
	tag  bool  // in a tag of HTML
	code bool  // in code of Markdown
}

// New returns a scanner for a language. One that is not known is plain.
func New(lang string) *Scanner { return &Scanner{lang: languages()[strings.ToLower(lang)]} }

// Line appends the spans of the next line to spans. They cover the line in its order. A line
// end, if there is one, belongs to the line.
func (s *Scanner) Line(spans []Span, line string) []Span {
	r := reader{spans: spans, line: line, first: len(spans)}
	if s.lang == nil {
		r.take(Plain, len(line))
		return r.spans
	}
	if s.open != nil {
		s.close(&r, 0)
	}
	switch s.lang.form {
	case diffForm:
		r.take(diffKind(line), len(line))
	case markdownForm:
		s.markdown(&r)
	case markupForm:
		s.markup(&r)
	default:
		s.program(&r)
	}
	return r.spans
}

// A reader has read a line up to a place.
type reader struct {
	spans []Span
	line  string
	at    int
	first int // the first of the line's spans
}

// take makes a span of the next n bytes. It joins the span before it, if that is of its kind.
func (r *reader) take(k Kind, n int) {
	if n <= 0 {
		return
	}
	from := r.at
	r.at += n
	if last := len(r.spans) - 1; last >= r.first && r.spans[last].Kind == k {
		r.spans[last].Text = r.line[from-len(r.spans[last].Text) : r.at]
		return
	}
	r.spans = append(r.spans, Span{k, r.line[from:r.at]})
}

// rest is what is not read yet.
func (r *reader) rest() string { return r.line[r.at:] }

// before returns the byte before the place, or a space.
func (r *reader) before() byte {
	if r.at == 0 {
		return ' '
	}
	return r.line[r.at-1]
}

// close reads on to the end of the open string or comment, which begins in this line with n
// bytes, or in one before.
func (s *Scanner) close(r *reader, n int) {
	p, rest := s.open, r.rest()
	for i := n; i < len(rest); {
		switch {
		case p.escape && rest[i] == '\\':
			i += 2
		case strings.HasPrefix(rest[i:], p.end):
			i += len(p.end)
			if s.deep--; s.deep <= 0 {
				s.open = nil
				r.take(p.kind, i)
				return
			}
		case p.nest && strings.HasPrefix(rest[i:], p.begin):
			i += len(p.begin)
			s.deep++
		default:
			i++
		}
	}
	r.take(p.kind, len(rest))
	if !p.lines {
		s.open = nil
	}
}

// program reads what is left of a line of most languages.
func (s *Scanner) program(r *reader) {
	l := s.lang
	start := len(r.line) - len(strings.TrimLeft(r.line, " \t"))
	if l.form == keyForm && r.at == 0 {
		r.key()
	}
	for r.at < len(r.line) {
		c, rest := r.line[r.at], r.rest()
		if p := l.begins(c, rest, r.before()); p != nil {
			s.open, s.deep = p, 1
			s.close(r, len(p.begin))
			continue
		}
		switch {
		case l.isComment(c, rest, r.before()):
			r.take(Comment, len(rest))
		case c == '\'' && l.quotes == letters:
			if n := letter(rest); n > 1 {
				r.take(String, n)
			} else {
				r.take(Plain, 1)
			}
		case isDigit(c):
			r.take(Number, number(rest))
		case isLetter(c) || strings.IndexByte(l.sigils, c) >= 0:
			r.word(l, r.at == start)
		default:
			r.take(Plain, 1)
		}
	}
}

// word reads a word, which begins with a letter or a sigil. The first one of a line may be a
// key.
func (r *reader) word(l *language, first bool) {
	rest := r.rest()
	n := 1
	for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n]) || strings.IndexByte(l.within, rest[n]) >= 0) {
		n++
	}
	switch word := rest[:n]; {
	case l.isKeyword(word):
		r.take(Keyword, n)
	case n > 1 && !isLetter(rest[0]):
		r.take(Name, n)
	case first && l.form == keyForm && strings.HasPrefix(strings.TrimLeft(rest[n:], " "), "="):
		r.take(Name, n)
	default:
		r.take(Plain, n)
	}
}

// key reads the key that a line of YAML begins with.
func (r *reader) key() {
	n := 0
	for n < len(r.line) && (r.line[n] == ' ' || r.line[n] == '-') {
		n++
	}
	if n == len(r.line) || strings.IndexByte("\"'#[{", r.line[n]) >= 0 {
		return
	}
	end := strings.IndexAny(r.line[n:], ":#=\"'")
	if end <= 0 || r.line[n+end] != ':' || n+end+1 < len(r.line) && strings.IndexByte(" \t\r\n", r.line[n+end+1]) < 0 {
		return
	}
	r.take(Plain, n)
	r.take(Name, end)
}

// markup reads what is left of a line of HTML or XML.
func (s *Scanner) markup(r *reader) {
	for r.at < len(r.line) {
		c, rest := r.line[r.at], r.rest()
		switch {
		case strings.HasPrefix(rest, htmlComment.begin):
			s.open, s.deep = &htmlComment, 1
			s.close(r, len(htmlComment.begin))
		case s.tag && (c == '"' || c == '\''):
			if s.open, s.deep = &doubleQuoted, 1; c == '\'' {
				s.open = &singleQuoted
			}
			s.close(r, 1)
		case s.tag && c == '>':
			s.tag = false
			r.take(Plain, 1)
		case c == '<' && len(rest) > 1 && (isLetter(rest[1]) || strings.IndexByte("/!?", rest[1]) >= 0):
			n := 1
			for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n]) || strings.IndexByte("/!?-:", rest[n]) >= 0) {
				n++
			}
			s.tag = true
			r.take(Plain, 1)
			r.take(Keyword, n-1)
		case s.tag && isLetter(c):
			n := 1
			for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n]) || strings.IndexByte("-:@.", rest[n]) >= 0) {
				n++
			}
			r.take(Name, n)
		case c == '&':
			n := 1
			for n < len(rest) && n < 32 && (isLetter(rest[n]) || isDigit(rest[n]) || rest[n] == '#') {
				n++
			}
			if n < len(rest) && n > 1 && rest[n] == ';' {
				r.take(Number, n+1)
			} else {
				r.take(Plain, n)
			}
		default:
			r.take(Plain, 1)
		}
	}
}

// markdown reads a line of Markdown.
func (s *Scanner) markdown(r *reader) {
	trim := strings.TrimLeft(r.line, " \t")
	switch {
	case strings.HasPrefix(trim, "```") || strings.HasPrefix(trim, "~~~"):
		s.code = !s.code
		r.take(String, len(r.line))
	case s.code:
		r.take(String, len(r.line))
	case strings.HasPrefix(trim, "#"):
		r.take(Name, len(r.line))
	case strings.HasPrefix(trim, ">"):
		r.take(Comment, len(r.line))
	}
	for r.at < len(r.line) {
		n := strings.IndexByte(r.rest(), '`')
		if n < 0 {
			n = len(r.rest())
		}
		r.take(Plain, n)
		if rest := r.rest(); rest != "" {
			if n = strings.IndexByte(rest[1:], '`'); n < 0 {
				r.take(Plain, len(rest))
			} else {
				r.take(String, n+2)
			}
		}
	}
}

// diffKind returns the kind of a line of a diff.
func diffKind(line string) Kind {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"):
		return Name
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		return Comment
	case strings.HasPrefix(line, "+"):
		return Added
	case strings.HasPrefix(line, "-"):
		return Removed
	}
	return Plain
}

// number returns the length of a number, which a text begins with.
func number(s string) int {
	n := 1
	for n < len(s) {
		switch c := s[n]; {
		case isDigit(c) || isLetter(c) && c < utf8.RuneSelf:
		case c == '.' && n+1 < len(s) && isDigit(s[n+1]):
		case (c == '+' || c == '-') && (s[n-1] == 'e' || s[n-1] == 'E') && s[0] != '0' && n+1 < len(s) && isDigit(s[n+1]):
		default:
			return n
		}
		n++
	}
	return n
}

// letter returns the length of a literal of one letter, such as 'a' or '\n', or 1: then the
// apostrophe is something else.
func letter(s string) int {
	n := 1
	if strings.HasPrefix(s[n:], `\`) {
		if i := strings.IndexByte(s[n:min(len(s), n+12)], '\''); i > 0 {
			if i == 1 && strings.HasPrefix(s[n+2:], "'") { // '\''
				i++
			}
			return n + i + 1
		}
		return 1
	}
	_, size := utf8.DecodeRuneInString(s[n:])
	if n += size; n < len(s) && size > 0 && s[n] == '\'' {
		return n + 1
	}
	return 1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isLetter reports whether a byte may begin a word. Those of other scripts all may.
func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// Package styled holds text with a meaning: rows of spans, which a theme colours later. It
// measures, cuts and wraps them by grapheme clusters, as a terminal shows them.
//
//	row := styled.Row{{Kind: styled.Heading, Text: "Result"}, styled.Clean(styled.Plain, output)}
//	for _, r := range row.Wrap(80, nil, nil) {
//		…
//	}
package styled

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/internal/highlight"
	"github.com/openagent-go/agent/internal/terminal"
)

// Kind says what a text means.
type Kind byte

// The kinds of texts.
const (
	Plain Kind = iota
	Dim
	Heading
	Code
	Link
	Keyword
	String
	Number
	Comment
	Name
	Added
	Removed
	AddedWord // the part of an added line that is new
	RemovedWord
	Good
	Bad
	Warn
	Accent
)

// Attr is a set of attributes that a text has beside its kind.
type Attr byte

// The attributes.
const (
	Strong Attr = 1 << iota
	Emphasis
	Struck
	Underlined
	Reverse
)

// A Span is a text of one kind. It has no control characters: see [Clean].
type Span struct {
	Kind Kind
	Attr Attr
	Text string

	// Picture is the number of a picture whose place the text is; 0: it is a text. See
	// [PictureRows].
	Picture uint32
}

// A Row is a line of the screen.
type Row []Span

// tabWidth is how many cells a tab takes.
const tabWidth = 4

// Clean makes a span of a text of any origin. Nothing in it drives the terminal. Tabs become
// spaces, and so do line ends.
func Clean(k Kind, text string) Span {
	text = terminal.Text(text)
	if strings.ContainsAny(text, "\t\n") {
		text = strings.NewReplacer("\t", strings.Repeat(" ", tabWidth), "\n", " ").Replace(text)
	}
	return Span{Kind: k, Text: text}
}

// Label makes a text of a name or title of any origin: what nobody sees in it, and letters that look
// like others, are escapes such as \u{430}.
func Label(text string) string {
	return terminal.Name(strings.NewReplacer("\t", " ", "\n", " ").Replace(strings.TrimSpace(text)))
}

// Letters makes a row of a text of any origin, in which letters outside ASCII are underlined:
// they may look like others.
func Letters(k Kind, text string) Row {
	text = Clean(k, text).Text
	var row Row
	from, foreign := 0, false
	take := func(to int) {
		s := Span{Kind: k, Text: text[from:to]}
		if foreign {
			s.Attr = Underlined
		}
		row = row.Add(s)
		from = to
	}
	for i, r := range text {
		is := r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
		if is != foreign {
			take(i)
			foreign = is
		}
	}
	take(len(text))
	return row
}

// Colour returns a line of code as spans. Nothing in it drives the terminal.
func Colour(s *highlight.Scanner, line string) Row {
	kinds := [...]Kind{highlight.Plain: Plain, highlight.Keyword: Keyword, highlight.String: String, highlight.Number: Number,
		highlight.Comment: Comment, highlight.Name: Name, highlight.Added: Added, highlight.Removed: Removed}
	var row Row
	column := 0
	for _, span := range s.Line(nil, strings.TrimRight(line, "\r\n")) {
		row = row.Add(Span{Kind: kinds[span.Kind], Text: untabbed(terminal.Text(span.Text), &column)})
	}
	return row
}

// Verbatim returns a line of code or output without colours. Tabs go to the next stop.
func Verbatim(k Kind, line string) Row {
	column := 0
	return Row{}.Add(Span{Kind: k, Text: untabbed(terminal.Text(strings.TrimRight(line, "\r\n")), &column)})
}

// untabbed replaces tabs by spaces up to the next stop. Column is where the text begins, and
// then where it ends.
func untabbed(text string, column *int) string {
	if strings.IndexByte(text, '\t') < 0 {
		*column += frame.Width(text)
		return text
	}
	var b strings.Builder
	for text != "" {
		n := strings.IndexByte(text, '\t')
		if n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		*column += frame.Width(text[:n])
		if text = text[n:]; text != "" {
			text = text[1:]
			gap := tabWidth - *column%tabWidth
			b.WriteString(strings.Repeat(" ", gap))
			*column += gap
		}
	}
	return b.String()
}

// Width returns how many cells a row takes.
func (r Row) Width() int {
	n := 0
	for _, s := range r {
		n += frame.Width(s.Text)
	}
	return n
}

// Text returns the letters of a row.
func (r Row) Text() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Add appends a span, to the last one if that is of its kind. Like append, it may change the
// row.
func (r Row) Add(s Span) Row {
	if s.Text == "" {
		return r
	}
	if n := len(r) - 1; n >= 0 && r[n].Kind == s.Kind && r[n].Attr == s.Attr && r[n].Picture == s.Picture {
		r[n].Text += s.Text
		return r
	}
	return append(r, s)
}

// Join returns a row of several.
func Join(rows ...Row) Row {
	var out Row
	for _, r := range rows {
		for _, s := range r {
			out = out.Add(s)
		}
	}
	return out
}

// Cut shortens a row to so many cells. A cut is marked.
func (r Row) Cut(width int) Row {
	if r.Width() <= width {
		return r
	}
	var out Row
	left := width - 1
	for _, s := range r {
		n := frame.Width(s.Text)
		if n > left {
			if s.Text = Prefix(s.Text, left); width > 0 {
				s.Text += "…"
			}
			return out.Add(s)
		}
		out, left = out.Add(s), left-n
	}
	return out
}

// Pad fills a row with blanks up to a width.
func (r Row) Pad(width int) Row {
	return Join(r, Row{{Text: strings.Repeat(" ", max(width-r.Width(), 0))}})
}

// Prefix returns the beginning of a text that takes at most so many cells.
func Prefix(text string, width int) string {
	used := 0
	for i := 0; i < len(text); {
		letter := first(text[i:])
		if used += frame.Width(letter); used > width {
			return text[:i]
		}
		i += len(letter)
	}
	return text
}

// Wrap breaks a row at its words, so that rows take at most so many cells. The first row
// begins with first, the others with rest. A word that is longer than a row is a row of its
// own: the terminal breaks it, so that a copy of it is whole.
func (r Row) Wrap(width int, first, rest Row) []Row {
	var out []Row
	line := Join(first)
	used, filled := line.Width(), false
	var gap Row // blanks that are dropped at the end of a row
	gapWidth := 0
	for word, blanks := range r.words {
		n := word.Width()
		if used+gapWidth+n > width && filled {
			out = append(out, line)
			line = Join(rest)
			used, filled = line.Width(), false
			gap, gapWidth = nil, 0
		}
		line = Join(line, gap, word)
		used += gapWidth + n
		filled = filled || len(word) > 0
		gap, gapWidth = blanks, blanks.Width()
	}
	return append(out, line)
}

// Break breaks a row at any letter, so that every row takes at most so many cells. The rows
// after the first begin with rest.
func (r Row) Break(width int, rest Row) []Row {
	if r.Width() <= width {
		return []Row{r}
	}
	var out []Row
	var line Row
	used, filled := 0, false
	for _, s := range r {
		for s.Text != "" {
			head := Prefix(s.Text, width-used)
			if head == "" && !filled { // no row has room for this letter
				head = first(s.Text)
			}
			if head == "" {
				out = append(out, line)
				line = Join(rest)
				used, filled = line.Width(), false
				continue
			}
			line = line.Add(Span{s.Kind, s.Attr, head, s.Picture})
			used, filled = used+frame.Width(head), true
			s.Text = s.Text[len(head):]
		}
	}
	return append(out, line)
}

// words yields the words of a row with the blanks behind each. A break is also possible
// between wide letters, such as those of Chinese.
func (r Row) words(yield func(word, blanks Row) bool) {
	var word, blanks Row
	wide, glued := false, false // the last letter is wide; no break may follow it
	for _, s := range r {
		from, blank := 0, false // what is not in word or blanks yet
		take := func(to int) {
			part := Span{s.Kind, s.Attr, s.Text[from:to], s.Picture}
			if blank {
				blanks = blanks.Add(part)
			} else {
				word = word.Add(part)
			}
			from = to
		}
		for i := 0; i < len(s.Text); {
			letter := first(s.Text[i:])
			isBlank := letter == " "
			if isBlank != blank {
				take(i)
			}
			if isWide := len(letter) > 1 && frame.Width(letter) > 1; !isBlank {
				if blank || len(blanks) > 0 || (i > from || len(word) > 0) && (wide || isWide) && !glued && !strings.Contains(closing, letter) {
					take(i)
					if (len(word) > 0 || len(blanks) > 0) && !yield(word, blanks) {
						return
					}
					word, blanks = nil, nil
				}
				wide, glued = isWide, strings.Contains(opening, letter)
			} else {
				wide, glued = false, false
			}
			blank = isBlank
			i += len(letter)
		}
		take(len(s.Text))
	}
	if len(word) > 0 || len(blanks) > 0 {
		yield(word, nil)
	}
}

// first returns the first grapheme cluster of a text.
func first(s string) string {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1]
	}
	g := graphemes.FromString(s)
	g.Next()
	return g.Value()
}

// No row begins with a closing sign or ends with an opening one.
const (
	closing = ",.!?:;)]}'\"%、。，．！？：；）］｝」』】》〉”’…ー々"
	opening = "([{'\"（［｛「『【《〈“‘"
)

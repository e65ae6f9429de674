// Package terminal makes text of any origin fit to be written to a terminal.
//
//	fmt.Fprintln(terminal.NewWriter(os.Stderr), untrusted)
package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns running text as a terminal may get it. Tabs and line ends stay. Other
// control characters become pictures of themselves, and those that turn the direction
// of writing are replaced: the text can neither drive the terminal nor look like
// other text than it is.
func Text(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, drives) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case !drives(r):
			return r
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		}
		return utf8.RuneError
	}, s)
}

// drives reports whether a terminal does something else with a character than to
// show it. White space of a line and line ends are fine.
func drives(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, 0x7f <= r && r <= 0x9f: // C0, DEL, C1
		return true
	}
	return turns(r)
}

// turns reports whether a character controls the direction of writing.
func turns(r rune) bool {
	return r == 0x200e || r == 0x200f || r == 0x061c || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

const (
	manySpaces = 16 // in a row are counted
	manyMarks  = 2  // combining marks on one letter are shown as escapes

	joiner     = 0x200d // between emoji it makes one of them
	emojiStyle = 0xfe0f // after an emoji it says that it is coloured
)

// Visible returns a line of a question: every character that a person cannot see, or
// cannot tell from a blank, is an escape such as \u{200b}, and long rows of blanks are
// counted. Line ends are escapes too.
func Visible(s string) string {
	var b strings.Builder
	spaces, marks, emoji := 0, manyMarks, false
	flush := func() {
		if spaces > manySpaces {
			fmt.Fprintf(&b, " [%d blanks] ", spaces)
		} else {
			b.WriteString(strings.Repeat(" ", spaces))
		}
		spaces = 0
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == ' ':
			spaces, marks, emoji = spaces+1, manyMarks, false
			i += n
			continue
		case r == utf8.RuneError && n == 1:
			flush()
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case (r == joiner || r == emojiStyle) && emoji:
			b.WriteRune(r)
			i += n
			continue
		case unicode.In(r, unicode.Mn, unicode.Me) && !unseen(r) && marks < manyMarks:
			marks++
			b.WriteRune(r)
		case unseen(r) || unicode.In(r, unicode.Mn, unicode.Me):
			flush()
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			flush()
			if marks = manyMarks; unicode.IsLetter(r) {
				marks = 0
			}
			b.WriteRune(r)
		}
		emoji = unicode.In(r, unicode.So, unicode.Sk)
		i += n
	}
	if spaces > 0 && spaces <= manySpaces { // at the end of a line no one sees them
		b.WriteString(strings.Repeat(`\u{20}`, spaces))
		spaces = 0
	}
	flush()
	return b.String()
}

// blanks are characters that show nothing though their categories do not say so:
// fillers, joiners and selectors.
var blanks = &unicode.RangeTable{
	R16: []unicode.Range16{{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1}, {0xfe00, 0xfe0f, 1}, {0xffa0, 0xffa0, 1}, {0xfffc, 0xfffc, 1}},
	R32: []unicode.Range32{{0x1d159, 0x1d159, 1}, {0xe0100, 0xe01ef, 1}},
}

// unseen reports whether a person sees nothing, or only a blank, of a character.
func unseen(r rune) bool {
	return !unicode.IsPrint(r) || unicode.Is(blanks, r)
}

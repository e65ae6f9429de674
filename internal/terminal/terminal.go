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
// control characters become pictures of themselves. Those that turn the direction of writing
// are replaced, and so are those that nobody sees: the text can neither drive the terminal
// nor look like other text than it is.
func Text(s string) string {
	s, _ = after(' ', s)
	return s
}

// after returns [Text] of a text that comes after a character, and its last character.
func after(last rune, s string) (string, rune) {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return drives(r) || hides(r) }) {
		if r, n := utf8.DecodeLastRuneInString(s); n > 0 {
			last = r
		}
		return s, last
	}
	shown := strings.Map(func(r rune) rune {
		before := last
		last = r
		switch {
		case r == '\r':
			last = before
			return -1
		case hides(r) && !belongs(before, r):
			return utf8.RuneError
		case !drives(r):
			return r
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		}
		return utf8.RuneError
	}, s)
	return shown, last
}

// placeOfPicture is the letter in whose places some terminals show pictures, also those of other
// programs.
const placeOfPicture = 0x10eeee

// drives reports whether a terminal does something else with a character than to
// show it. White space of a line and line ends are fine.
func drives(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, 0x7f <= r && r <= 0x9f, r == placeOfPicture: // C0, DEL, C1
		return true
	}
	return turns(r)
}

// hides reports whether nobody sees a character. Those that may be within words or
// pictures are among them: see belongs.
func hides(r rune) bool {
	switch {
	case r < 0xad || r == 0x2800: // an empty pattern of Braille is like a blank
		return false
	case unicode.Is(blanks, r):
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// joined are scripts whose letters take another form next to a joiner or non-joiner.
var joined = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// belongs reports whether a character that nobody sees changes the look of the one before
// it.
func belongs(before, r rune) bool {
	switch r {
	case textStyle, emojiStyle:
		return unicode.IsPrint(before) && !unicode.IsSpace(before) && !unicode.Is(blanks, before)
	case joiner:
		return before == emojiStyle || isPicture(before) || unicode.In(before, joined...)
	case nonJoiner:
		return unicode.In(before, joined...)
	}
	return false
}

// turns reports whether a character controls the direction of writing.
func turns(r rune) bool {
	return r == 0x200e || r == 0x200f || r == 0x061c || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

const (
	manySpaces = 16 // in a row are counted
	manyMarks  = 2  // combining marks on one letter are shown as escapes

	nonJoiner  = 0x200c // in some scripts it separates letters
	joiner     = 0x200d // between emoji it makes one of them
	textStyle  = 0xfe0e // after an emoji it says that it is a sign of text
	emojiStyle = 0xfe0f // after an emoji it says that it is coloured
)

// Visible returns a line of a question: every character that a person cannot see, or
// cannot tell from a blank, is an escape such as \u{200b}, and long rows of blanks are
// counted. Line ends are escapes too.
func Visible(s string) string {
	var b strings.Builder
	for _, p := range Pieces(s) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// A Piece is a part of a line that [Visible] returns.
type Piece struct {
	Text    string
	Strange bool // to be marked: letters and signs outside ASCII, which look like others, and escapes
}

// Pieces returns a line as [Visible] does, with what a person should look at twice apart.
func Pieces(s string) []Piece {
	var out []Piece
	var piece strings.Builder
	isStrange := false // piece is
	end := func() {
		if piece.Len() > 0 {
			out = append(out, Piece{piece.String(), isStrange})
			piece.Reset()
		}
	}
	add := func(strange bool, text string) {
		if strange != isStrange && text != "" {
			end()
			isStrange = strange
		}
		piece.WriteString(text)
	}
	spaces, marks, emoji := 0, manyMarks, false
	flush := func() {
		if spaces > manySpaces {
			add(true, fmt.Sprintf(" [%d blanks] ", spaces))
		} else {
			add(false, strings.Repeat(" ", spaces))
		}
		spaces = 0
	}
	from := 0 // a run of ASCII
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if ' ' < r && r < 0x7f {
			flush()
			for from = i; i < len(s) && ' ' < s[i] && s[i] < 0x7f; i++ {
			}
			add(false, s[from:i])
			if marks, emoji = manyMarks, false; unicode.IsLetter(rune(s[i-1])) {
				marks = 0
			}
			continue
		}
		switch {
		case r == ' ':
			spaces, marks, emoji = spaces+1, manyMarks, false
			i += n
			continue
		case r == utf8.RuneError && n == 1:
			flush()
			add(true, fmt.Sprintf(`\x%02x`, s[i]))
		case (r == joiner || r == emojiStyle) && emoji:
			add(true, s[i:i+n])
			i += n
			continue
		case unicode.In(r, unicode.Mn, unicode.Me) && !unseen(r) && marks < manyMarks:
			marks++
			add(true, s[i:i+n])
		case unseen(r) || unicode.In(r, unicode.Mn, unicode.Me):
			flush()
			add(true, fmt.Sprintf(`\u{%x}`, r))
		default:
			flush()
			add(true, s[i:i+n])
			if marks = manyMarks; unicode.IsLetter(r) {
				marks = 0
			}
		}
		emoji = isPicture(r)
		i += n
	}
	if spaces > 0 && spaces <= manySpaces { // at the end of a line no one sees them
		add(true, strings.Repeat(`\u{20}`, spaces))
		spaces = 0
	}
	flush()
	end()
	return out
}

// isPicture reports whether a character may be an emoji.
func isPicture(r rune) bool {
	return r != utf8.RuneError && unicode.In(r, unicode.So, unicode.Sk)
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

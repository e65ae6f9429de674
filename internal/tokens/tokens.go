// Package tokens estimates how many tokens texts count for models, where no provider has
// counted them.
package tokens

import (
	"math/bits"
	"unicode/utf8"
)

// Count returns about how many tokens a text counts: words of up to eight letters
// are one, digits go by three, punctuation by two, other scripts by what their
// letters take with today's tokenizers. It is what is shown where no provider has
// counted; docs/cost.md says how far off it is.
func Count[T ~string | ~[]byte](s T) int {
	twelfths, letters, digits, marks, blanks := 0, 0, 0, 0, 0
	flush := func() {
		if letters > 0 {
			twelfths += 12 + 12*((letters-1)/8)
		}
		twelfths += 12*((digits+2)/3) + 6*marks
		if blanks > 1 {
			twelfths += 12
		}
		letters, digits, marks, blanks = 0, 0, 0, 0
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := runeAt(s, i)
			if r < 0x250 && letters > 0 { // an accent in a word
				letters++
				twelfths += 4
			} else {
				flush()
				twelfths += classOf(r).about
			}
			i += size
			continue
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			if letters == 0 && (digits > 0 || marks > 0 || blanks > 1) {
				flush()
			}
			if c <= 'Z' && i > 0 && 'a' <= s[i-1] && s[i-1] <= 'z' { // camelCase, and what only looks like words
				flush()
			}
			letters++
		case '0' <= c && c <= '9':
			if digits == 0 && (letters > 0 || marks > 0 || blanks > 1) {
				flush()
			}
			digits++
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			if letters > 0 || digits > 0 || marks > 0 {
				flush()
			}
			if blanks++; c != ' ' {
				blanks++
			}
		default:
			if letters > 0 || digits > 0 || blanks > 1 {
				flush()
			}
			marks++
		}
		i++
	}
	flush()
	return (twelfths + 11) / 12
}

// AtMost returns how many tokens a text counts, on the high side: what a
// request can cost is reckoned with it. It is a third of the bytes in prose, two
// thirds of digits and punctuation, and never more than all bytes.
func AtMost[T ~string | ~[]byte](s T) int {
	const each = 0x0101010101010101
	ascii, dense, twelfths := 0, 0, 0 // dense are digits and punctuation below A
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			word := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
				uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
			if word&(0x80*each) == 0 {
				letters := (word + 0x3F*each) & (0x80 * each)              // the top bit of each byte from A on
				others := ((word ^ 0x20*each) + 0x7F*each) & (0x80 * each) // and of each that is no space
				dense += bits.OnesCount64(others &^ letters)
				ascii, i = ascii+8, i+8
				continue
			}
		}
		if c := s[i]; c < utf8.RuneSelf {
			if c < 'A' && c != ' ' {
				dense++
			}
			ascii, i = ascii+1, i+1
			continue
		}
		r, size := runeAt(s, i)
		twelfths += classOf(r).most
		i += size
	}
	return (4*(ascii+dense) + twelfths + 11) / 12
}

// runeAt returns the character at i, which is not ASCII, and its bytes. What is not
// UTF-8 is a character of one byte.
func runeAt[T ~string | ~[]byte](s T, i int) (r rune, size int) {
	c := s[i]
	switch {
	case c >= 0xF0:
		r, size = rune(c&7), 4
	case c >= 0xE0:
		r, size = rune(c&15), 3
	case c >= 0xC0:
		r, size = rune(c&31), 2
	default:
		return -1, 1
	}
	if i+size > len(s) {
		return -1, 1
	}
	for _, b := range []byte(s[i+1 : i+size]) {
		if b&0xC0 != 0x80 {
			return -1, 1
		}
		r = r<<6 | rune(b&0x3F)
	}
	return r, size
}

// A class says what the letters of a script take, in twelfths of a token.
type class struct{ about, most int }

// classOf sorts characters beyond ASCII by what tokenizers make of their script.
func classOf(r rune) class {
	switch {
	case r < 0: // no UTF-8
		return class{12, 12}
	case r < 0x250: // Latin with accents
		return class{7, 12}
	case r < 0x370: // phonetic, combining marks
		return class{14, 24}
	case r < 0x400: // Greek
		return class{7, 12}
	case r < 0x530: // Cyrillic
		return class{6, 10}
	case r < 0x590: // Armenian
		return class{14, 24}
	case r < 0x780: // Hebrew, Arabic
		return class{8, 14}
	case r < 0x900: // Thaana, N'Ko, Syriac …
		return class{18, 24}
	case r < 0xE00: // Indic scripts
		return class{10, 24}
	case r < 0xE80: // Thai
		return class{9, 18}
	case r < 0x1100: // Lao, Tibetan, Burmese, Georgian
		return class{16, 36}
	case r < 0x1200: // Hangul letters
		return class{14, 36}
	case r < 0x2000: // Ethiopic, Cherokee, Khmer, Mongolian …
		return class{22, 36}
	case r < 0x2070: // dashes, quotes
		return class{10, 14}
	case r < 0x2E80: // symbols, arrows, boxes
		return class{14, 30}
	case r < 0x3000: // radicals
		return class{24, 36}
	case r < 0x3040: // CJK punctuation
		return class{11, 16}
	case r < 0x3100: // kana
		return class{10, 18}
	case r < 0x4E00: // rare Han
		return class{24, 36}
	case r < 0xA000: // Han
		return class{13, 20}
	case r < 0xAC00: // Yi, Vai …
		return class{30, 36}
	case r < 0xD7B0: // Hangul
		return class{13, 24}
	case r >= 0xFF00 && r < 0xFFF0: // full width
		return class{12, 18}
	case r < 0x10000:
		return class{24, 36}
	case r >= 0x1F000 && r < 0x1FB00: // pictographs
		return class{26, 40}
	}
	return class{36, 48}
}

// ClaudeTools is the estimated overhead of Claude models once a request has tools, beside
// their descriptions; before version 4.5 it was 170 less.
const ClaudeTools = 490

// Image is the most that an image of 1568 pixels a side counts for.
const Image = 1600

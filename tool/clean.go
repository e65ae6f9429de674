package tool

import (
	"strings"
	"unicode/utf8"
)

// Clean returns s as a model can take it: without NUL bytes and terminal escape
// sequences (ECMA-48), and with U+FFFD for what is not UTF-8.
func Clean(s string) string {
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, '\x1b') < 0 &&
		!strings.Contains(s, "\u009b") && !strings.Contains(s, "\u009d") && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch r {
		case 0:
		case '\x1b', '\u009b', '\u009d':
			n = max(n, escape(s[i:], r, n))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// maxEscape bounds the text inside of an escape sequence, so that one that does
// not end swallows nothing.
const maxEscape = 4096

// escape returns the length of the escape sequence that s begins with; its
// first rune is r, of n bytes. What does not end is the introducer alone.
func escape(s string, r rune, n int) int {
	kind := byte('[')
	switch {
	case r == '\u009d':
		kind = ']'
	case r == '\x1b':
		if len(s) < 2 {
			return n
		}
		kind = s[1]
		n = 2
	}
	switch {
	case kind == '[': // parameters, intermediates, a final byte
		i := n
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		return n
	case strings.IndexByte("]PX^_", kind) >= 0: // a string, ended by BEL or ST
		rest := s[n:min(len(s), n+maxEscape)]
		for i := range len(rest) {
			switch {
			case rest[i] == '\a':
				return n + i + 1
			case rest[i] == '\x1b' && i+1 < len(rest) && rest[i+1] == '\\':
				return n + i + 2
			case rest[i] == '\n':
				return n
			}
		}
		return n
	case kind >= 0x20 && kind <= 0x2f: // intermediates, a final byte
		i := 2
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			return i + 1
		}
		return 1
	case kind >= 0x30 && kind <= 0x7e:
		return 2
	}
	return 1
}

package text

import (
	"strings"
	"unicode/utf8"
)

// Clean returns s in a form that a model can read: without terminal escape sequences
// (ECMA-48) and control characters that move a terminal, and with U+FFFD for invalid UTF-8.
// A backspace removes the character before it, as in manual pages.
func Clean(s string) string {
	if !controls(s) && utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\b':
			if last, size := utf8.DecodeLastRune(b); size > 0 && last != '\n' && last != '\t' {
				b = b[:len(b)-size]
			}
		case r == '\x1b' || 0x80 <= r && r <= 0x9f:
			n = max(n, escape(s[i:], r, n))
		case r < utf8.RuneSelf && moves(byte(r)):
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
	}
	return string(b)
}

// moves reports whether an ASCII character does something to a terminal other than
// white space. Separators (0x1c to 0x1f) do nothing, and data may hold them.
func moves(c byte) bool { return c < '\t' || '\r' < c && c <= '\x1b' || c == 0x7f }

// controls reports whether s holds characters that Clean removes.
func controls(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && moves(c) || c == 0x7f || c == 0xc2 && i+1 < len(s) && 0x80 <= s[i+1] && s[i+1] <= 0x9f {
			return true
		}
	}
	return false
}

// maxEscape bounds the text inside of an escape sequence, so that one that does
// not end swallows nothing.
const maxEscape = 4096

// escape returns the length of the escape sequence that s begins with; its first rune is r,
// of n bytes. For a sequence without an end it is the length of the introducer.
func escape(s string, r rune, n int) int {
	kind := byte(r - 0x40) // an 8-bit control stands for ESC and this character
	if r == '\x1b' {
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
			case strings.HasPrefix(rest[i:], "\u009c"):
				return n + i + len("\u009c")
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
		return n
	}
	return 1
}

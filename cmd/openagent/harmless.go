package main

import (
	"strings"
	"unicode/utf8"
)

// harmless returns text of any origin as a terminal may get it: tabs and line
// ends stay, other control characters become pictures of themselves, and what
// turns the direction of writing is replaced, so that the text can neither
// drive the terminal nor look like other text than it is.
func harmless(s string) string {
	if !strings.ContainsFunc(s, isHarmful) && utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case !isHarmful(r):
			return r
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		}
		return utf8.RuneError
	}, s)
}

func isHarmful(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, 0x7f <= r && r <= 0x9f: // C0, DEL, C1
		return true
	case r == 0x200e || r == 0x200f || r == 0x061c, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069: // bidi controls
		return true
	}
	return false
}

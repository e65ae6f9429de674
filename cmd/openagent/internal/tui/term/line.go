package term

import (
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
)

// change writes the line that replaces old on the row of the cursor, or only the part of it
// that differs.
//
// A part is written only where the terminal cannot think differently about widths: behind
// ASCII characters, and before text that stays if both parts are equally wide in every
// terminal. If behind is true, the cursor is behind the line then.
func change(b []byte, old, line string) (out []byte, behind bool) {
	whole := len("\r"+eraseEnd) + len(line)
	at, cells := samePrefix(old, line)
	end, oldEnd := len(line), len(old)
	if e, o, ok := sameSuffix(old, line, at); ok {
		end, oldEnd = e, o
	}
	style := styles(line[:at])
	part, replaced := line[at:end], old[at:oldEnd]
	if at == 0 && end == len(line) || len(style)+len(part)+12 > whole {
		b = append(b, '\r')
		b = append(b, eraseEnd...)
		b = append(b, line...)
		return settle(b, line), true
	}
	b = cursor(append(b, '\r'), cells, 'C')
	if end == len(line) && frame.Width(replaced) > 0 && (!ascii(part) || !ascii(replaced) || frame.Width(part) < frame.Width(replaced)) {
		b = append(b, eraseEnd...)
	}
	b = append(b, style...)
	b = append(b, part...)
	return settle(b, line[:end]), end == len(line)
}

// samePrefix returns how many bytes at the beginning of two lines are the same, and the
// cells they take. They are ASCII characters and whole sequences, and what follows does not
// combine with them.
func samePrefix(old, line string) (n, cells int) {
	last, lastCells := 0, 0 // before the last character
	i := 0
	for i < len(old) && i < len(line) && old[i] == line[i] && line[i] < utf8.RuneSelf {
		if line[i] == 0x1b {
			size := sequence(line[i:])
			if !strings.HasPrefix(old[i:], line[i:i+size]) {
				break
			}
			i += size
			continue
		}
		last, lastCells = i, cells
		i, cells = i+1, cells+1
	}
	for _, s := range []string{old[i:], line[i:]} {
		if s = s[sequences(s):]; s != "" && s[0] >= utf8.RuneSelf {
			return last, lastCells
		}
	}
	return i, cells
}

// sameSuffix returns where the part of each line ends that differs after byte from, if the
// rest looks the same and stays in its place.
func sameSuffix(old, line string, from int) (end, oldEnd int, ok bool) {
	n := 0
	for n < len(line)-from && n < len(old)-from && line[len(line)-1-n] == old[len(old)-1-n] {
		n++
	}
	for i := from; i < len(line); {
		if line[i] == 0x1b {
			i += sequence(line[i:])
			continue
		}
		o := len(old) - len(line) + i
		if i >= len(line)-n && line[i] < utf8.RuneSelf && starts(old, o, from) && styles(line[:i]) == styles(old[:o]) {
			return i, o, sameWidth(line[from:i], old[from:o])
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		i += size
	}
	return 0, 0, false
}

// starts reports whether a character, and not the inside of a sequence, is at a byte of a
// line.
func starts(line string, at, from int) bool {
	i := from
	for i < at {
		if line[i] == 0x1b {
			i += sequence(line[i:])
			continue
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		i += size
	}
	return i == at
}

// boundary returns the last place at or before a byte of a line that is not inside of a
// character or a sequence.
func boundary(line string, at int) int {
	i := 0
	for i < len(line) {
		size := 1
		if line[i] == 0x1b {
			size = sequence(line[i:])
		} else {
			_, size = utf8.DecodeRuneInString(line[i:])
		}
		if i+size > at {
			break
		}
		i += size
	}
	return i
}

// sameWidth reports whether two texts take the same cells, both in terminals where
// ambiguous characters are narrow and where they are wide.
func sameWidth(a, b string) bool {
	return frame.Width(a) == frame.Width(b) && frame.WidthEastAsian(a) == frame.WidthEastAsian(b)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// styles returns the sequences that are in force at the end of a text: those since the last
// one that resets all.
func styles(s string) string {
	var on []byte
	for {
		i := strings.IndexByte(s, 0x1b)
		if i < 0 {
			return string(on)
		}
		s = s[i:]
		n := sequence(s)
		switch seq := s[:n]; {
		case seq == reset || seq == "\x1b[0m":
			on = on[:0]
		default:
			on = append(on, seq...)
		}
		s = s[n:]
	}
}

// sequences returns the length of the sequences at the beginning of a text.
func sequences(s string) int {
	i := 0
	for i < len(s) && s[i] == 0x1b {
		i += sequence(s[i:])
	}
	return i
}

// sequence returns the length of the SGR sequence at the beginning of a text, and 1 if there
// is none.
func sequence(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case '0' <= c && c <= '9' || c == ';' || c == ':':
		default:
			return 1
		}
	}
	return 1
}

// sanitized returns lines without control characters other than those of SGR sequences. It
// is the last guard: the text in a frame is sanitised before.
func sanitized(lines []string) []string {
	for i, l := range lines {
		if clean(l) {
			continue
		}
		out := append([]string(nil), lines...)
		for j := i; j < len(out); j++ {
			out[j] = sanitizedLine(out[j])
		}
		return out
	}
	return lines
}

func clean(line string) bool {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case 0x20 <= c && c < 0x7f:
			i++
		case c == 0x1b:
			n := sequence(line[i:])
			if n == 1 {
				return false
			}
			i += n
		case c < utf8.RuneSelf:
			return false
		default:
			r, n := utf8.DecodeRuneInString(line[i:])
			if r == utf8.RuneError && n == 1 || r < 0xa0 {
				return false
			}
			i += n
		}
	}
	return true
}

func sanitizedLine(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		if n := sequence(line[i:]); line[i] == 0x1b && n > 1 {
			b.WriteString(line[i : i+n])
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		if r < 0x20 || 0x7f <= r && r < 0xa0 {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

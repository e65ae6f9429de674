package claudecode

import "strings"

// original returns the text of a file before a change, from its text after it and all parts of the
// change. It returns false if they do not fit together.
func original(now string, parts []Hunk) (string, bool) {
	lines := strings.SplitAfter(now, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	at := 0 // lines that have been read
	for _, h := range parts {
		start := h.NewStart - 1
		if h.NewLines == 0 {
			start = h.NewStart // it follows that line
		}
		if start < at || start > len(lines) {
			return "", false
		}
		for _, l := range lines[at:start] {
			b.WriteString(l)
		}
		at = start
		for i, l := range h.Lines {
			if l == "" {
				return "", false
			}
			text := l[1:] + "\n"
			if i+1 < len(h.Lines) && strings.HasPrefix(h.Lines[i+1], `\`) {
				text = l[1:] // the file ends without a line end
			}
			switch l[0] {
			case ' ', '+':
				if at == len(lines) || lines[at] != text {
					return "", false
				}
				at++
			}
			if l[0] == ' ' || l[0] == '-' {
				b.WriteString(text)
			}
		}
	}
	for _, l := range lines[at:] {
		b.WriteString(l)
	}
	return b.String(), true
}

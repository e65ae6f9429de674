package cli

import (
	"strings"
	"unicode/utf8"
)

// wrap breaks the lines of a help page that are longer than width. What follows a break stands
// below the text of its line, so that columns stay columns.
func wrap(page string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		line, end := strings.CutSuffix(line, "\n")
		wrapLine(&b, line, width)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func wrapLine(b *strings.Builder, line string, width int) {
	if utf8.RuneCountInString(line) <= width {
		b.WriteString(line)
		return
	}
	indent := hang(line)
	switch text := strings.TrimLeft(line, " "); {
	case len(line)-len(text) > width/2:
		indent = width / 4
		line = strings.Repeat(" ", indent) + text
	case indent > width/2:
		indent = len(line) - len(text) + 2
	}
	for first := true; utf8.RuneCountInString(line) > width; first = false {
		from := 0
		if !first {
			from = indent
		}
		at := breakAt(line, from, width, width-indent)
		if at < 0 {
			break
		}
		b.WriteString(strings.TrimRight(line[:at], " "))
		b.WriteByte('\n')
		line = strings.Repeat(" ", indent) + strings.TrimLeft(line[at:], " ")
	}
	b.WriteString(line)
}

// hang returns the column of a line's text: after the last gap of two spaces, or else after its
// indent.
func hang(line string) int {
	text := strings.TrimLeft(line, " ")
	column := len(line) - len(text)
	for _, gap := range []string{"   ", "  "} {
		if i := strings.LastIndex(text, gap); i >= 0 {
			return utf8.RuneCountInString(line[:column+i]) + len(gap)
		}
	}
	return column
}

// breakAt returns where to break a line, so that the part before has at most width characters:
// at a space behind from, or after a bar between choices that do not fit on a line of their own,
// which has most characters. -1: nowhere.
func breakAt(line string, from, width, most int) int {
	space, bar, column := -1, -1, 0
	text := from + len(line[from:]) - len(strings.TrimLeft(line[from:], " "))
	for i, r := range line {
		if column > width {
			break
		}
		switch {
		case i <= text:
		case r == ' ':
			space = i
		case r == '|' && column < width:
			bar = i + 1
		}
		column++
	}
	if bar > space {
		word, _, _ := strings.Cut(line[space+1:], " ")
		if space < 0 || utf8.RuneCountInString(word) > most {
			return bar
		}
	}
	return space
}

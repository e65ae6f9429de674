package markdown

import "strings"

// finished returns a text that is being written as if its writer had ended what is open in it:
// strong text, code and the like. So marks do not show up for a moment before they become
// something else. The last line begins at a byte of the text; before it only marks are read.
func finished(before, last string) string {
	last = strings.TrimRight(last, "*_~`")
	if strings.TrimSpace(last) == "" {
		return last
	}
	s := before + last
	var open []string
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			i += 2
		case '`':
			n := run(s[i:], '`')
			mark := s[i : i+n]
			end := codeEnd(s[i+n:], n)
			if end < 0 {
				return last + mark + closers(open)
			}
			i += n + end
		case '*', '_', '~':
			n := run(s[i:], c)
			mark := s[i : i+n]
			i += n
			if n > 2 || c == '~' && n == 1 {
				continue
			}
			after, behind := i < len(s) && !isBlank(s[i]), i-n > 0 && !isBlank(s[i-n-1])
			word := i-n > 0 && isWord(s[i-n-1])
			switch {
			case behind && len(open) > 0 && open[len(open)-1] == mark:
				open = open[:len(open)-1]
			case after && (!word || n == 2 && c == '*'):
				open = append(open, mark)
			}
		default:
			i++
		}
	}
	return last + closers(open)
}

// closers returns the marks that end what is open.
func closers(open []string) string {
	var b strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i])
	}
	return b.String()
}

// codeEnd returns where code ends that is in so many backticks, or -1.
func codeEnd(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		m := run(s[i:], '`')
		if i += m; m == n {
			return i
		}
	}
	return -1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// Package difftext draws unified diffs as rows of a terminal: with the numbers of lines, and
// with the words marked that differ.
//
//	rows := difftext.Rows(diff, difftext.Options{Width: 100, Exact: true})
package difftext

import (
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/internal/terminal"
)

// Options say how a diff is drawn.
type Options struct {
	Width int  // longer lines are broken; 0: the terminal breaks them
	Exact bool // as in a question: what nobody sees is an escape, and what may look like another letter is underlined
	Mask  func(string) string
}

// Count returns how many lines a diff adds and removes.
func Count(diff string) (added, removed int) {
	for _, l := range parse(diff) {
		switch l.kind {
		case plus:
			added++
		case minus:
			removed++
		}
	}
	return added, removed
}

// Rows draws a diff. Text that is no diff is drawn as it is. The names of the files are shown
// if there are several.
func Rows(diff string, o Options) []styled.Row {
	lines := parse(diff)
	files, digits := 0, 1
	for i := range lines {
		l := &lines[i]
		l.show(o)
		digits = max(digits, len(strconv.Itoa(l.number)))
		if l.kind == file {
			files++
		}
	}
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && lines[j].kind == minus {
			j++
		}
		k := j
		for k < len(lines) && lines[k].kind == plus {
			k++
		}
		if j > i && k > j {
			markWords(lines[i:j], lines[j:k])
		}
		i = max(k, i+1)
	}
	var out []styled.Row
	for i, l := range lines {
		switch l.kind {
		case file:
			if files > 1 {
				if len(out) > 0 {
					out = append(out, nil)
				}
				out = append(out, o.broken(l.row(styled.Heading, styled.Heading), nil)...)
			}
			continue
		case hunk:
			if i > 0 && lines[i-1].kind != file {
				out = append(out, styled.Row{{Kind: styled.Dim, Text: strings.Repeat(" ", digits) + " ⋯"}})
			}
			continue
		case other:
			out = append(out, o.broken(l.row(styled.Dim, styled.Dim), nil)...)
			continue
		}
		number, text, word, sign := styled.Dim, styled.Plain, styled.Plain, "   "
		switch l.kind {
		case plus:
			number, text, word, sign = styled.Added, styled.Added, styled.AddedWord, " + "
		case minus:
			number, text, word, sign = styled.Removed, styled.Removed, styled.RemovedWord, " - "
		}
		head := strconv.Itoa(l.number)
		head = strings.Repeat(" ", digits-len(head)) + head + sign
		row := styled.Join(styled.Row{{Kind: number, Text: head}}, l.row(text, word))
		out = append(out, o.broken(row, styled.Row{{Kind: number, Text: strings.Repeat(" ", len(head))}})...)
	}
	return out
}

func (o Options) broken(r, rest styled.Row) []styled.Row {
	if o.Width <= 0 {
		return []styled.Row{r}
	}
	return r.Break(max(o.Width, rest.Width()+4), rest)
}

// kind says what a line of a diff is.
type kind byte

const (
	other kind = iota // such as the note that the last line has no end
	file
	hunk
	same
	plus
	minus
)

// A line of a diff.
type line struct {
	kind    kind
	number  int    // in the new file, or in the old one for a line that was removed
	text    string // as it is shown
	strange []bool // by byte of text; nil: none is
	words   []bool // by byte of text: it differs; nil: none does
}

// parse reads a unified diff. Lines beyond the numbers of their hunk are other text.
func parse(diff string) []line {
	var out []line
	var old, new int         // of the next line
	var oldLeft, newLeft int // of the hunk
	for text := range strings.Lines(diff) {
		text = strings.TrimRight(text, "\r\n")
		switch {
		case oldLeft > 0 && strings.HasPrefix(text, "-"):
			out = append(out, line{kind: minus, number: old, text: text[1:]})
			old, oldLeft = old+1, oldLeft-1
		case newLeft > 0 && strings.HasPrefix(text, "+"):
			out = append(out, line{kind: plus, number: new, text: text[1:]})
			new, newLeft = new+1, newLeft-1
		case oldLeft > 0 && newLeft > 0 && (text == "" || text[0] == ' '):
			out = append(out, line{kind: same, number: new, text: strings.TrimPrefix(text, " ")})
			old, oldLeft, new, newLeft = old+1, oldLeft-1, new+1, newLeft-1
		case strings.HasPrefix(text, "@@ "):
			var ok bool
			if old, oldLeft, new, newLeft, ok = hunkHead(text); ok {
				out = append(out, line{kind: hunk, text: text})
			} else {
				out = append(out, line{text: text})
			}
		case strings.HasPrefix(text, "--- ") && oldLeft+newLeft == 0:
			out = append(out, line{kind: file, text: strings.TrimPrefix(text, "--- ")})
		case strings.HasPrefix(text, "+++ ") && len(out) > 0 && out[len(out)-1].kind == file:
			if name := strings.TrimPrefix(text, "+++ "); name != "/dev/null" {
				out[len(out)-1].text = name
			}
		default:
			out = append(out, line{text: text})
		}
	}
	return out
}

// hunkHead reads the numbers of a hunk: @@ -1,2 +3,4 @@.
func hunkHead(s string) (old, olds, new, news int, ok bool) {
	f := strings.Fields(s)
	if len(f) < 4 || f[3] != "@@" || !strings.HasPrefix(f[1], "-") || !strings.HasPrefix(f[2], "+") {
		return 0, 0, 0, 0, false
	}
	old, olds, ok1 := span(f[1][1:])
	new, news, ok2 := span(f[2][1:])
	return old, olds, new, news, ok1 && ok2
}

func span(s string) (start, count int, ok bool) {
	first, rest, some := strings.Cut(s, ",")
	start, err := strconv.Atoi(first)
	if count = 1; err == nil && some {
		count, err = strconv.Atoi(rest)
	}
	const most = 1 << 30
	return start, count, err == nil && 0 <= start && start < most && 0 <= count && count < most
}

const tabWidth = 4

// show makes the text of a line fit for a terminal.
func (l *line) show(o Options) {
	if o.Mask != nil {
		l.text = o.Mask(l.text)
	}
	if !o.Exact {
		l.text = styled.Verbatim(styled.Plain, l.text).Text()
		return
	}
	code := strings.TrimLeft(l.text, "\t")
	pieces := terminal.Pieces(code)
	indent := tabWidth * (len(l.text) - len(code))
	var text strings.Builder
	text.WriteString(strings.Repeat(" ", indent))
	for _, p := range pieces {
		text.WriteString(p.Text)
	}
	l.text = text.String()
	if !slices.ContainsFunc(pieces, func(p terminal.Piece) bool { return p.Strange }) {
		return
	}
	l.strange = make([]bool, indent, len(l.text))
	for _, p := range pieces {
		l.strange = append(l.strange, slices.Repeat([]bool{p.Strange}, len(p.Text))...)
	}
}

// row returns the text of a line, with its words that differ in another kind.
func (l *line) row(text, word styled.Kind) styled.Row {
	if l.text == "" {
		return nil
	}
	at := func(marks []bool, i int) bool { return marks != nil && marks[i] }
	var out styled.Row
	for i := 0; i < len(l.text); {
		j := i + 1
		for j < len(l.text) && at(l.strange, j) == at(l.strange, i) && at(l.words, j) == at(l.words, i) {
			j++
		}
		s := styled.Span{Kind: text, Text: l.text[i:j]}
		if at(l.words, i) {
			s.Kind = word
		}
		if at(l.strange, i) {
			s.Attr = styled.Underlined
		}
		out = append(out, s)
		i = j
	}
	return out
}

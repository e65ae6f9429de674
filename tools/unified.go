package tools

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// contextLines is how many unchanged lines a diff shows around a change.
const contextLines = 3

// A unified writes the unified diff of changes to a text, in one pass for any number of
// changes. Beyond maxDiff it only counts.
type unified struct {
	text string
	at   int // how far the text has been compared: the start of a line
	// line and newLine are the numbers, from 0, of the line at at, before and after.
	line, newLine int

	out            strings.Builder // whole hunks
	hunk           strings.Builder // the lines of the open one
	open           bool
	from, to       int // where the open hunk begins
	lines, toLines int // of the open hunk

	added, deleted int
}

// unify returns the unified diff of edits, without the names of the files, and the numbers
// of added and deleted lines. The edits are in order and do not overlap.
func unify(text string, edits []udiff.Edit) *unified {
	u := &unified{text: text}
	for len(edits) > 0 {
		n := 1 // edits of the same lines
		for n < len(edits) && strings.IndexByte(text[edits[n-1].End:edits[n].Start], '\n') < 0 {
			n++
		}
		u.change(wholeLines(text, edits[:n]))
		edits = edits[n:]
	}
	u.close()
	return u
}

// wholeLines makes one edit of several of the same lines: of whole lines.
func wholeLines(text string, edits []udiff.Edit) udiff.Edit {
	start := strings.LastIndexByte(text[:edits[0].Start], '\n') + 1
	end := start
	var b strings.Builder
	for _, e := range edits {
		b.WriteString(text[end:e.Start])
		b.WriteString(e.New)
		end = e.End
	}
	if end > start && text[end-1] != '\n' || b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		rest := firstLines(text[end:], 1)
		b.WriteString(rest)
		end += len(rest)
	}
	return udiff.Edit{Start: start, End: end, New: b.String()}
}

// change takes in an edit of whole lines.
func (u *unified) change(e udiff.Edit) {
	between := u.text[u.at:e.Start]
	gap := strings.Count(between, "\n")
	if u.open && gap > 2*contextLines {
		u.close()
	}
	u.line += gap
	u.newLine += gap
	if !u.open {
		between = lastLines(between, contextLines)
		before := strings.Count(between, "\n")
		u.open, u.from, u.to = true, u.line-before, u.newLine-before
	}
	u.keep(between)
	n := u.put('-', u.text[e.Start:e.End])
	u.lines, u.line, u.deleted = u.lines+n, u.line+n, u.deleted+n
	n = u.put('+', e.New)
	u.toLines, u.newLine, u.added = u.toLines+n, u.newLine+n, u.added+n
	u.at = e.End
}

// close ends the open hunk.
func (u *unified) close() {
	if !u.open {
		return
	}
	u.keep(firstLines(u.text[u.at:], contextLines))
	fmt.Fprintf(&u.out, "@@ -%s +%s @@\n", hunkRange(u.from, u.lines), hunkRange(u.to, u.toLines))
	u.out.WriteString(u.hunk.String())
	u.hunk.Reset()
	u.open, u.lines, u.toLines = false, 0, 0
}

// hunkRange is a range as diff -u writes it: an empty one is after the line that
// it names.
func hunkRange(first, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", first)
	case 1:
		return fmt.Sprint(first + 1)
	}
	return fmt.Sprintf("%d,%d", first+1, n)
}

// keep shows lines that stay.
func (u *unified) keep(text string) {
	n := u.put(' ', text)
	u.lines += n
	u.toLines += n
}

// put shows lines, as long as there is room, and returns how many there are.
func (u *unified) put(kind byte, text string) (n int) {
	for text != "" && u.out.Len()+u.hunk.Len() <= maxDiff {
		line := firstLines(text, 1)
		text = text[len(line):]
		n++
		u.hunk.WriteByte(kind)
		u.hunk.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			u.hunk.WriteString("\n\\ No newline at end of file\n")
		}
	}
	n += strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// firstLines returns the first n lines of s, or all of it.
func firstLines(s string, n int) string {
	end := 0
	for ; n > 0 && end < len(s); n-- {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end]
}

// lastLines returns the last n lines of s, which ends in a line break, or all of it.
func lastLines(s string, n int) string {
	start := len(s)
	for ; n > 0 && start > 0; n-- {
		start = strings.LastIndexByte(s[:start-1], '\n') + 1
	}
	return s[start:]
}

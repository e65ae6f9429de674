package tools

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
)

func TestUnified(t *testing.T) {
	for _, c := range []struct {
		text  string
		edits []udiff.Edit
		want  string
	}{
		{"", []udiff.Edit{{New: "a\n"}}, "@@ -0,0 +1 @@\n+a\n"},
		{"a\n", []udiff.Edit{{End: 2}}, "@@ -1 +0,0 @@\n-a\n"},
		{"a", []udiff.Edit{{Start: 1, End: 1, New: "\nb"}}, "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n"},
		{"ab\ncd\nef\n", []udiff.Edit{{Start: 1, End: 3}}, "@@ -1,3 +1,2 @@\n-ab\n-cd\n+acd\n ef\n"},
		{"ab\ncd\n", []udiff.Edit{{Start: 0, End: 1, New: "x"}, {Start: 1, End: 2, New: "y"}}, "@@ -1,2 +1,2 @@\n-ab\n+xy\n cd\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", []udiff.Edit{{Start: 2, End: 2, New: "x\n"}, {Start: 16, End: 17, New: "y"}},
			"@@ -1,4 +1,5 @@\n 1\n+x\n 2\n 3\n 4\n@@ -6,5 +7,5 @@\n 6\n 7\n 8\n-9\n+y\n 10\n"},
	} {
		if got := unify(c.text, c.edits).out.String(); got != c.want {
			t.Errorf("%q %v:\n%s\nwant\n%s", c.text, c.edits, got, c.want)
		}
	}
}

// A diff turns the old text into the new one, with the numbers in its headers, whatever the
// edits.
func TestUnifiedLeadsToTheText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		var b strings.Builder
		for range rnd.IntN(n) {
			b.WriteByte("ab\n\n"[rnd.IntN(4)])
		}
		return b.String()
	}
	for range 20_000 {
		text := word(60)
		var edits []udiff.Edit
		changed, end := "", 0
		for range 1 + rnd.IntN(4) {
			e := udiff.Edit{Start: end + rnd.IntN(len(text)-end+1), New: word(6)}
			e.End = min(e.Start+rnd.IntN(6), len(text))
			changed += text[end:e.Start] + e.New
			end = e.End
			edits = append(edits, e)
		}
		changed += text[end:]
		u := unify(text, edits)
		got, err := applyUnified(text, u.out.String())
		if err == nil && got != changed {
			err = fmt.Errorf("leads to %q", got)
		}
		if lines := len(splitAfter(changed)) - len(splitAfter(text)); err == nil && u.added-u.deleted != lines {
			err = fmt.Errorf("+%d -%d, but %d lines more", u.added, u.deleted, lines)
		}
		if err != nil {
			t.Fatalf("%q %v → %q: %v\n%s", text, edits, changed, err, u.out.String())
		}
	}
}

// A file full of matches takes a pass over it, not one for each of them.
func TestEditManyPlaces(t *testing.T) {
	d := newDesk(t)
	const n = 500_000
	d.put("many", strings.Repeat("ab\n", n))
	d.ok(d.read, readInput{FilePath: "many", Limit: 1})
	c := changeOf(t, d.do(d.edit, editInput{FilePath: "many", OldString: "a", NewString: "c", ReplaceAll: true}))
	if c.Replacements != n || c.Additions != n || c.Deletions != n || !c.DiffCut || len(c.Diff) > maxDiff || d.get("many") != strings.Repeat("cb\n", n) {
		t.Errorf("%d places, +%d -%d, %d bytes of diff", c.Replacements, c.Additions, c.Deletions, len(c.Diff))
	}
	d.put("line", strings.Repeat("ab", n))
	d.ok(d.read, readInput{FilePath: "line", Limit: 1})
	if c := changeOf(t, d.do(d.edit, editInput{FilePath: "line", OldString: "a", NewString: "c", ReplaceAll: true})); c.Additions != 1 || c.Deletions != 1 {
		t.Errorf("one line: +%d -%d", c.Additions, c.Deletions)
	}
}

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n$`)

// applyUnified applies a diff and checks every number and every line of it.
func applyUnified(text, diff string) (string, error) {
	old := splitAfter(text)
	var made []string
	at := 0
	lines := splitAfter(diff)
	for len(lines) > 0 {
		h := hunkHeader.FindStringSubmatch(lines[0])
		if h == nil {
			return "", fmt.Errorf("%q is no header", lines[0])
		}
		from, n := headerRange(h[1], h[2])
		to, m := headerRange(h[3], h[4])
		if from < at || from > len(old) {
			return "", fmt.Errorf("%q begins at line %d", lines[0], from)
		}
		made = append(made, old[at:from]...)
		at = from
		if len(made) != to {
			return "", fmt.Errorf("%q is at line %d of the new text", lines[0], len(made))
		}
		lines = lines[1:]
		for n > 0 || m > 0 {
			if len(lines) == 0 {
				return "", fmt.Errorf("lines are missing")
			}
			kind, line := lines[0][0], lines[0][1:]
			lines = lines[1:]
			if len(lines) > 0 && lines[0] == "\\ No newline at end of file\n" {
				line = strings.TrimSuffix(line, "\n")
				lines = lines[1:]
			}
			if kind != '+' {
				if at >= len(old) || old[at] != line {
					return "", fmt.Errorf("%q is not line %d", line, at)
				}
				at++
				n--
			}
			if kind != '-' {
				made = append(made, line)
				m--
			}
		}
	}
	return strings.Join(append(made, old[at:]...), ""), nil
}

// headerRange reads a range of a header: how many lines are before it, and its length.
func headerRange(first, count string) (before, n int) {
	before, _ = strconv.Atoi(first)
	n = 1
	if count != "" {
		n, _ = strconv.Atoi(count)
	}
	if n > 0 {
		before--
	}
	return before, n
}

func splitAfter(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

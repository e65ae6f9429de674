package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/patch"
)

const (
	// maxPatchLines is how many lines a file may have that a patch changes.
	maxPatchLines = 500_000
	// maxPatched is how many bytes the files may have together whose change is shown
	// beforehand.
	maxPatched = 256 << 20
	// maxPatchSteps bounds the comparisons of lines for one file.
	maxPatchSteps = 50_000_000
)

// applyHunks returns text with the hunks applied, and says how those were found
// that are not in it exactly. Lines that stay keep every byte.
func applyHunks(ctx context.Context, path, text string, hunks []patch.Hunk) (string, []string, error) {
	if strings.Count(text, "\n") >= maxPatchLines {
		return "", nil, fmt.Errorf("%s has more than %d lines, too many for a patch", path, maxPatchLines)
	}
	s := &hunkSearch{text: text, lines: strings.SplitAfter(text, "\n")}
	if last := len(s.lines) - 1; s.lines[last] == "" {
		s.lines = s.lines[:last]
	}
	var out, how []string
	comes := false // the last line of out is an added one
	for i, h := range hunks {
		err := ctx.Err()
		var at foundHunk
		if err == nil {
			at, err = s.find(h)
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s, hunk %d (line %d of the patch): %w", path, i+1, h.Line, err)
		}
		if at.how != "" {
			how = append(how, fmt.Sprintf("hunk %d matched uniquely %s", i+1, at.how))
		}
		if at.line > s.from {
			out, comes = append(out, s.lines[s.from:at.line]...), false
		}
		s.from = at.line
		lineEnd := s.lineEnd(at.line, len(h.Old()))
		for _, l := range h.Lines {
			if l.Op == '+' {
				out, comes = append(out, at.added[0]+lineEnd), true
				at.added = at.added[1:]
				continue
			}
			if l.Op == ' ' {
				out, comes = append(out, s.lines[s.from]), false
			}
			s.from++
		}
	}
	if s.from < len(s.lines) {
		out, comes = append(out, s.lines[s.from:]...), false
	}
	for i := range len(out) - 1 { // the file's last line may have got lines after it
		if !strings.HasSuffix(out[i], "\n") {
			out[i] += s.lineEnd(len(s.lines), 0)
		}
	}
	if last := len(out) - 1; comes && text != "" && !strings.HasSuffix(text, "\n") {
		out[last] = lineBody(out[last]) // it ends as the file did
	}
	return strings.Join(out, ""), how, nil
}

// A hunkSearch finds the places of hunks, each after the one before.
type hunkSearch struct {
	text  string
	lines []string // with their ends
	from  int      // the first line after the hunk before
	steps int
}

// A foundHunk says where a hunk applies: at a line, counted from 0, with the
// lines that it adds there.
type foundHunk struct {
	line  int
	added []string
	how   string // how it was found, "" if exactly
}

// hunkLevels are the ways in which a line of a patch may be one of the file, the
// strictest first.
var hunkLevels = []struct {
	same func(file, patch string) bool
	how  string
}{
	{func(a, b string) bool { return a == b }, ""},
	{func(a, b string) bool { return strings.TrimRight(a, " \t\r") == strings.TrimRight(b, " \t\r") }, "but for white space at the ends of lines"},
	{func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }, "but for indentation"},
}

var errPatchSteps = errors.New("the file is too large to look for the place")

func (s *hunkSearch) find(h patch.Hunk) (foundHunk, error) {
	var added []string
	for _, l := range h.Lines {
		if l.Op == '+' {
			added = append(added, l.Text)
		}
	}
	scope, err := s.scope(h.Headers)
	if err != nil {
		return foundHunk{}, err
	}
	old := h.Old()
	switch {
	case len(old) > 0:
	case h.End || len(h.Headers) == 0:
		return foundHunk{line: len(s.lines), added: added}, nil
	case len(scope.heads) > 1:
		return foundHunk{}, fmt.Errorf("its @@ line is in the file in %d places. Add lines of context to say which is meant", len(scope.heads))
	case scope.heads[0]+1 < s.from:
		return foundHunk{}, errors.New("its @@ line is above the hunk before it: put hunks in the order of the file")
	default:
		return foundHunk{line: scope.heads[0] + 1, added: added}, nil
	}
	for i, level := range hunkLevels {
		if i > 0 && strings.TrimSpace(strings.Join(old, "")) == "" {
			break
		}
		var at int
		if h.End {
			at, err = s.last(old, level.same, scope)
		} else {
			at, err = s.only(old, level.same, scope)
		}
		if err != nil {
			return foundHunk{}, err
		}
		if at < 0 {
			continue
		}
		found := foundHunk{line: at, added: added, how: level.how}
		if i == len(hunkLevels)-1 {
			var ok bool
			if found.added, ok = s.indent(at, old, added); !ok {
				break
			}
		}
		return found, nil
	}
	return foundHunk{}, s.missing(h, old, scope.from)
}

// match reports whether old stands at the line.
func (s *hunkSearch) match(line int, old []string, same func(a, b string) bool) bool {
	for i, o := range old {
		s.steps++
		if !same(lineBody(s.lines[line+i]), o) {
			return false
		}
	}
	return true
}

// only returns the one line at which old stands: in all that is left of the
// file, or else near the headers. It returns -1 where old is not there at all.
func (s *hunkSearch) only(old []string, same func(a, b string) bool, in hunkScope) (int, error) {
	at, places := -1, 0
	nearAt, near := -1, 0
	var shown []string
	next := 0 // of in.near
	for i := in.from; i+len(old) <= len(s.lines); i++ {
		if s.steps > maxPatchSteps {
			return 0, errPatchSteps
		}
		if !s.match(i, old, same) {
			continue
		}
		if places++; places == 1 {
			at = i
		}
		const most = 10
		if len(shown) < most {
			shown = append(shown, fmt.Sprint(i+1))
		} else if len(shown) == most {
			shown = append(shown, "…")
		}
		for next < len(in.near) && in.near[next].to <= i {
			next++
		}
		if next < len(in.near) && in.near[next].from <= i {
			nearAt = i
			near++
		}
	}
	switch {
	case places <= 1:
		return at, nil
	case near == 1:
		return nearAt, nil
	}
	return 0, fmt.Errorf("its lines are in the file in %d places (at lines %s). Add lines of context, or an @@ line that names the function or class around them",
		places, strings.Join(shown, ", "))
}

// last returns the line at which old stands if it ends the file, or -1.
func (s *hunkSearch) last(old []string, same func(a, b string) bool, in hunkScope) (int, error) {
	at := len(s.lines) - len(old)
	if at < in.from || !s.match(at, old, same) {
		return -1, nil
	}
	return at, nil
}

// A hunkScope is where a hunk may be: from a line on, preferably in the block of the last
// of its headers.
type hunkScope struct {
	from  int
	heads []int       // where the last header stands, ascending
	near  []lineRange // ascending, apart
}

type lineRange struct{ from, to int }

// scope finds the headers of a hunk, each below the one before it. Without
// headers nothing is nearer than the rest.
func (s *hunkSearch) scope(headers []string) (hunkScope, error) {
	in := hunkScope{from: s.from}
	for _, header := range headers {
		next, err := s.narrow(in, header)
		if err != nil {
			return in, err
		}
		if next.heads == nil {
			return in, fmt.Errorf("its line @@ %s is not in the file after line %d.%s", header[:min(len(header), maxWidth)], in.from, suggestions(s.text, header))
		}
		in = next
	}
	return in, nil
}

// narrow returns the part of in below a header; it has no heads if the header is not found.
// The strictest comparison that finds one counts. A header near the one before it is
// preferred. A header above the last hunk may be the head of both.
func (s *hunkSearch) narrow(in hunkScope, header string) (hunkScope, error) {
	first := 0
	if in.heads != nil {
		first = in.heads[0] + 1
	}
	for _, level := range hunkLevels {
		all, inside := hunkScope{}, hunkScope{}
		near := 0
		for i := first; i < len(s.lines); i++ {
			if s.steps > maxPatchSteps {
				return all, errPatchSteps
			}
			if !s.match(i, []string{header}, level.same) {
				continue
			}
			end := s.sectionEnd(i)
			if end <= s.from {
				continue
			}
			all.add(i, max(i, s.from), end)
			for near < len(in.near) && in.near[near].to <= i {
				near++
			}
			if near < len(in.near) && in.near[near].from <= i {
				inside.add(i, max(i, s.from), end)
			}
		}
		if inside.heads != nil {
			return inside, nil
		}
		if all.heads != nil {
			return all, nil
		}
	}
	return hunkScope{}, nil
}

// add adds a head, which is below those that are there.
func (in *hunkScope) add(head, from, to int) {
	in.heads = append(in.heads, head)
	n := len(in.near)
	switch {
	case n == 0:
		in.from = from
		in.near = []lineRange{{from, to}}
	case from < in.near[n-1].to:
		in.near[n-1].to = max(in.near[n-1].to, to)
	default:
		in.near = append(in.near, lineRange{from, to})
	}
}

// sectionEnd returns the end of what the line is the head of: the lines that are
// indented more, and the one after them, which may close it. A brace below the
// head opens it.
func (s *hunkSearch) sectionEnd(head int) int {
	most := len(indentOf(lineBody(s.lines[head])))
	for i := head + 1; i < len(s.lines); i++ {
		s.steps++
		line := lineBody(s.lines[i])
		if i == head+1 && strings.TrimSpace(line) == "{" {
			continue
		}
		if strings.TrimSpace(line) != "" && len(indentOf(line)) <= most {
			return i + 1
		}
	}
	return len(s.lines)
}

// indent returns the added lines indented as the file is at the line where old
// was found. ok is false where it is not plain how.
func (s *hunkSearch) indent(at int, old, added []string) (_ []string, ok bool) {
	file := make([]string, len(old))
	for i := range file {
		file[i] = lineBody(s.lines[at+i])
	}
	in, ok := indentation(old, file)
	if !ok {
		return nil, false
	}
	out := make([]string, len(added))
	for i, l := range added {
		out[i] = l
		if strings.TrimSpace(l) == "" {
			continue
		}
		before := indentOf(l)
		indent, ok := in.of(before)
		if !ok {
			return nil, false
		}
		out[i] = indent + l[len(before):]
	}
	return out, true
}

// missing says why old is nowhere that the hunk may be, which is below from.
func (s *hunkSearch) missing(h patch.Hunk, old []string, from int) error {
	if h.End {
		return fmt.Errorf("its lines are not the last of the file.%s", suggestions(s.text, strings.Join(old, "\n")))
	}
	for i := 0; i < from && i+len(old) <= len(s.lines) && s.steps <= maxPatchSteps; i++ {
		if s.match(i, old, hunkLevels[1].same) {
			return fmt.Errorf("its lines are at line %d, above its @@ line or the hunk before it: put hunks in the order of the file", i+1)
		}
	}
	return fmt.Errorf("its lines are not in the file.%s", suggestions(s.text, strings.Join(old, "\n")))
}

// lineEnd returns how lines end at the n lines from at on, or next to them.
func (s *hunkSearch) lineEnd(at, n int) string {
	for _, l := range s.lines[max(at-1, 0):min(at+n+1, len(s.lines))] {
		if strings.HasSuffix(l, "\r\n") {
			return "\r\n"
		}
		if strings.HasSuffix(l, "\n") {
			return "\n"
		}
	}
	return "\n"
}

// lineBody returns a line without its end.
func lineBody(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

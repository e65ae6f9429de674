package tools

import (
	"regexp"
	"slices"
	"strings"
)

// A span is a part of a text, in bytes.
type span struct{ start, end int }

// A match is a list of places where an edit applies, with the new texts.
type match struct {
	spans []span // ascending; may overlap
	text  string // the replacement
	how   string // in words, "" for an exact match
}

const (
	// maxSpans is how many places an edit may change.
	maxSpans = 1_000_000
	// maxSteps bounds the comparisons of lines in a tolerant search.
	maxSteps = 20_000_000
)

// find looks for old in text: as it is, then with the line ends of the file, then with
// three differences that models are known to make. Such a difference counts only if it
// gives one place, with as many lines as old, and if the meaning of new is clear there.
// Without a match spans is empty.
func find(text, old, new string) match {
	if spans := occurrences(text, old); spans != nil {
		wholeBreaks(text, spans)
		return match{spans: spans, text: lineEnds(text, spans[0], new)}
	}
	if strings.Contains(text, "\r\n") && strings.Contains(old, "\n") && !strings.Contains(old, "\r\n") {
		if spans := occurrences(text, toCRLF(old)); spans != nil {
			return match{spans: spans, text: toCRLF(new)}
		}
	}
	for _, try := range []func(text, old, new string) match{findEscaped, findTrailing, findIndented} {
		if m := try(text, old, new); len(m.spans) > 0 {
			return m
		}
	}
	return match{}
}

// wholeBreaks lets spans that begin with the LF of a CR LF begin with its CR: half
// of a line break would stay.
func wholeBreaks(text string, spans []span) {
	for i, s := range spans {
		if s.start > 0 && text[s.start-1:s.start+1] == "\r\n" {
			spans[i].start--
		}
	}
}

// lineEnds gives new the line ends of the place that it goes to, or of the file
// where that place has none.
func lineEnds(text string, at span, new string) string {
	if strings.Contains(new, "\r\n") {
		return new
	}
	place := text[at.start:at.end]
	if strings.Contains(place, "\r\n") || !strings.Contains(place, "\n") && crlf(text) {
		return toCRLF(new)
	}
	return new
}

// occurrences finds every place of old, overlapping ones too: each of them might
// be the one that is meant.
func occurrences(text, old string) []span {
	var spans []span
	for from := 0; len(spans) <= maxSpans; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		spans = append(spans, span{from + i, from + i + len(old)})
		from += i + 1
	}
	return spans
}

var escapes = regexp.MustCompile("\\\\[nrt\"'`$\\\\]")

var unescaped = map[string]string{`\n`: "\n", `\r`: "\r", `\t`: "\t", `\"`: `"`, `\'`: `'`, "\\`": "`", `\$`: "$", `\\`: `\`}

// findEscaped finds old where it was escaped once too often. The same escapes
// are undone in new. If it has others, or one of the two has what an escape
// stands for as well, it is not plain what was escaped, and nothing is found.
func findEscaped(text, old, new string) match {
	used := map[string]bool{}
	for _, e := range escapes.FindAllString(old, -1) {
		used[e] = true
	}
	bare := escapes.ReplaceAllString(old, "") + escapes.ReplaceAllString(new, "")
	for e := range used {
		if strings.Contains(bare, unescaped[e]) {
			return match{}
		}
	}
	for _, e := range escapes.FindAllString(new, -1) {
		if !used[e] {
			return match{}
		}
	}
	undo := func(s string) string {
		return escapes.ReplaceAllStringFunc(s, func(e string) string { return unescaped[e] })
	}
	spans := occurrences(text, undo(old))
	if len(used) == 0 || len(spans) != 1 {
		return match{}
	}
	return match{spans: spans, text: lineEnds(text, spans[0], undo(new)), how: "once escaped characters were taken for what they stand for"}
}

// findTrailing finds old where lines differ in the white space at their end.
func findTrailing(text, old, new string) match {
	at, ok := onlyRun(text, old, func(a, b string) bool {
		return strings.TrimRight(a, " \t\r") == strings.TrimRight(b, " \t\r")
	})
	if !ok {
		return match{}
	}
	return at.match(text, new, "but for white space at the ends of lines")
}

// findIndented finds old where the indentation of lines differs, and indents
// new as the file is.
func findIndented(text, old, new string) match {
	at, ok := onlyRun(text, old, func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) })
	if !ok {
		return match{}
	}
	indents, ok := indentation(at.old, at.lines(text))
	if !ok {
		return match{}
	}
	lines := strings.Split(new, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		rest := strings.TrimLeft(l, " \t")
		indent, ok := indents.of(l[:len(l)-len(rest)])
		if !ok {
			return match{}
		}
		lines[i] = indent + rest
	}
	return at.match(text, strings.Join(lines, "\n"), "but for indentation")
}

// A run is a run of whole lines of a text that stands for old.
type run struct {
	span
	old   []string // the lines of old
	final bool     // old ends in a line break
}

// onlyRun finds the one run of lines that are the same as those of old. White
// space alone is no match.
func onlyRun(text, old string, same func(a, b string) bool) (run, bool) {
	if strings.TrimSpace(old) == "" {
		return run{}, false
	}
	r := run{final: strings.HasSuffix(old, "\n")}
	r.old = strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	start, found, steps := 0, 0, 0
	for i := 0; i+len(r.old) <= len(lines); i++ {
		fits := true
		for j, l := range r.old {
			if steps++; steps > maxSteps {
				return run{}, false
			}
			if !same(strings.TrimSuffix(lines[i+j], "\n"), l) {
				fits = false
				break
			}
		}
		if fits {
			if found++; found > 1 {
				return run{}, false
			}
			length := 0
			for _, l := range lines[i : i+len(r.old)] {
				length += len(l)
			}
			r.span = span{start, start + length}
		}
		start += len(lines[i])
	}
	return r, found == 1
}

// lines returns the lines of the run in text.
func (r run) lines(text string) []string {
	return strings.Split(strings.TrimSuffix(text[r.start:r.end], "\n"), "\n")
}

// match puts new in the place of the run. Where old has no line break at its
// end the run's own stays, and where the file has none there, none comes.
func (r run) match(text, new, how string) match {
	found := text[r.start:r.end]
	new = lineEnds(text, r.span, new)
	body := strings.TrimSuffix(strings.TrimSuffix(found, "\n"), "\r")
	switch {
	case !r.final:
		r.end = r.start + len(body)
	case len(body) == len(found): // the file's last line
		new = strings.TrimSuffix(strings.TrimSuffix(new, "\n"), "\r")
	}
	return match{spans: []span{r.span}, text: new, how: how}
}

// indents translates indentation as the model wrote it into the file's.
type indents struct {
	pairs      map[string]string
	more, less string // the file has more before each line, or lacks less
	even       bool   // the same difference in all lines
}

// indentation compares the indentation of lines that are the same otherwise. ok
// is false if one of the model's stands for two of the file's.
func indentation(model, file []string) (indents, bool) {
	in := indents{pairs: map[string]string{}, even: true}
	first := true
	for i, m := range model {
		if strings.TrimSpace(m) == "" {
			continue
		}
		a, b := indentOf(m), indentOf(file[i])
		if was, ok := in.pairs[a]; ok && was != b {
			return in, false
		}
		in.pairs[a] = b
		more, isMore := strings.CutSuffix(b, a)
		less, isLess := strings.CutSuffix(a, b)
		switch {
		case !isMore && !isLess:
			in.even = false
		case first:
			first = false
			if isMore {
				in.more = more
			} else {
				in.less = less
			}
		case isMore && (more != in.more || in.less != "") || !isMore && (less != in.less || in.more != ""):
			in.even = false
		}
	}
	return in, true
}

func (in indents) of(indent string) (string, bool) {
	if b, ok := in.pairs[indent]; ok {
		return b, true
	}
	if !in.even {
		return "", false
	}
	rest, ok := strings.CutPrefix(indent, in.less)
	return in.more + rest, ok
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

const (
	maxRegions = 3      // places that are suggested
	maxShown   = 8      // lines of each
	maxWidth   = 200    // bytes of each line
	maxSearch  = 50_000 // lines that are searched for them
)

// asShown matches a text copied from what Read shows.
var asShown = regexp.MustCompile(`^( *[0-9]+→.*(\n|$))+$`)

// suggestions says what is wrong with old, or shows the places in text that it
// may have meant.
func suggestions(text, old string) string {
	if asShown.MatchString(old) {
		return " Leave out the line numbers and arrows that Read shows: they are not part of the file."
	}
	lines := strings.Split(text, "\n")
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	starts := regions(lines[:min(len(lines), maxSearch)], want)
	if len(starts) == 0 {
		return " Read the file again and copy the text from there."
	}
	var b strings.Builder
	b.WriteString(" The nearest places, which were not changed:")
	for _, s := range starts {
		b.WriteString("\n")
		for i := s; i < min(s+min(len(want), maxShown), len(lines)); i++ {
			line := strings.TrimSuffix(lines[i], "\r")
			b.WriteString(numbered(i+1, strings.ToValidUTF8(line[:min(len(line), maxWidth)], "")))
		}
	}
	return b.String()
}

// regions returns the lines at which the places begin that have most in common
// with want, the best first.
func regions(lines, want []string) []int {
	places := map[string][]int{}
	for i, w := range want {
		if w = strings.TrimSpace(w); len(w) > 2 {
			places[w] = append(places[w], i)
		}
	}
	score := map[int]float64{}
	for i, l := range lines {
		for _, j := range places[strings.TrimSpace(l)] {
			score[max(i-j, 0)]++
		}
	}
	if len(score) == 0 { // no line is the same: look for one that is similar
		longest := 0
		for i, w := range want {
			if len(strings.TrimSpace(w)) > len(strings.TrimSpace(want[longest])) {
				longest = i
			}
		}
		pairs := bigrams(want[longest])
		for i, l := range lines {
			if s := similarity(pairs, l); s >= 0.5 {
				score[max(i-longest, 0)] = s
			}
		}
	}
	starts := make([]int, 0, len(score))
	for s := range score {
		starts = append(starts, s)
	}
	slices.SortFunc(starts, func(a, b int) int {
		switch {
		case score[a] > score[b]:
			return -1
		case score[a] < score[b]:
			return 1
		}
		return a - b
	})
	var apart []int
	for _, s := range starts {
		near := func(other int) bool { return s < other+len(want) && other < s+len(want) }
		if len(apart) < maxRegions && !slices.ContainsFunc(apart, near) {
			apart = append(apart, s)
		}
	}
	return apart
}

// bigrams counts the pairs of neighbouring bytes in a line, white space aside.
func bigrams(line string) map[[2]byte]int {
	line = strings.Join(strings.Fields(line[:min(len(line), maxWidth)]), " ")
	pairs := make(map[[2]byte]int, len(line))
	for i := 0; i+1 < len(line); i++ {
		pairs[[2]byte{line[i], line[i+1]}]++
	}
	return pairs
}

// similarity is the Sørensen–Dice coefficient of two lines.
func similarity(pairs map[[2]byte]int, line string) float64 {
	other := bigrams(line)
	common, total := 0, 0
	for p, n := range pairs {
		common += min(n, other[p])
		total += n
	}
	for _, n := range other {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(common) / float64(total)
}

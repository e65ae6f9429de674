package grep

import (
	"bytes"
	"context"
	"io"
	"strings"
	"unicode/utf8"
)

// ClipLength is how many characters of a line are shown; of a longer one those
// around its match.
const ClipLength = 2000

// MaxContext is the largest number of context lines that can be asked for.
const MaxContext = 1000

const (
	// maxBytes bounds the text kept of the lines of a batch, even if a higher limit was
	// asked for.
	maxBytes = 1 << 20
	// maxMatches bounds the matches found in a file in multiline mode.
	maxMatches = 100_000
)

// A Want selects the results about a file.
type Want int

const (
	Whether Want = iota // whether there is a match: Count is 0 or 1
	Count               // the number of matching lines; of matches in multiline mode
	Lines               // the matching lines and their context
)

// A Line is a line of a file, valid UTF-8 without its line end.
type Line struct {
	Number int // from 1
	Text   string
	Match  bool // false for context
}

// A Report holds the results about a file.
type Report struct {
	Count int // not for Lines
	Lines []Line
	// More: there are more lines, but as many as wanted or bearable were kept.
	More bool
	// Skipped says why the file was not searched as a whole, "" if it was: it is
	// binary, too large, cannot be read, or has a line too long.
	Skipped Skip
}

// A Skip is a reason not to search all of a file.
type Skip int

const (
	Nothing    Skip = iota
	Binary          // it has a NUL byte at its beginning
	TooLarge        // for multiline mode
	Unreadable      // or gone
	LongLine        // of which only the beginning, at most 4 MB, was searched
)

// A searcher searches one file at a time.
type searcher struct {
	*Search
	ctx    context.Context
	blocks blocks
	hunt   hunt
	auto   *machine // made when it is first needed
	room   int      // lines that may still be kept; negative: any number
	bytes  int      // kept of the batch

	// Of the current file:
	report Report
	tail   []Line // the last lines before data, for context
	data   []byte // the current lines
	done   int    // data[:done] is reported or passed over
	number int    // of the line at done
	after  int    // context lines still to report
}

// file searches the text in r.
func (s *searcher) file(r io.Reader) (Report, error) {
	limit := s.Pattern.bound(maxLine)
	if s.Pattern.multiline {
		limit = s.Pattern.bound(MaxMultiline)
	}
	s.report, s.tail, s.number, s.after = Report{}, s.tail[:0], 1, 0
	err := s.blocks.reset(r, limit)
	switch {
	case err != nil:
		return Report{Skipped: Unreadable}, nil
	case s.blocks.binary:
		return Report{Skipped: Binary}, nil
	case s.Pattern.multiline:
		err = s.whole()
	default:
		err = s.pieces()
	}
	if s.ctx.Err() != nil {
		return Report{}, s.ctx.Err()
	}
	switch {
	case err != nil:
		s.report.Skipped = Unreadable
	case s.blocks.cut:
		s.report.Skipped = LongLine
	}
	return s.report, nil
}

// pieces searches line by line.
func (s *searcher) pieces() error {
	for {
		data, err := s.blocks.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.data, s.done = data, 0
		for from := 0; ; {
			start, end, err := s.nextLine(from)
			if err != nil {
				return err
			}
			if start < 0 {
				break
			}
			if from = end; s.take(start, end, -1) {
				return nil
			}
		}
		if s.finish() {
			return nil
		}
	}
}

// nextLine returns the bounds of the next line at or after from that matches,
// with its newline; -1 if there is none.
func (s *searcher) nextLine(from int) (start, end int, err error) {
	if from == 0 {
		s.hunt.start(s.Pattern.needles)
	}
	if at, ok := s.scan(from); ok {
		if at < 0 {
			return -1, 0, s.ctx.Err()
		}
		start = from + bytes.LastIndexByte(s.data[from:at], '\n') + 1
		return start, s.lineEnd(start), s.ctx.Err()
	}
	for tried := 0; from < len(s.data); tried++ {
		if tried%256 == 0 && s.ctx.Err() != nil {
			return -1, 0, s.ctx.Err()
		}
		start := from
		if s.hunt.needles != nil {
			i := s.hunt.find(s.data, from)
			if i < 0 {
				return -1, 0, nil
			}
			start = from + bytes.LastIndexByte(s.data[from:i], '\n') + 1
		}
		end = s.lineEnd(start)
		if s.Pattern.plain || s.match(s.data[start:end]) {
			return start, end, nil
		}
		from = end
	}
	return -1, 0, nil
}

// scan looks for the next line that matches by the machine alone, and returns
// a place in it; -1 if there is none. Not ok: that is not the way for this pattern.
func (s *searcher) scan(from int) (at int, ok bool) {
	if s.hunt.needles != nil {
		return -1, false
	}
	if from == len(s.data) {
		return -1, true
	}
	return s.machine().find(s.data, from)
}

// match reports whether a line matches.
func (s *searcher) match(line []byte) bool {
	if at, ok := s.machine().find(line, 0); ok {
		return at >= 0
	}
	return s.Pattern.re.Match(trimEnd(line))
}

func (s *searcher) machine() *machine {
	if s.auto == nil {
		s.auto = newMachine(s.Pattern.prog, s.Pattern.multiline)
	}
	return s.auto
}

// lineEnd returns where the line that begins at start ends, after its newline.
func (s *searcher) lineEnd(start int) int {
	if i := bytes.IndexByte(s.data[start:], '\n'); i >= 0 {
		return start + i + 1
	}
	return len(s.data)
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// whole searches the text as one.
func (s *searcher) whole() error {
	data, ok, err := s.blocks.all()
	if err != nil {
		return err
	}
	if !ok {
		s.report.Skipped = TooLarge
		return nil
	}
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	s.data, s.done = data, 0
	if s.hunt.start(s.Pattern.needles); s.hunt.needles != nil && s.hunt.find(s.data, 0) < 0 {
		return nil
	}
	if at, ok := s.machine().find(s.data, 0); ok && at < 0 {
		return nil
	}
	n := maxMatches
	if s.Want == Whether {
		n = 2 // the first may be the empty one behind the last line
	}
	full := false
	s.matches(n, func(loc []int) bool {
		if loc[0] == len(s.data) && (loc[0] == 0 || s.data[loc[0]-1] == '\n') {
			return false
		}
		if s.Want != Lines {
			s.report.Count++
			return true
		}
		full = s.span(loc)
		return !full
	})
	if full {
		return nil
	}
	if s.Want == Whether {
		s.report.Count = min(s.report.Count, 1)
	}
	s.finish()
	return nil
}

// span reports the lines of the match at loc that are not reported yet.
func (s *searcher) span(loc []int) (full bool) {
	start := bytes.LastIndexByte(s.data[:loc[0]], '\n') + 1
	for start < len(s.data) && (start < loc[1] || start <= loc[0]) {
		end := s.lineEnd(start)
		if start >= s.done && s.take(start, end, max(loc[0], start)) {
			return true
		}
		start = end
	}
	return false
}

// take reports the matching line data[start:end]; at is where the match begins,
// -1 if that is not known. full: no more is wanted of this file.
func (s *searcher) take(start, end, at int) (full bool) {
	if s.Want != Lines {
		s.report.Count++
		return s.Want == Whether
	}
	if s.follow(start) || s.lead(start) {
		return true
	}
	line := s.data[start:end]
	if at < 0 && len(line) > ClipLength {
		if loc := s.Pattern.re.FindIndex(trimEnd(line)); loc != nil {
			at = start + loc[0]
		}
	}
	s.done, s.after = end, s.After
	full = s.keep(Line{Number: s.number, Text: clip(trimEnd(line), max(at-start, 0)), Match: true})
	s.number++
	return full
}

// follow reports context after a match, and passes over the lines up to to.
func (s *searcher) follow(to int) (full bool) {
	for s.after > 0 && s.done < to {
		end := s.lineEnd(s.done)
		if s.context(s.data[s.done:end]) {
			return true
		}
		s.done = end
		s.after--
	}
	return false
}

// lead reports context before the match in the line at start.
func (s *searcher) lead(start int) (full bool) {
	from, lines := start, 0
	for from > s.done && lines < s.Before {
		from = bytes.LastIndexByte(s.data[:from-1], '\n') + 1
		lines++
	}
	if s.done == 0 && from == 0 {
		for _, line := range s.tail[max(len(s.tail)-(s.Before-lines), 0):] {
			if s.keep(line) {
				return true
			}
		}
	}
	s.number += bytes.Count(s.data[s.done:from], []byte("\n"))
	for from < start {
		end := s.lineEnd(from)
		if s.context(s.data[from:end]) {
			return true
		}
		from = end
	}
	s.done, s.tail = start, s.tail[:0]
	return false
}

// context reports a line without a match.
func (s *searcher) context(line []byte) (full bool) {
	full = s.keep(Line{Number: s.number, Text: clip(trimEnd(line), 0)})
	s.number++
	return full
}

// keep adds a line to the report.
func (s *searcher) keep(line Line) (full bool) {
	if s.room == 0 || s.bytes > maxBytes {
		s.report.More = true
		return true
	}
	s.room--
	s.bytes += len(line.Text)
	s.report.Lines = append(s.report.Lines, line)
	return false
}

// finish ends the current lines: context continues into the next ones.
func (s *searcher) finish() (full bool) {
	if s.Want != Lines {
		return false
	}
	if s.follow(len(s.data)) {
		return true
	}
	if s.Before > 0 {
		s.remember()
	}
	rest := s.data[s.done:]
	s.number += bytes.Count(rest, []byte("\n"))
	return false
}

// remember keeps the last lines that are not reported, as context of a match in
// the lines to come.
func (s *searcher) remember() {
	from, lines := len(s.data), 0
	for from > s.done && lines < s.Before {
		from = bytes.LastIndexByte(s.data[:from-1], '\n') + 1
		lines++
	}
	if s.done > 0 || from > 0 {
		s.tail = s.tail[:0]
	}
	number := s.number + bytes.Count(s.data[s.done:from], []byte("\n"))
	for from < len(s.data) {
		end := s.lineEnd(from)
		s.tail = append(s.tail, Line{Number: number, Text: clip(trimEnd(s.data[from:end]), 0)})
		from = end
		number++
	}
	if extra := len(s.tail) - s.Before; extra > 0 {
		s.tail = append(s.tail[:0], s.tail[extra:]...)
	}
}

// clip returns the line as valid UTF-8, and no more of it than ClipLength
// characters around the byte at.
func clip(line []byte, at int) string {
	if len(line) <= ClipLength || utf8.RuneCount(line) <= ClipLength {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := back(line, min(at, len(line)), ClipLength/4)
	to := ahead(line, from, ClipLength)
	if to == len(line) {
		from = back(line, to, ClipLength)
	}
	text := strings.ToValidUTF8(string(line[from:to]), "\uFFFD")
	if from > 0 {
		text = "[...] " + text
	}
	if to < len(line) {
		text += " [...]"
	}
	return text
}

// back returns the index n characters before i.
func back(line []byte, i, n int) int {
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRune(line[:i])
		i -= size
	}
	return i
}

// ahead returns the index n characters after i.
func ahead(line []byte, i, n int) int {
	for ; n > 0 && i < len(line); n-- {
		_, size := utf8.DecodeRune(line[i:])
		i += size
	}
	return i
}

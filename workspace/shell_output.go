package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

const (
	// outputLimit is how many characters of output are shown as they are; of
	// longer output it is half from each end.
	outputLimit = 30_000
	// endBytes hold half of outputLimit for any characters.
	endBytes = outputLimit / 2 * utf8.UTFMax
	// spillLimit is how many bytes of output are kept on disk.
	spillLimit = 64 << 20
)

// output collects the output of a process in bounded memory, and never refuses any. Output
// that is too long for an excerpt also goes to a file.
type output struct {
	folder func() (string, error) // where the file is made
	keep   bool                   // make the file at the first byte
	last   func(lines []string)   // sees the last lines after each write; may be nil
	pieces func(piece []byte)     // sees each write; may be nil

	mu       sync.Mutex
	head     []byte // first endBytes bytes since the last take
	tail     []byte // the last ones after head: endBytes, and up to as many more
	bytes    int64  // since the last take
	chars    int64
	line     []byte   // the beginning of an unfinished line, for last
	lines    []string // the last finished ones, for last
	file     *os.File
	spilled  int64
	spillErr error // why the file does not hold everything
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	o.append(b)
	lines := o.lastLines(b)
	o.mu.Unlock()
	if o.pieces != nil {
		o.pieces(b)
	}
	if len(lines) > 0 {
		o.last(lines)
	}
	return len(b), nil
}

func (o *output) append(b []byte) {
	// No text has more characters than bytes. The missing part is in the file.
	if o.file == nil && o.spillErr == nil && (o.keep || o.bytes+int64(len(b)) > outputLimit) {
		o.createFile()
	}
	o.spill(b)
	o.bytes += int64(len(b))
	o.chars += countChars(b)
	o.hold(b)
}

// hold keeps both ends of the data.
func (o *output) hold(b []byte) {
	n := min(len(b), endBytes-len(o.head))
	o.head = append(o.head, b[:n]...)
	b = b[n:]
	o.tail = append(o.tail, b[max(0, len(b)-endBytes):]...)
	if len(o.tail) > 2*endBytes {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-endBytes:]...)
	}
}

// createFile makes the file with the data so far: both ends are still whole.
func (o *output) createFile() {
	dir, err := o.folder()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		o.file, err = os.CreateTemp(dir, "Bash-*.txt") // 0600
	}
	if o.spillErr = err; err == nil {
		o.spill(o.head)
		o.spill(o.tail)
	}
}

var errSpillLimit = errors.New("no more than 64 MB is kept")

func (o *output) spill(b []byte) {
	if o.file == nil || o.spillErr != nil {
		return
	}
	if rest := spillLimit - o.spilled; int64(len(b)) > rest {
		b = b[:rest]
		o.spillErr = errSpillLimit
	}
	n, err := o.file.Write(b)
	o.spilled += int64(n)
	if err != nil {
		o.spillErr = fmt.Errorf("writing it failed: %w", err)
	}
}

const (
	tailLines = 5   // that output.last sees
	tailWidth = 200 // bytes of such a line
)

// lastLines returns the last non-empty lines that were finished or begun, b included.
func (o *output) lastLines(b []byte) []string {
	if o.last == nil {
		return nil
	}
	o.line = append(o.line, b[max(0, len(b)-8*tailLines*tailWidth):]...)
	for {
		i := bytes.IndexByte(o.line, '\n')
		if i < 0 {
			break
		}
		if line := shownLine(o.line[:i]); line != "" {
			o.lines = append(o.lines, line)
		}
		o.line = o.line[i+1:]
	}
	o.line = slices.Clone(o.line[max(0, len(o.line)-8*tailWidth):])
	o.lines = slices.Clone(o.lines[max(0, len(o.lines)-tailLines):])
	lines := o.lines
	if line := shownLine(o.line); line != "" {
		lines = append(slices.Clone(lines[max(0, len(lines)-tailLines+1):]), line)
	}
	return lines
}

// shownLine returns what a terminal shows of a line in the end, cut at its end.
func shownLine(b []byte) string {
	b = bytes.TrimRight(b, "\r")
	b = b[bytes.LastIndexByte(b, '\r')+1:]
	return text.Bytes(strings.TrimSpace(text.Clean(string(b))), tailWidth)
}

// close closes the file. Later output is not kept on disk.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return
	}
	if err := o.file.Close(); err != nil && o.spillErr == nil {
		o.spillErr = fmt.Errorf("writing it failed: %w", err)
	}
	if o.spillErr == nil {
		o.spillErr = os.ErrClosed
	}
}

// name returns the path of the file, "" if there is none.
func (o *output) name() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return ""
	}
	return o.file.Name()
}

// take returns the output since the last take and forgets it. With lines, it leaves an
// unfinished last line for the next time.
func (o *output) take(lines bool) (shown string, cut bool, file string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var rest []byte
	if lines {
		rest = o.cutUnfinished()
	}
	shown, cut = o.excerpt()
	if o.file != nil {
		file = o.file.Name()
	}
	o.head, o.tail = nil, nil
	o.bytes, o.chars = int64(len(rest)), countChars(rest)
	o.hold(rest)
	return shown, cut, file
}

func (o *output) cutUnfinished() (rest []byte) {
	end := &o.tail
	if len(o.tail) == 0 {
		end = &o.head
	}
	i := strings.LastIndexByte(string(*end), '\n') + 1
	rest = append(rest, (*end)[i:]...)
	*end = (*end)[:i]
	o.bytes -= int64(len(rest))
	o.chars -= countChars(rest)
	return rest
}

// excerpt returns the output as a model sees it, and whether something is missing.
func (o *output) excerpt() (shown string, cut bool) {
	if int64(len(o.head)+len(o.tail)) == o.bytes {
		clean := text.Clean(string(o.head) + string(o.tail))
		n := utf8.RuneCountInString(clean)
		if n <= outputLimit {
			return clean, false
		}
		return o.shorten(clean, clean, n-outputLimit), true
	}
	missing := int(o.chars) - outputLimit
	return o.shorten(text.Clean(string(o.head)), text.Clean(string(o.tail)), missing), true
}

// shorten returns the first characters of head and the last ones of tail.
func (o *output) shorten(head, tail string, missing int) string {
	note := fmt.Sprintf("%d characters are missing here", max(missing, 1))
	switch {
	case o.file == nil:
		note += fmt.Sprintf(", and they could not be kept: %v", o.spillErr)
	case o.spillErr != nil && !errors.Is(o.spillErr, os.ErrClosed):
		note += fmt.Sprintf("; the first %d bytes of the output are in %s (%v)", o.spilled, o.file.Name(), o.spillErr)
	default:
		note += "; the whole output is in " + o.file.Name()
	}
	return firstChars(head, outputLimit/2) + "\n\n[… " + note + " …]\n\n" + lastChars(tail, outputLimit/2)
}

func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func lastChars(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// countChars counts characters that begin in b, which may hold half ones.
func countChars(b []byte) int64 {
	var n int64
	for _, c := range b {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

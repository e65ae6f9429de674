package grep

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
)

const (
	firstBlock = 128 << 10
	maxLine    = 4 << 20
	// MaxMultiline is the size in bytes, as UTF-8, of the largest file that is
	// searched in multiline mode.
	MaxMultiline = 16 << 20
	// sniffed is how many bytes are searched for a NUL that makes a file binary,
	// as in git.
	sniffed = 8000
)

// blocks reads a text in pieces of whole lines. Its buffer is used again for the
// next text.
type blocks struct {
	r      io.Reader
	buf    []byte
	start  int // buf[start:end] is read but not given out
	end    int
	limit  int // length of the longest piece
	eof    bool
	cut    bool // a line was longer than limit: only its beginning was given out
	binary bool
}

// reset begins a text. A byte order mark is removed, and UTF-16 that has one is
// decoded.
func (b *blocks) reset(r io.Reader, limit int) error {
	if b.buf == nil {
		b.buf = make([]byte, firstBlock)
	}
	*b = blocks{r: r, buf: b.buf, limit: limit}
	if err := b.fill(); err != nil {
		return err
	}
	head := b.buf[:b.end]
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		b.start = 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		rest := io.MultiReader(bytes.NewReader(bytes.Clone(head)), r)
		b.r = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(rest)
		b.end, b.eof = 0, false
		if err := b.fill(); err != nil {
			return err
		}
	}
	head = b.buf[b.start:b.end]
	b.binary = bytes.IndexByte(head[:min(len(head), sniffed)], 0) >= 0
	return nil
}

// fill reads until the buffer is full or the text ends.
func (b *blocks) fill() error {
	n, err := io.ReadFull(b.r, b.buf[b.end:])
	b.end += n
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		b.eof, err = true, nil
	}
	return err
}

// next returns the next lines, each but perhaps the last of the text with its
// newline. They are valid until the next call. The error at the end is io.EOF.
func (b *blocks) next() ([]byte, error) {
	for {
		data := b.buf[b.start:b.end]
		n := bytes.LastIndexByte(data, '\n') + 1
		if b.eof {
			n = len(data)
		}
		if n > 0 {
			b.start += n
			return data[:n], nil
		}
		if b.eof {
			return nil, io.EOF
		}
		if len(data) >= b.limit {
			return b.cutLine()
		}
		b.makeRoom()
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
}

// makeRoom moves the rest to the front of a buffer that has room for more.
func (b *blocks) makeRoom() {
	to := b.buf
	if b.end-b.start > len(to)/2 {
		to = make([]byte, min(2*len(to), b.limit))
	}
	b.end = copy(to, b.buf[b.start:b.end])
	b.start, b.buf = 0, to
}

// cutLine gives the full buffer out as a line and skips to the next one.
func (b *blocks) cutLine() ([]byte, error) {
	b.cut = true
	line := bytes.Clone(b.buf[b.start:b.end])
	line[len(line)-1] = '\n'
	for {
		b.start, b.end = 0, 0
		if err := b.fill(); err != nil {
			return nil, err
		}
		if i := bytes.IndexByte(b.buf[:b.end], '\n'); i >= 0 {
			b.start = i + 1
			return line, nil
		}
		if b.eof {
			b.start = b.end
			return line, nil
		}
	}
}

// all returns the rest of the text; ok is false if it is longer than the limit.
func (b *blocks) all() (data []byte, ok bool, err error) {
	for !b.eof {
		if b.end-b.start >= b.limit {
			return nil, false, nil
		}
		b.makeRoom()
		if err := b.fill(); err != nil {
			return nil, false, err
		}
	}
	return b.buf[b.start:b.end], true, nil
}

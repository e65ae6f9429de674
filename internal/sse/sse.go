// Package sse reads server-sent events as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): lines end
// in LF, CR or CRLF, a leading byte order mark is skipped, comments and unknown
// fields are ignored, data lines are joined with LF, an event without data is
// not an event, and one that the stream leaves unfinished is dropped.
package sse

import (
	"bytes"
	"fmt"
	"io"
)

// DefaultLimit is the largest line and the largest event in bytes where the
// caller names none.
const DefaultLimit = 16 << 20

// A TooLongError reports a line or an event above the reader's limit.
type TooLongError struct{ Limit int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("server-sent event longer than %d bytes", e.Limit)
}

// An Event is one dispatched event. Its slices are valid until the next call
// of [Reader.Next].
type Event struct {
	Type []byte // the event field; empty means "message"
	Data []byte
	ID   []byte // the last id field seen in the stream
}

// A Reader splits a stream into events. It reuses its buffers, so that a stream
// of small events costs no allocation.
type Reader struct {
	src     io.Reader
	err     error // of src, delivered once the buffer is used up
	limit   int
	buf     []byte
	r, w    int  // buf[r:w] is unread
	scanned int  // no line end in buf[r : r+scanned]
	skipLF  bool // the last line ended in CR
	started bool // the byte order mark has been dealt with

	kind, data, id []byte
	hasData        bool
}

// NewReader returns a Reader of r. limit bounds a line and an event's data, in
// bytes; 0 or less means [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: r, limit: limit, buf: make([]byte, min(8<<10, limit+2))}
}

// Next returns the next event. At the end of the stream it returns io.EOF, or
// the error that the source ended with.
func (r *Reader) Next() (Event, error) {
	r.kind, r.data, r.hasData = r.kind[:0], r.data[:0], false
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		if r.hasData {
			return Event{Type: r.kind, Data: r.data, ID: r.id}, nil
		}
		r.kind = r.kind[:0]
	}
}

// field takes in one line that is not empty.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, colon)
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if len(r.data)+len(value)+1 > r.limit {
			return &TooLongError{Limit: r.limit}
		}
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data, r.hasData = append(r.data, value...), true
	case "event":
		r.kind = append(r.kind[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = append(r.id[:0], value...)
		}
	}
	return nil
}

var (
	colon = []byte(":")
	bom   = []byte("\xef\xbb\xbf")
)

// line returns the next line without its end. A last line that nothing ends is dropped.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.r < r.w {
			r.skipLF = false
			if r.buf[r.r] == '\n' {
				r.r++
			}
		}
		if !r.started {
			if head := r.buf[r.r:r.w]; len(head) >= len(bom) || !bytes.HasPrefix(bom, head) {
				r.started = true
				if bytes.HasPrefix(head, bom) {
					r.r += len(bom)
				}
			}
		}
		if r.started {
			unread := r.buf[r.r:r.w]
			if i := lineEnd(unread[r.scanned:]); i >= 0 {
				i += r.scanned
				if i > r.limit {
					return nil, &TooLongError{Limit: r.limit}
				}
				r.r, r.scanned = r.r+i+1, 0
				r.skipLF = unread[i] == '\r'
				return unread[:i], nil
			}
			if r.scanned = len(unread); r.scanned > r.limit {
				return nil, &TooLongError{Limit: r.limit}
			}
		}
		if r.err != nil {
			return nil, r.err
		}
		r.fill()
	}
}

// lineEnd returns the index of the first CR or LF in b, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads once from the source, after making room.
func (r *Reader) fill() {
	if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	if r.w == len(r.buf) {
		bigger := make([]byte, min(2*len(r.buf), max(r.limit, len(r.buf))+2))
		copy(bigger, r.buf[:r.w])
		r.buf = bigger
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		if err != nil {
			r.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	r.err = io.ErrNoProgress
}

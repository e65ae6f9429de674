// Package eventstream reads the binary framing of Amazon Bedrock's streams,
// application/vnd.amazon.eventstream
// (https://smithy.io/2.0/aws/amazon-eventstream.html): a prelude of two lengths
// and a checksum, headers, a payload and a checksum of the whole message, all
// integers big-endian.
package eventstream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// MediaType is the content type of such a stream.
const MediaType = "application/vnd.amazon.eventstream"

const (
	// DefaultLimit is the largest message in bytes where the caller names none.
	DefaultLimit = 16 << 20
	// maxHeaders bounds the headers of a message, as the format does.
	maxHeaders = 128 << 10

	prelude  = 12
	checksum = 4
)

// ErrCorrupt is matched by errors about bytes that are not such a stream, or
// were changed on their way.
var ErrCorrupt = errors.New("corrupt event stream")

// A TooLongError reports a message above the reader's limit.
type TooLongError struct{ Limit int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("event stream message longer than %d bytes", e.Limit)
}

// A Message is one frame of the stream. It is valid until the next call of
// [Reader.Next].
type Message struct {
	headers []byte
	Payload []byte
}

// Header returns the header of that name if it is a string, else "".
func (m Message) Header(name string) string {
	for rest := m.headers; len(rest) > 0; {
		h, n := header(rest) // checked when the message was read
		if h.text && string(h.name) == name {
			return string(h.value)
		}
		rest = rest[n:]
	}
	return ""
}

// field is a header as it stands in the message.
type field struct {
	name, value []byte
	text        bool
}

// sizes are those of the values of each type: true, false, byte, int16, int32,
// int64, bytes, string, timestamp, UUID. A negative one stands for a length in
// two bytes and so much after it.
var sizes = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

const stringType = 7

// header reads the header at the start of b and returns its length, 0 if it is
// not a header.
func header(b []byte) (field, int) {
	n := 1 + int(b[0])
	if n == 1 || len(b) <= n || int(b[n]) >= len(sizes) {
		return field{}, 0
	}
	name, kind := b[1:n], b[n]
	n++
	size := sizes[kind]
	if size < 0 {
		if len(b) < n+2 {
			return field{}, 0
		}
		size = int(binary.BigEndian.Uint16(b[n:]))
		n += 2
	}
	if len(b) < n+size {
		return field{}, 0
	}
	return field{name: name, value: b[n : n+size], text: kind == stringType}, n + size
}

// A Reader splits a stream into messages. It reuses its buffers.
type Reader struct {
	src   io.Reader
	limit int
	buf   []byte
	data  []byte // of the last chunk
	err   error
}

// NewReader returns a Reader of r, which should be buffered. limit bounds a
// message, in bytes; 0 or less means [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: r, limit: limit, buf: make([]byte, prelude, 1<<10)}
}

// Next returns the next message. At the end of the stream it returns io.EOF, in
// the middle of a message io.ErrUnexpectedEOF, or the error that the source
// ended with. Every error is final.
func (r *Reader) Next() (Message, error) {
	if r.err != nil {
		return Message{}, r.err
	}
	m, err := r.next()
	r.err = err
	return m, err
}

func (r *Reader) next() (Message, error) {
	r.buf = r.buf[:prelude]
	if _, err := io.ReadFull(r.src, r.buf); err != nil {
		return Message{}, err
	}
	total, headers := binary.BigEndian.Uint32(r.buf), binary.BigEndian.Uint32(r.buf[4:])
	if crc32.ChecksumIEEE(r.buf[:8]) != binary.BigEndian.Uint32(r.buf[8:]) {
		return Message{}, fmt.Errorf("%w: checksum of the prelude", ErrCorrupt)
	}
	if int64(total) > int64(r.limit) {
		return Message{}, &TooLongError{Limit: r.limit}
	}
	if headers > maxHeaders || int64(total) < prelude+int64(headers)+checksum {
		return Message{}, fmt.Errorf("%w: lengths %d and %d", ErrCorrupt, total, headers)
	}
	if err := r.read(int(total)); err != nil {
		return Message{}, err
	}
	end := int(total) - checksum
	if crc32.ChecksumIEEE(r.buf[:end]) != binary.BigEndian.Uint32(r.buf[end:]) {
		return Message{}, fmt.Errorf("%w: checksum of a message", ErrCorrupt)
	}
	m := Message{headers: r.buf[prelude : prelude+headers], Payload: r.buf[prelude+headers : end]}
	for rest := m.headers; len(rest) > 0; {
		_, n := header(rest)
		if n == 0 {
			return Message{}, fmt.Errorf("%w: a header", ErrCorrupt)
		}
		rest = rest[n:]
	}
	return m, nil
}

// piece is the number of bytes read at a time, so that a prelude that announces a long
// message does not cost memory before the message is there.
const piece = 64 << 10

// read fills the buffer up to size bytes.
func (r *Reader) read(size int) error {
	for len(r.buf) < size {
		from := len(r.buf)
		n := min(size-from, piece)
		for cap(r.buf)-from < n {
			r.buf = append(r.buf[:cap(r.buf)], 0)
		}
		r.buf = r.buf[:from+n]
		if _, err := io.ReadFull(r.src, r.buf[from:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// Append appends a message; headers are pairs of names and texts.
func Append(dst, payload []byte, headers ...string) []byte {
	start, size := len(dst), 0
	for i := 0; i+1 < len(headers); i += 2 {
		size += 1 + len(headers[i]) + 3 + len(headers[i+1])
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(prelude+size+len(payload)+checksum))
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
	for i := 0; i+1 < len(headers); i += 2 {
		dst = append(append(append(dst, byte(len(headers[i]))), headers[i]...), stringType)
		dst = append(binary.BigEndian.AppendUint16(dst, uint16(len(headers[i+1]))), headers[i+1]...)
	}
	dst = append(dst, payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}

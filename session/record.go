package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// A journal is a text of lines. The first is the header,
//
//	{"openagent":1,"session":…,"created":…,"cwd":…,"parent":…,"crc":"…"}
//
// every other one a fact:
//
//	{"seq":…,"prev":…,"time":…,"type":…,"data":{…},"blobs":{"member":"sha256"},"crc":"…"}
//
// crc is the CRC-32C of the bytes before `,"crc"`, in 8 hexadecimal digits.
// Members of data whose JSON is above 32 KB are not in data: blobs names the
// files that hold them.
const (
	version   = 1
	maxInline = 32 << 10  // bytes of a member of data, else it becomes a blob
	maxLine   = 256 << 20 // bytes of a line, and of the blobs of a line together
	// How lines begin.
	headerBegin = `{"openagent":`
	recordBegin = `{"seq":`

	crcMember = `,"crc":"`
	crcLength = len(crcMember) + 8 + len(`"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendCRC closes a line whose bytes so far have the given checksum.
func appendCRC(b []byte, sum uint32) []byte {
	b = append(b, crcMember...)
	b = hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(b, `"}`...)
}

// closes reports whether b is the end of a line whose other bytes have the given checksum.
func closes(b []byte, sum uint32) bool {
	var want [crcLength]byte
	return bytes.Equal(b, appendCRC(want[:0], sum))
}

// sealed reports whether line, without its newline, has the right checksum.
func sealed(line []byte) bool {
	n := len(line) - crcLength
	return n > 0 && closes(line[n:], crc32.Checksum(line[:n], castagnoli))
}

// wholeRecord returns the length of the whole record that line begins with, 0 if there is
// none. It splits two records that became one line because the newline between them was
// damaged.
func wholeRecord(line []byte) int {
	sum, n := uint32(0), 0
	for {
		i := bytes.Index(line[n:], []byte(crcMember))
		if i < 0 || n+i+crcLength > len(line) {
			return 0
		}
		sum = crc32.Update(sum, castagnoli, line[n:n+i])
		n += i
		if closes(line[n:n+crcLength], sum) {
			return n + crcLength
		}
		sum = crc32.Update(sum, castagnoli, line[n:n+1])
		n++
	}
}

// A blob is content that is stored beside the journal.
type blob struct {
	hash string // SHA-256 in hexadecimal digits, its name
	data []byte // JSON
}

func newBlob(data []byte) blob {
	sum := sha256.Sum256(data)
	return blob{hex.EncodeToString(sum[:]), data}
}

// An encoder makes lines out of facts. Its buffers are used again.
type encoder struct {
	buf   bytes.Buffer
	json  *json.Encoder // into buf
	blobs []blob        // that the lines refer to
}

// reset forgets the lines, and the memory of unusually long ones.
func (e *encoder) reset() {
	if e.json == nil || e.buf.Cap() > 1<<20 {
		e.buf = bytes.Buffer{}
		e.json = json.NewEncoder(&e.buf)
		e.json.SetEscapeHTML(false)
	}
	e.buf.Reset()
	e.blobs = nil
}

// header adds the first line of a journal.
func (e *encoder) header(h Header) error {
	if err := e.json.Encode(headerLine{version, h}); err != nil {
		return err
	}
	e.buf.Truncate(e.buf.Len() - len("}\n"))
	e.seal(0)
	return nil
}

// fact adds the line of ev.
func (e *encoder) fact(ev event.Event) error {
	start := e.buf.Len()
	e.buf.Grow(256)
	b := append(e.buf.AvailableBuffer(), recordBegin...)
	b = strconv.AppendInt(b, ev.Seq, 10)
	b = append(b, `,"prev":`...)
	b = strconv.AppendInt(b, ev.Prev, 10)
	b = append(b, `,"time":"`...)
	b, err := ev.Time.UTC().AppendText(b)
	if err != nil {
		return fmt.Errorf("fact %d: %w", ev.Seq, err)
	}
	b = append(b, `","type":"`...)
	b = append(b, event.Type(ev.Data)...)
	b = append(b, `","data":`...)
	e.buf.Write(b)

	data := e.buf.Len()
	if err := e.json.Encode(ev.Data); err != nil {
		return fmt.Errorf("fact %d: %w", ev.Seq, err)
	}
	e.buf.Truncate(e.buf.Len() - len("\n"))
	if e.buf.Len()-data > maxInline {
		if err := e.extract(data); err != nil {
			return fmt.Errorf("fact %d: %w", ev.Seq, err)
		}
	}
	e.seal(start)
	return nil
}

// seal ends the line that begins at start.
func (e *encoder) seal(start int) {
	sum := crc32.Checksum(e.buf.Bytes()[start:], castagnoli)
	e.buf.Grow(crcLength + 1)
	e.buf.Write(append(appendCRC(e.buf.AvailableBuffer(), sum), '\n'))
}

// extract turns the large members of the object at the buffer's end into blobs.
func (e *encoder) extract(at int) error {
	object := bytes.Clone(e.buf.Bytes()[at:])
	e.buf.Truncate(at)
	var refs []byte
	size := 0
	e.buf.WriteByte('{')
	for key, value := range members(object) {
		if len(value) > maxInline {
			b := newBlob(value)
			e.blobs = append(e.blobs, b)
			size += len(value)
			refs = fmt.Appendf(separate(refs), `%s:"%s"`, key, b.hash)
			continue
		}
		if e.buf.Len() > at+1 {
			e.buf.WriteByte(',')
		}
		e.buf.Write(key)
		e.buf.WriteByte(':')
		e.buf.Write(value)
	}
	e.buf.WriteByte('}')
	if len(refs) > 0 {
		fmt.Fprintf(&e.buf, `,"blobs":{%s}`, refs)
	}
	if size > maxLine {
		return fmt.Errorf("its content of %d bytes is above the limit of %d", size, maxLine)
	}
	return nil
}

// separate adds a comma to a list that is not empty.
func separate(list []byte) []byte {
	if len(list) == 0 {
		return list
	}
	return append(list, ',')
}

// members yields the members of an object as [json.Marshal] writes it, valid and
// without spaces: the name in its quotes, and the value.
func members(object []byte) func(yield func(key, value []byte) bool) {
	return func(yield func(key, value []byte) bool) {
		for i := 1; i < len(object) && object[i] == '"'; i++ {
			colon := valueEnd(object, i)
			end := valueEnd(object, colon+1)
			if !yield(object[i:colon], object[colon+1:end]) {
				return
			}
			i = end // the comma, or the brace at the end
		}
	}
}

// valueEnd returns where the JSON value that begins at i ends.
func valueEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// stringEnd returns where the JSON string that begins at i ends.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		text := b[i : i+n]
		i += n
		if (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 0 {
			return i + 1
		}
	}
}

type headerLine struct {
	Version int `json:"openagent"`
	Header
}

// parseHeader reads the first line of a journal and its version. With [ErrVersion] it also
// returns the parts of the header that an older program understands.
func parseHeader(line []byte) (Header, int, error) {
	var v struct {
		Version *int `json:"openagent"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return Header{}, 0, err
	}
	var h Header
	err := json.Unmarshal(line, &h)
	switch {
	case v.Version != nil && *v.Version > version:
		return h, *v.Version, fmt.Errorf("%w: version %d", ErrVersion, *v.Version)
	case v.Version == nil || !readable(*v.Version):
		return Header{}, 0, errors.New("it is not the header of a session")
	}
	return h, *v.Version, err
}

// A record is a fact as it is stored. It is valid as long as its line.
type record struct {
	Seq   int64             `json:"seq"`
	Prev  int64             `json:"prev"`
	Time  time.Time         `json:"time"`
	Type  string            `json:"type"`
	Data  json.RawMessage   `json:"data"`
	Blobs map[string]string `json:"blobs"` // hashes by member
}

// anyRecord reads the line of a fact with any number.
func anyRecord(line []byte) (record, error) {
	r, ok := plainRecord(line)
	if !ok {
		if err := json.Unmarshal(line, &r); err != nil {
			return record{}, err
		}
	}
	return r, nil
}

// parseRecord reads the line of the fact number seq.
func parseRecord(line []byte, seq int64) (record, error) {
	r, err := anyRecord(line)
	if err != nil {
		return record{}, err
	}
	if r.Seq != seq || r.Prev < 0 || r.Prev >= seq {
		return record{}, fmt.Errorf("it holds fact %d after fact %d where fact %d is due", r.Seq, r.Prev, seq)
	}
	return r, nil
}

// plainRecord reads a line that is written as [encoder] writes one without
// blobs. It is many times as fast as JSON, which reads all others.
func plainRecord(line []byte) (record, bool) {
	w := words{rest: line}
	r := record{Seq: w.number(`{"seq":`), Prev: w.number(`,"prev":`)}
	bad := r.Time.UnmarshalText(w.quoted(`,"time":"`))
	r.Type = string(w.quoted(`,"type":"`))
	w.skip(`,"data":`)
	end := valueEnd(w.rest, 0)
	r.Data = w.rest[:end]
	if w.bad || bad != nil || len(w.rest) != end+crcLength || !bytes.HasPrefix(w.rest[end:], []byte(crcMember)) {
		return record{}, false
	}
	return r, true
}

// words takes a line apart from the left.
type words struct {
	rest []byte
	bad  bool // something else came than was expected
}

func (w *words) skip(word string) {
	if !bytes.HasPrefix(w.rest, []byte(word)) {
		w.bad = true
		return
	}
	w.rest = w.rest[len(word):]
}

// number takes a word and the digits that follow it.
func (w *words) number(word string) int64 {
	w.skip(word)
	n, i := int64(0), 0
	for ; i < len(w.rest) && '0' <= w.rest[i] && w.rest[i] <= '9'; i++ {
		n = n*10 + int64(w.rest[i]-'0')
	}
	w.bad = w.bad || i == 0 || i > 18 || i > 1 && w.rest[0] == '0'
	w.rest = w.rest[i:]
	return n
}

// quoted takes a word that ends with a quote and what follows it to the next quote.
func (w *words) quoted(word string) []byte {
	w.skip(word)
	text, rest, found := bytes.Cut(w.rest, []byte(`"`))
	w.bad = w.bad || !found || bytes.IndexByte(text, '\\') >= 0
	w.rest = rest
	return text
}

// event returns the fact. load returns content that is not in the line, of at most the
// given number of bytes.
func (r *record) event(session string, load func(hash string, limit int64) ([]byte, error)) (event.Event, error) {
	data := r.Data
	if len(r.Blobs) > 0 {
		var err error
		if data, err = r.restore(load); err != nil {
			return event.Event{}, err
		}
	}
	d, err := fact.Decode(r.Type, data)
	if err != nil {
		return event.Event{}, err
	}
	if _, ok := d.(event.Fact); !ok {
		return event.Event{}, fmt.Errorf("%s is not a fact", r.Type)
	}
	return event.Event{Seq: r.Seq, Prev: r.Prev, Time: r.Time, Session: session, Data: d}, nil
}

// restore puts the blobs back into data.
func (r *record) restore(load func(string, int64) ([]byte, error)) ([]byte, error) {
	data, ok := bytes.CutSuffix(r.Data, []byte("}"))
	if !ok {
		return nil, errors.New("data with blobs is not an object")
	}
	data = bytes.Clone(data)
	for member, hash := range r.Blobs {
		content, err := load(hash, maxLine-int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("blob %s: %w", hash, err)
		}
		key, err := json.Marshal(member)
		if err != nil {
			return nil, err
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		data = append(append(append(data, key...), ':'), content...)
	}
	return append(data, '}'), nil
}

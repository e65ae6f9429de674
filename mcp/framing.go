package mcp

import (
	"bytes"
	"encoding/json"
	"regexp"
)

const (
	maxMessage = 16 << 20 // bytes of a message
	keptHead   = 64 << 10 // of a larger one, in which its id is looked for
	keptTail   = 4 << 10
	keptNoise  = 4 << 10 // of lines that are not messages, and of stderr
)

// A framer splits a server's output into lines. A line that is too long is dropped as it
// comes; errors quote its beginning and its end.
type framer struct {
	limit int
	line  func(line []byte)
	long  func(head, tail []byte)

	buf  []byte // of a line that has not ended
	tail []byte // of a line that is too long; nil: it is not
}

func (f *framer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			f.add(p)
			break
		}
		if f.buf == nil && f.tail == nil && end <= f.limit {
			f.line(p[:end])
		} else {
			f.add(p[:end])
			f.end()
		}
		p = p[end+1:]
	}
	return n, nil
}

func (f *framer) add(p []byte) {
	switch {
	case f.tail != nil:
		f.tail = append(f.tail, p[max(0, len(p)-keptTail):]...)
		f.tail = append(f.tail[:0], f.tail[max(0, len(f.tail)-keptTail):]...)
	case len(f.buf)+len(p) > f.limit:
		all := append(f.buf, p...)
		f.tail = append([]byte{}, all[max(0, len(all)-keptTail):]...)
		f.buf = append([]byte(nil), all[:min(len(all), keptHead)]...)
	default:
		f.buf = append(f.buf, p...)
	}
}

func (f *framer) end() {
	if f.tail != nil {
		f.long(f.buf, f.tail)
	} else {
		f.line(f.buf)
	}
	f.buf, f.tail = nil, nil
}

var idAtEnd = regexp.MustCompile(`[,{]\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|[0-9]+)\s*\}\s*$`)

// answered returns the id of the request that a message answers of which only
// the beginning and the end are there; nil if it is not found, or the message is
// a request itself.
func answered(head, tail []byte) any {
	d := json.NewDecoder(bytes.NewReader(head))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for {
		key, err := d.Token()
		if err != nil || key == "method" {
			break
		}
		if key == "id" {
			id, err := d.Token()
			if err != nil {
				break
			}
			return id // text or number; of anything else no request is known
		}
		var value json.RawMessage
		if d.Decode(&value) != nil { // the long one
			if m := idAtEnd.FindSubmatch(tail); m != nil {
				var id any
				if json.Unmarshal(m[1], &id) == nil {
					return id
				}
			}
			break
		}
	}
	return nil
}

// A tailBuffer keeps the end of the data written to it.
type tailBuffer struct{ kept []byte }

func (k *tailBuffer) Write(p []byte) (int, error) {
	k.kept = append(k.kept, p[max(0, len(p)-keptNoise):]...)
	if len(k.kept) > 4*keptNoise {
		k.kept = append(k.kept[:0], k.kept[len(k.kept)-keptNoise:]...)
	}
	return len(p), nil
}

func (k *tailBuffer) String() string {
	return string(bytes.TrimSpace(k.kept[max(0, len(k.kept)-keptNoise):]))
}

package teamstore

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// A journal is a text of lines. The first is the header,
//
//	{"openagent_team":1,"space":"…","crc":"…"}
//
// every other one an act:
//
//	{"at":"…","do":"add_task","act":{…},"crc":"…"}
//
// crc is the CRC-32C of the bytes before `,"crc"`, in 8 hexadecimal digits.
const (
	journalVersion = 1
	maxLine        = 4 << 20 // bytes; a task has at most 1.7 MB, all escaped
	crcMember      = `,"crc":"`
	crcLength      = len(crcMember) + 8 + len(`"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	Version int    `json:"openagent_team"`
	Space   string `json:"space"`
}

type record struct {
	At  time.Time       `json:"at"`
	Do  string          `json:"do"`
	Act json.RawMessage `json:"act"`
}

// names are the names of kinds of act.
var names = func() map[reflect.Type]string {
	m := map[reflect.Type]string{}
	for name, kind := range acts {
		m[reflect.TypeOf(kind())] = name
	}
	return m
}()

// encode returns the line of an act, with its newline.
func encode(a op, at time.Time) ([]byte, error) {
	body, err := plainJSON(a)
	if err != nil {
		return nil, err
	}
	return seal(record{at, names[reflect.TypeOf(a)], body})
}

// seal returns a value as a line.
func seal(v any) ([]byte, error) {
	b, err := plainJSON(v)
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-1] // its brace
	sum := crc32.Checksum(b, castagnoli)
	b = append(b, crcMember...)
	b = hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(b, "\"}\n"...), nil
}

// plainJSON encodes without escapes for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// sealed reports whether a line, with its newline, is whole.
func sealed(line []byte) bool {
	n := len(line) - crcLength - 1
	if n <= 0 {
		return false
	}
	sum := crc32.Checksum(line[:n], castagnoli)
	return string(line[n:]) == fmt.Sprintf("%s%08x\"}\n", crcMember, sum)
}

// torn reports whether rest, the end of a journal, can be the remainder of an interrupted
// write: the beginning of a line, zeros of unwritten blocks, or the one before the other.
// Anything else is damage.
func torn(rest []byte) bool {
	rest = bytes.TrimRight(rest, "\x00")
	const begin = `{"`
	if n := min(len(rest), len(begin)); string(rest[:n]) != begin[:n] || bytes.ContainsAny(rest, "\n\x00") {
		return false
	}
	i := bytes.LastIndex(rest, []byte(crcMember))
	end := i + crcLength
	return i < 0 || len(rest) <= end || !sealed(append(rest[:end:end], '\n')) // else its newline was altered
}

// putBack is how the names of acts begin that only a rewritten journal has.
const putBack = "had_"

// decode reads the line of an act.
func decode(line []byte) (a op, name string, at time.Time, err error) {
	var rec record
	if err := json.Unmarshal(line, &rec); err != nil {
		return nil, "", time.Time{}, err
	}
	made, ok := acts[rec.Do]
	if !ok {
		return nil, "", time.Time{}, fmt.Errorf("%w: it has the operation %q", errNewer, text.Bytes(rec.Do, maxShown))
	}
	a = made()
	return a, rec.Do, rec.At, json.Unmarshal(rec.Act, a)
}

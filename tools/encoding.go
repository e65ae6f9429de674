package tools

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An encoding is how the text of a file is written: UTF-8 or any encoding that
// has ASCII in it, or with order UTF-16.
type encoding struct {
	bom   []byte
	order binary.ByteOrder // nil: bytes are as they are
}

var boms = []encoding{
	{bom: []byte("\xef\xbb\xbf")},
	{bom: []byte("\xff\xfe"), order: binary.LittleEndian},
	{bom: []byte("\xfe\xff"), order: binary.BigEndian},
}

// decode returns the text of a file and how it was encoded. ok is false where
// encoding the text again would not give the same bytes.
func decode(data []byte) (text string, enc encoding, ok bool) {
	if bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")) { // UTF-32
		return string(data), enc, true
	}
	for _, e := range boms {
		if rest, found := bytes.CutPrefix(data, e.bom); found {
			text = e.read(rest)
			return text, e, e.order == nil || bytes.Equal(e.encode(text), data)
		}
	}
	return string(data), enc, true
}

func (e encoding) read(data []byte) string {
	if e.order == nil {
		return string(data)
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = e.order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// encode returns the bytes of a file with the given text.
func (e encoding) encode(text string) []byte {
	out := bytes.Clone(e.bom)
	if e.order == nil {
		return append(out, text...)
	}
	units := utf16.Encode([]rune(text))
	out = append(out, make([]byte, 2*len(units))...)
	for i, u := range units {
		e.order.PutUint16(out[len(e.bom)+2*i:], u)
	}
	return out
}

// binaryText reports whether text looks like binary data.
func binaryText(text string) bool {
	head := text[:min(len(text), 8<<10)]
	if strings.IndexByte(head, 0) >= 0 {
		return true
	}
	odd := 0
	for _, r := range head {
		if r == utf8.RuneError || r < 0x20 && !strings.ContainsRune("\t\n\r\f\v\b\x1b", r) {
			odd++
		}
	}
	return odd*10 > len(head)*3
}

// crlf reports whether most lines of text end in CR LF.
func crlf(text string) bool {
	n := strings.Count(text, "\r\n")
	return n > 0 && 2*n >= strings.Count(text, "\n")
}

// toCRLF makes every line end in CR LF.
func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

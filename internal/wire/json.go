// Package wire holds what the clients of different providers share: the HTTP exchange with
// its timeouts, errors without secrets, JSON written and read without reflection where it
// is hot, and the conversion of a transcript into turns whose encoded bytes are cached.
//
// Clients append the members of a body to the kept bytes instead of marshalling it as a
// whole. That holds the figure of a turn whose cost does not grow (BenchmarkEncode in the
// clients): encoding/json reads raw messages again, which takes 0.1 ms for 10 turns of
// 1.3 KB and 13 ms for 1,000.
package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

// AppendEscaped appends the inside of a JSON string, without the quotes.
func AppendEscaped(dst []byte, s string) []byte {
	dst = slices.Grow(dst, len(s)+len(s)/16+16)
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			if r, size := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size != 1 {
				i += size
				continue
			}
		} else if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\ufffd"...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(dst, s[start:]...)
}

// AppendUnquoted appends the text of the JSON string whose opening quote stands just before
// src. It returns how much of src the string took up, with the closing quote. It reports
// false for strings that it leaves to encoding/json: those not closed or not valid.
func AppendUnquoted(dst, src []byte) ([]byte, int, bool) {
	end := bytes.IndexByte(src, '"')
	if end < 0 {
		return dst, 0, false
	}
	if bytes.IndexByte(src[:end], '\\') < 0 {
		if !plain(src[:end]) {
			return dst, 0, false
		}
		return append(dst, src[:end]...), end + 1, true
	}
	start := len(dst)
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '"':
			return dst, i + 1, utf8.Valid(dst[start:])
		case c < ' ':
			return dst, 0, false
		case c != '\\':
			dst = append(dst, c)
			i++
		default:
			r, n := unescape(src[i:])
			if n == 0 {
				return dst, 0, false
			}
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst, 0, false
}

// plain reports whether s needs no escapes in a JSON string.
func plain(s []byte) bool {
	for i, c := range s {
		if c < ' ' {
			return false
		}
		if c >= utf8.RuneSelf {
			for _, c := range s[i:] {
				if c < ' ' {
					return false
				}
			}
			return utf8.Valid(s[i:])
		}
	}
	return true
}

// unescape reads the escape at the start of s and returns its rune and length. The length
// is 0 if there is no valid escape.
func unescape(s []byte) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
				return pair, 12
			}
		}
		return unicode.ReplacementChar, 6
	}
	return r, 6
}

// hex4 reads an escape of four hexadecimal digits, such as \u00e9.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 32)
	return rune(n), err == nil
}

// Blank reports whether s contains only white space, by the rules of providers.
func Blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }) == ""
}

// ToolInput returns the model's input of a tool as a JSON object. If the model wrote
// something else, it returns {} and the model's text.
func ToolInput(raw []byte) (input json.RawMessage, invalid string) {
	text := bytes.TrimSpace(raw)
	if len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}"), ""
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	if text[0] != '{' || !json.Valid(text) {
		return json.RawMessage("{}"), string(text)
	}
	return bytes.Clone(text), ""
}

// AppendObject appends raw without its white space if it is a JSON object, and {} if not.
// Providers refuse unpaired escaped surrogates, so these become U+FFFD.
func AppendObject(dst []byte, raw json.RawMessage) []byte {
	if text := bytes.TrimSpace(raw); len(text) > 0 && text[0] == '{' {
		if out, ok := compact(dst, raw); ok {
			return out
		}
	}
	return append(dst, "{}"...)
}

// AppendJSON appends valid JSON without its white space. It replaces unpaired surrogates
// like [AppendObject].
func AppendJSON(dst []byte, raw json.RawMessage) []byte {
	if out, ok := compact(dst, raw); ok {
		return out
	}
	return append(dst, "null"...)
}

// compact appends raw without its white space. It reports false, and returns dst unchanged,
// if raw is not JSON.
func compact(dst []byte, raw json.RawMessage) ([]byte, bool) {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	if bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`)) {
		if !json.Valid(raw) { // remade would accept a valid beginning
			return dst, false
		}
		raw = remade(raw)
	}
	b := bytes.NewBuffer(slices.Grow(dst, len(raw)))
	if json.Compact(b, raw) != nil {
		return dst, false
	}
	return b.Bytes(), true
}

// remade decodes and encodes raw, which replaces unpaired surrogates.
func remade(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return raw
	}
	return b.Bytes()
}

// A Count is a number of tokens in a provider's reply. A negative or invalid number becomes
// 0, and one that is too large becomes [MaxCount].
type Count int

// MaxCount is the largest Count. Four of them add up to an int, also where an int has 32
// bits.
const MaxCount = min(1<<40, math.MaxInt>>2)

// UnmarshalJSON takes any JSON.
func (c *Count) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	switch {
	case math.IsInf(f, 1):
		f = MaxCount
	case err != nil || math.IsNaN(f):
		f = 0
	}
	*c = Count(min(max(f, 0), MaxCount))
	return nil
}

// A Text grows by pieces. The strings that Add returns share its memory, so a long reply
// costs only a few allocations and no copy per piece.
type Text struct{ b strings.Builder }

// Add appends p and returns it as a string.
func (t *Text) Add(p []byte) string {
	n := t.b.Len()
	if t.b.Cap()-n < len(p) { // Grow doubles, Write grows by a quarter
		t.b.Grow(len(p))
	}
	t.b.Write(p)
	return t.b.String()[n:]
}

func (t *Text) String() string { return t.b.String() }

// Len returns the length in bytes.
func (t *Text) Len() int { return t.b.Len() }

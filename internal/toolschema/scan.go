package toolschema

import (
	"bytes"
	"encoding/json"
	"iter"
)

// The functions of this file walk JSON that is known to be valid, without
// decoding it: inputs are checked on every call, and most are as they should be.

// A kind is a set of kinds of JSON values.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBool
	kindInt
	kindFloat // a number that is not written as an integer
	kindString
	kindArray
	kindObject
)

// kindOf returns the kind of the value that v begins with, 0 for an empty v.
func kindOf(v []byte) kind {
	if len(v) == 0 {
		return 0
	}
	switch v[0] {
	case 'n':
		return kindNull
	case 't', 'f':
		return kindBool
	case '"':
		return kindString
	case '[':
		return kindArray
	case '{':
		return kindObject
	}
	if bytes.ContainsAny(v, ".eE") {
		return kindFloat
	}
	return kindInt
}

// elements yields the elements of an array.
func elements(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := space(v, 1); v[i] != ']'; {
			end := after(v, i)
			if !yield(v[i:end]) {
				return
			}
			i = next(v, end)
		}
	}
}

// fields yields the members of an object; the names are still JSON strings.
func fields(v []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for i := space(v, 1); v[i] != '}'; {
			end := after(v, i)
			name := v[i:end]
			i = space(v, space(v, end)+1) // beyond the colon
			end = after(v, i)
			if !yield(name, v[i:end]) {
				return
			}
			i = next(v, end)
		}
	}
}

// next returns the index of the next value or of a closing bracket.
func next(v []byte, i int) int {
	i = space(v, i)
	if v[i] == ',' {
		i = space(v, i+1)
	}
	return i
}

func space(v []byte, i int) int {
	for v[i] == ' ' || v[i] == '\t' || v[i] == '\n' || v[i] == '\r' {
		i++
	}
	return i
}

// after returns the index after the value at i.
func after(v []byte, i int) int {
	switch v[i] {
	case '"':
		return afterString(v, i)
	case '[', '{':
		for depth := 0; ; {
			switch v[i] {
			case '"':
				i = afterString(v, i)
				continue
			case '[', '{':
				depth++
			case ']', '}':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
	}
	for i < len(v) && bytes.IndexByte([]byte(",]} \t\r\n"), v[i]) < 0 {
		i++
	}
	return i
}

func afterString(v []byte, i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// unquote returns the text of a JSON string.
func unquote(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 {
		return string(bytes.ToValidUTF8(v[1:len(v)-1], []byte("\uFFFD")))
	}
	var s string
	_ = json.Unmarshal(v, &s) // v is valid
	return s
}

// IsObject reports whether v, which is valid JSON, is an object.
func IsObject(v []byte) bool { return kindOf(v) == kindObject }

package llm

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// texts reads blocks that are all of them texts, as MarshalJSON writes them: the
// results of tools, which are most of what a session holds. It looks at each byte
// once, where encoding/json, told the type of a block by the block, does so eight
// times. It reports false for all other JSON.
func texts(data []byte) (Blocks, bool) {
	data, ok := bytes.CutPrefix(data, []byte("["))
	if !ok {
		return nil, false
	}
	var blocks Blocks
	for {
		rest, ok := bytes.CutPrefix(data, []byte(`{"type":"text","text":"`))
		if !ok {
			return nil, false
		}
		text, rest, ok := unquote(rest)
		if !ok || len(rest) < 2 || rest[0] != '}' {
			return nil, false
		}
		blocks = append(blocks, Text{text})
		switch {
		case rest[1] == ',':
			data = rest[2:]
		case string(rest[1:]) == "]":
			return blocks, true
		default:
			return nil, false
		}
	}
}

// unquote reads a JSON string whose opening quote was read. It reports false for
// what it leaves to encoding/json: escapes by number, and what is no valid string.
func unquote(data []byte) (text string, rest []byte, ok bool) {
	end, escapes := 0, 0
	for ; end < len(data) && data[end] != '"'; end++ {
		switch c := data[end]; {
		case c == '\\':
			end++
			escapes++
		case c < ' ':
			return "", nil, false
		}
	}
	if end >= len(data) || !utf8.Valid(data[:end]) {
		return "", nil, false
	}
	quoted, rest := data[:end], data[end+1:]
	if escapes == 0 {
		return string(quoted), rest, true
	}
	var b strings.Builder
	b.Grow(len(quoted) - escapes)
	for range escapes {
		i := bytes.IndexByte(quoted, '\\')
		c := meaning(quoted[i+1])
		if c == 0 {
			return "", nil, false
		}
		b.Write(quoted[:i])
		b.WriteByte(c)
		quoted = quoted[i+2:]
	}
	b.Write(quoted)
	return b.String(), rest, true
}

// meaning returns what a letter means after a backslash, 0 for none alone.
func meaning(letter byte) byte {
	switch letter {
	case '"', '\\', '/':
		return letter
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return 0
}

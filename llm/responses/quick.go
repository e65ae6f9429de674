package responses

import (
	"bytes"

	"github.com/openagent-go/agent/internal/wire"
)

var (
	eventStart = []byte(`{"type":"response.`)
	deltaName  = []byte("delta")
	indexName  = []byte("output_index")
	typeName   = []byte("type")
)

// quick reads an event with a piece of text, without a general JSON decoder. Such an event
// is an object with members that are strings, numbers or empty lists. quick reports false
// for all other events and forms. It keeps a delta under 1 µs and 2 allocations
// (BenchmarkDelta). Decoding each event would take 4 µs and 11 allocations.
func (d *decoder) quick(data []byte) (kind delta, index int, text []byte, ok bool) {
	if !bytes.HasPrefix(data, eventStart) {
		return 0, 0, nil, false
	}
	rest := data[len(`{"type":"`):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 || !bytes.HasSuffix(rest[:end], []byte(".delta")) {
		return 0, 0, nil, false
	}
	if kind = deltaOf(rest[:end]); kind == noDelta {
		return 0, 0, nil, false
	}
	rest = rest[end+1:]
	found, indexed := false, false
	for {
		rest, ok = bytes.CutPrefix(rest, []byte(`,"`))
		if !ok {
			return kind, index, text, found && indexed && string(bytes.TrimSpace(rest)) == "}"
		}
		end = bytes.IndexByte(rest, '"')
		if end < 0 || end+1 >= len(rest) || rest[end+1] != ':' {
			return 0, 0, nil, false
		}
		name := rest[:end]
		rest = rest[end+2:]
		switch {
		case string(name) == "delta":
			if found || len(rest) == 0 || rest[0] != '"' {
				return 0, 0, nil, false
			}
			var n int
			if text, n, ok = wire.AppendUnquoted(d.scratch[:0], rest[1:]); !ok {
				return 0, 0, nil, false
			}
			d.scratch, found, rest = text, true, rest[1+n:]
		case string(name) == "output_index":
			n, digits := 0, 0
			for digits < len(rest) && digits < 6 && '0' <= rest[digits] && rest[digits] <= '9' {
				n = 10*n + int(rest[digits]-'0')
				digits++
			}
			if indexed || digits == 0 || digits > 1 && rest[0] == '0' {
				return 0, 0, nil, false
			}
			index, indexed, rest = n, true, rest[digits:]
		case bytes.EqualFold(name, deltaName) || bytes.EqualFold(name, indexName) || bytes.EqualFold(name, typeName):
			return 0, 0, nil, false // encoding/json would accept these too
		default:
			if rest, ok = skip(rest); !ok || !plain(name) {
				return 0, 0, nil, false
			}
		}
	}
}

// skip returns the rest after a plain string, a number or an empty list.
func skip(data []byte) ([]byte, bool) {
	if len(data) == 0 {
		return nil, false
	}
	switch c := data[0]; {
	case c == '"':
		end := bytes.IndexByte(data[1:], '"')
		if end < 0 || !plain(data[1:1+end]) {
			return nil, false
		}
		return data[end+2:], true
	case '0' <= c && c <= '9':
		n := 1
		for n < len(data) && '0' <= data[n] && data[n] <= '9' {
			n++
		}
		return data[n:], n == 1 || c != '0'
	}
	return bytes.CutPrefix(data, []byte("[]"))
}

// plain reports whether s is ASCII without escapes.
func plain(s []byte) bool {
	for _, c := range s {
		if c < ' ' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// Package jsonfix reads JSON that is still being written: at any time it returns the part
// so far, closed so that it parses.
package jsonfix

import (
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// MaxDepth is how deep a value may be nested.
	MaxDepth = 500
	// MaxSize is how many bytes of text are taken in.
	MaxSize = 16 << 20
)

// A Reader takes the text of one JSON value in pieces. Its result only grows: strings
// become longer, lists and objects get more members. A member, number or literal appears
// once it is certain, because 12 may become 120. If the text breaks the grammar, [MaxDepth]
// or [MaxSize], the result stays as it was. A byte costs the same however much came before
// it. The zero Reader is ready to use.
type Reader struct {
	text   []byte // the certain part; JSON closes it
	held   []byte // the part after it, which is not certain yet
	open   []byte // the brackets that are open
	size   int    // of all that was taken in
	state  state
	isKey  bool // the string under way is a key
	token  int  // where the word or the character under way begins in held
	due    int  // with digits: how many
	high   bool // held begins with a high surrogate, which may be half a character
	broken bool // some bytes of a character are there, others are not
	stuck  bool
}

type state uint8

const (
	value    state = iota // a value is due
	first                 // or the end of the list
	key                   // a key is due
	firstKey              // or the end of the object
	colon
	after  // behind a value
	word   // in a number or a literal
	quoted // in a string
	escape // behind its backslash
	digits // behind its \u
)

// Add takes in the next piece of the text.
func (r *Reader) Add(text string) {
	for i := 0; i < len(text) && !r.stuck; {
		if n := r.plain(text[i:]); n > 0 {
			i += n
			continue
		}
		if r.size++; r.size > MaxSize {
			r.stuck = true
			return
		}
		r.add(text[i])
		i++
	}
}

// JSON returns the certain part, closed: null before the value begins. It is valid until
// the next call of a method.
func (r *Reader) JSON() []byte {
	if len(r.text) == 0 {
		return []byte("null")
	}
	closed := r.text
	if r.state >= quoted && !r.isKey {
		closed = append(closed, '"')
	}
	for i := len(r.open) - 1; i >= 0; i-- {
		closed = append(closed, r.open[i]+2) // in ASCII each bracket is two before the one that closes it
	}
	r.text = closed[:len(r.text)]
	return closed
}

// plain takes in the characters of a string that stand for themselves, and
// returns how many there are at the start of s.
func (r *Reader) plain(s string) int {
	if r.state != quoted || r.isKey || len(r.held) > 0 {
		return 0
	}
	n := 0
	for n < len(s) && n < MaxSize-r.size && s[n] >= ' ' && s[n] < utf8.RuneSelf && s[n] != '"' && s[n] != '\\' {
		n++
	}
	r.text = append(r.text, s[:n]...)
	r.size += n
	return n
}

func (r *Reader) add(c byte) {
	if r.state == word {
		if wordly(c) {
			r.held = append(r.held, c)
			return
		}
		if !json.Valid(r.held[r.token:]) {
			r.stuck = true
			return
		}
		r.settle(len(r.held))
		r.state = after
	}
	if r.state >= quoted {
		r.inString(c)
		return
	}
	if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
		r.held = append(r.held, c)
		return
	}
	r.stuck = !r.between(c)
}

// between reads the characters outside of strings and words. It reports false for a
// character that is not allowed there.
func (r *Reader) between(c byte) bool {
	r.held = append(r.held, c)
	switch r.state {
	case value, first:
		return r.begin(c)
	case key, firstKey:
		if c == '"' {
			r.state, r.isKey = quoted, true
			return true
		}
		return r.state == firstKey && r.end(c)
	case colon:
		r.state = value
		return c == ':'
	}
	if c != ',' || len(r.open) == 0 {
		return r.end(c)
	}
	r.state = value
	if r.open[len(r.open)-1] == '{' {
		r.state = key
	}
	return true
}

// begin takes in the first byte of a value.
func (r *Reader) begin(c byte) bool {
	switch {
	case c == '"':
		r.state, r.isKey = quoted, false
	case c == '{' || c == '[':
		if len(r.open) == MaxDepth {
			return false
		}
		r.open = append(r.open, c)
		r.state = first
		if c == '{' {
			r.state = firstKey
		}
	case c == ']':
		return r.state == first && r.end(c)
	default:
		r.state, r.token = word, len(r.held)-1
		return wordly(c)
	}
	r.settle(len(r.held))
	return true
}

// end takes in a closing bracket.
//
//go:noinline // called from many places: every program stays smaller
func (r *Reader) end(c byte) bool {
	n := len(r.open) - 1
	if n < 0 || r.open[n]+2 != c {
		return false
	}
	r.open, r.state = r.open[:n], after
	r.settle(len(r.held))
	return true
}

// settle makes the first n bytes that are held certain.
//
//go:noinline // called from many places: every program stays smaller
func (r *Reader) settle(n int) {
	r.text = append(r.text, r.held[:n]...)
	r.held = append(r.held[:0], r.held[n:]...)
}

// wordly reports whether c may stand in a number or a literal.
func wordly(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '+' || c == '.'
}

func (r *Reader) inString(c byte) {
	if r.broken && utf8.RuneStart(c) {
		r.character() // cut off, which reads as U+FFFD
	}
	r.held = append(r.held, c)
	switch {
	case r.state == escape:
		r.escaped(c)
	case r.state == digits:
		r.digit(c)
	case c == '"':
		r.quote()
	case c == '\\':
		r.state = escape
	case c < ' ':
		r.stuck = true
	case c < utf8.RuneSelf:
		r.character()
	default:
		if !r.broken {
			r.broken, r.token = true, len(r.held)-1
		}
		if utf8.FullRune(r.held[r.token:]) {
			r.character()
		}
	}
}

// character is called when all held bytes are whole characters.
//
//go:noinline // called from many places: every program stays smaller
func (r *Reader) character() {
	r.broken, r.high = false, false
	if !r.isKey {
		r.settle(len(r.held))
	}
}

// quote ends a string.
func (r *Reader) quote() {
	r.high = false
	if r.isKey {
		r.state = colon
		return
	}
	r.settle(len(r.held))
	r.state = after
}

func (r *Reader) escaped(c byte) {
	switch c {
	case 'u':
		r.state, r.due = digits, 4
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.state = quoted
		r.character()
	default:
		r.stuck = true
	}
}

func (r *Reader) digit(c byte) {
	if c >= 'g' || c < '0' || c > '9' && c < 'A' || c > 'F' && c < 'a' {
		r.stuck = true
		return
	}
	if r.due--; r.due > 0 {
		return
	}
	r.state = quoted
	code, _ := strconv.ParseUint(string(r.held[len(r.held)-4:]), 16, 16)
	if low := rune(code) >= 0xdc00; !utf16.IsSurrogate(rune(code)) || low {
		r.character()
		return
	}
	if r.high && !r.isKey {
		r.settle(len(r.held) - len(`\ud800`)) // the one before stays alone
	}
	r.high = true
}

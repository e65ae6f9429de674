package terminal

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// NewWriter returns a writer that passes [Text] on to a terminal. It is safe for
// concurrent use. A character whose bytes come in two writes is one.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, last: ' '} }

// A Writer writes text to a terminal, without harmful control sequences.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte // the begin of a character
	last rune   // before it
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	whole := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if b := text[len(text)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-i:]) {
				whole -= i
			}
			break
		}
	}
	w.rest = append([]byte(nil), text[whole:]...)
	shown, last := after(w.last, string(text[:whole]))
	w.last = last
	if _, err := io.WriteString(w.w, shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSON returns encoded JSON in which the characters that drive a terminal, and that
// JSON does not escape by itself, are escapes. Its value stays the same.
func JSON(data []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(data); {
		if c := data[i]; c < utf8.RuneSelf && c != 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if drives(r) {
			out = append(append(out, data[from:i]...), fmt.Sprintf(`\u%04x`, r)...)
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return data
	}
	return append(out, data[from:]...)
}

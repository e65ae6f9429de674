package term

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A Decoder turns the bytes that a terminal sends into inputs. It does no I/O and knows no
// time: whoever reads calls Flush when nothing has come for a while. It keeps no more than
// MaxPaste bytes and one unfinished sequence.
//
// Keys arrive in three forms: bytes and sequences of old (xterm), those of xterm's
// modifyOtherKeys, and those of the kitty keyboard protocol.
type Decoder struct {
	// LineFeed says that a line feed ends a line, as a carriage return does.
	LineFeed bool

	rest    []byte // an unfinished sequence or character
	paste   []byte
	pasting bool // between the marks of a bracketed paste
	cut     bool
}

// MaxPaste is how much of a paste is kept.
const MaxPaste = 8 << 20

const (
	maxSequence = 4096 // bytes of an unfinished sequence
	burst       = 256  // so many bytes of text at once are a paste

	pasteEnd = "\x1b[201~"
)

// A reply is what the terminal says about itself. It is not something a person did.
type reply struct {
	kind  replyKind
	mode  int    // of modeReply
	value int    // of modeReply: 0 unknown, 1 set, 2 reset, 3 always set, 4 never set
	text  string // of backgroundReply and versionReply
}

type replyKind int

const (
	modeReply replyKind = iota
	backgroundReply
	versionReply
	pictureReply
	attributesReply // the answer to the last question
)

// Decode takes what one read has returned.
//
// A read that holds a line end with more text behind it, or much text, was not typed: it
// becomes a paste. So a carriage return followed by more bytes is a new line, never the key
// Enter, also in a terminal without bracketed paste.
func (d *Decoder) Decode(read []byte) []input.Input {
	in, _ := d.decode(read)
	return in
}

// Wait returns how long to wait for the rest of an unfinished sequence before Flush is
// called, 0 if there is none. The key Esc looks like the beginning of all sequences.
func (d *Decoder) Wait() time.Duration {
	switch {
	case len(d.rest) == 0 || d.pasting:
		return 0
	case len(d.rest) <= 2:
		return 50 * time.Millisecond
	}
	return time.Second // no key looks like this: the connection is slow
}

// Flush returns the inputs of an unfinished sequence whose rest does not come.
func (d *Decoder) Flush() []input.Input {
	if d.Wait() == 0 {
		return nil
	}
	rest := d.rest
	d.rest = nil
	switch {
	case rest[0] != 0x1b: // half a character
		return nil
	case len(rest) == 1:
		return []input.Input{input.Key{Code: input.Esc}}
	case len(rest) == 2 && rest[1] == 0x1b:
		return []input.Input{input.Key{Code: input.Esc}, input.Key{Code: input.Esc}}
	case len(rest) == 2 && rest[1] < utf8.RuneSelf:
		k := typed(rune(rest[1]))
		k.Alt, k.Text, k.AfterEsc = true, "", true
		return []input.Input{k}
	}
	return nil
}

func (d *Decoder) decode(read []byte) (in []input.Input, replies []reply) {
	if d.pasting && len(read) == 1 && read[0] == 3 { // a terminal that never ends a paste
		in = append(in, d.endPaste(), input.Key{Code: 'c', Ctrl: true})
		return in, nil
	}
	s := read
	if string(d.rest) == "\x1b" && len(read) > 0 && !continues(read[0]) { // Esc, then another key
		in = append(in, input.Key{Code: input.Esc})
		d.rest = nil
	}
	if len(d.rest) > 0 {
		s = append(d.rest, read...)
		d.rest = nil
	}
	for len(s) > 0 {
		if d.pasting {
			var done bool
			if s, done = d.pasted(s); done {
				in = append(in, d.endPaste())
			}
			continue
		}
		switch {
		case s[0] == 0x1b:
			n, e := escape(s)
			if n == 0 && len(s) < maxSequence {
				d.rest = bytes.Clone(s)
				return in, replies
			}
			if n == 0 { // no terminal sends such a long sequence
				return in, replies
			}
			s = s[n:]
			switch e := e.(type) {
			case reply:
				replies = append(replies, e)
			case pasteBegin:
				d.pasting = true
			case input.Input:
				in = append(in, e)
			}
		case isText(s[0]):
			n := run(s)
			if n == 0 {
				d.rest = bytes.Clone(s) // the beginning of a character
				return in, replies
			}
			in = append(in, d.texts(s[:n])...)
			s = s[n:]
		default:
			in = append(in, control(s[0]))
			s = s[1:]
		}
	}
	return in, replies
}

// continues reports whether a byte behind an Esc of an earlier read may belong to a sequence. A
// terminal sends Alt and a letter at once, so other bytes are keys of their own.
func continues(c byte) bool { return strings.IndexByte("[O]P_^X", c) >= 0 }

// pasted takes the bytes of a paste and returns those behind it, and whether it has ended.
func (d *Decoder) pasted(s []byte) (rest []byte, done bool) {
	n := bytes.Index(s, []byte(pasteEnd))
	if n >= 0 {
		d.keep(s[:n])
		return s[n+len(pasteEnd):], true
	}
	n = len(s)
	for k := min(len(pasteEnd)-1, len(s)); k > 0; k-- {
		if strings.HasPrefix(pasteEnd, string(s[len(s)-k:])) {
			n = len(s) - k
			break
		}
	}
	d.keep(s[:n])
	d.rest = bytes.Clone(s[n:])
	return nil, false
}

func (d *Decoder) keep(b []byte) {
	if free := MaxPaste - len(d.paste); len(b) > free {
		b, d.cut = b[:free], true
	}
	d.paste = append(d.paste, b...)
}

func (d *Decoder) endPaste() input.Paste {
	p := input.Paste{Text: lines(d.paste), Cut: d.cut}
	d.paste, d.pasting, d.cut, d.rest = nil, false, false, nil
	return p
}

// lines returns pasted text, with line ends as they are in Go. Terminals send a carriage
// return for each.
func lines(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\ufffd")
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	return s
}

// isText reports whether a byte can be part of text that is pasted without marks.
func isText(c byte) bool { return c >= 0x20 && c != 0x7f || c == '\r' || c == '\n' || c == '\t' }

// run returns the length of the text at the beginning of s, without the beginning of a
// character at its end.
func run(s []byte) int {
	n := 0
	for n < len(s) && isText(s[n]) {
		n++
	}
	if n < len(s) {
		return n
	}
	for k := 1; k < utf8.UTFMax && k <= n; k++ {
		if c := s[n-k]; utf8.RuneStart(c) {
			if !utf8.FullRune(s[n-k : n]) {
				return n - k
			}
			break
		}
	}
	return n
}

// texts returns a run of text as keys, or as a paste.
func (d *Decoder) texts(b []byte) (in []input.Input) {
	body, enter := bytes.CutSuffix(b, []byte{'\r'})
	if !enter && d.LineFeed {
		body, enter = bytes.CutSuffix(b, []byte{'\n'})
		body = bytes.TrimSuffix(body, []byte{'\r'})
	}
	switch {
	case len(body) == 0:
	case string(body) == "\n":
		in = append(in, control('\n'))
	case len(body) >= burst || bytes.ContainsAny(body, "\r\n"):
		in = append(in, input.Paste{Text: lines(body)})
	default:
		for _, r := range string(body) {
			if r == '\t' {
				in = append(in, control('\t'))
			} else if r >= 0xa0 || r < 0x7f {
				in = append(in, typed(r))
			}
		}
	}
	if enter {
		in = append(in, control('\r'))
	}
	return in
}

// typed returns the key that types a character.
func typed(r rune) input.Key {
	lower := unicode.ToLower(r)
	return input.Key{Code: lower, Text: string(r), Shift: lower != r}
}

// control returns the key of a control character.
func control(c byte) input.Key {
	switch {
	case c == '\r' || c == '\t' || c == 0x7f:
		return input.Key{Code: rune(c)}
	case c == 8:
		return input.Key{Code: input.Backspace}
	case c == 0:
		return input.Key{Code: input.Space, Ctrl: true}
	case c <= 26:
		return input.Key{Code: rune('a' + c - 1), Ctrl: true}
	default: // 28 to 31
		return input.Key{Code: rune(c) + 0x40, Ctrl: true}
	}
}

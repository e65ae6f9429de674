package term

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// pasteBegin is the mark before a bracketed paste.
type pasteBegin struct{}

// escape returns what the sequence at the beginning of s means, and its length: 0 if it is
// not complete. The meaning is an input.Input, a reply, pasteBegin, or nil if it has none.
func escape(s []byte) (n int, e any) {
	if len(s) < 2 {
		return 0, nil
	}
	switch s[1] {
	case '[':
		return csi(s)
	case 'O':
		return ss3(s)
	case ']', 'P', '_', '^', 'X':
		return long(s)
	case 0x1b:
		if len(s) == 2 {
			return 0, nil
		}
		if s[2] == '[' || s[2] == 'O' { // some terminals send Alt with a key this way
			n, e := escape(s[1:])
			if n == 0 {
				return 0, nil
			}
			if k, ok := e.(input.Key); ok {
				k.Alt, k.AfterEsc = true, true
				return n + 1, k
			}
		}
		return 1, input.Key{Code: input.Esc}
	}
	k := input.Key{}
	n = 2
	if s[1] < 0x20 || s[1] == 0x7f {
		k = control(s[1])
	} else {
		if !utf8.FullRune(s[1:]) {
			return 0, nil
		}
		r, size := utf8.DecodeRune(s[1:])
		if r == utf8.RuneError || 0x80 <= r && r < 0xa0 {
			return 1 + size, nil
		}
		k = typed(r)
		n = 1 + size
	}
	k.Alt, k.Text, k.AfterEsc = true, "", true
	return n, k
}

// long decodes a sequence that ends with ST, or OSC with BEL.
func long(s []byte) (n int, e any) {
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == 7 && s[1] == ']':
			return i + 1, osc(s[2:i])
		case s[i] == 0x1b && i+1 == len(s):
			return 0, nil
		case s[i] == 0x1b && s[i+1] == '\\':
			if s[1] == ']' {
				return i + 2, osc(s[2:i])
			}
			if version, ok := bytes.CutPrefix(s[2:i], []byte(">|")); ok && s[1] == 'P' {
				return i + 2, reply{kind: versionReply, text: string(version)}
			}
			if s[1] == '_' && string(s[2:i]) == pictureAnswer {
				return i + 2, reply{kind: pictureReply}
			}
			return i + 2, nil
		case s[i] == 0x1b: // another sequence: this one has no end
			return i, nil
		}
	}
	return 0, nil
}

func osc(s []byte) any {
	if colour, ok := bytes.CutPrefix(s, []byte("11;")); ok {
		return reply{kind: backgroundReply, text: string(colour)}
	}
	return nil
}

// ss3 decodes ESC O and a letter.
func ss3(s []byte) (n int, e any) {
	if len(s) < 3 {
		return 0, nil
	}
	if code := letters[s[2]]; code != 0 {
		return 3, input.Key{Code: code}
	}
	switch c := s[2]; {
	case c == 'M':
		return 3, input.Key{Code: input.Enter}
	case 'j' <= c && c <= 'y': // the keypad
		return 3, typed(rune(c - 'j' + '*'))
	case c < 0x20 || c == 0x7f: // Alt+O and another key
		return 2, input.Key{Code: 'o', Alt: true, Shift: true}
	}
	return 3, input.Key{Code: input.Unknown}
}

// letters are the keys by the letter that ends their sequences.
var letters = map[byte]rune{
	'A': input.Up, 'B': input.Down, 'C': input.Right, 'D': input.Left, 'H': input.Home, 'F': input.End,
	'P': input.F1, 'Q': input.F2, 'R': input.F3, 'S': input.F4, 'Z': input.Tab,
}

// numbers are the keys by the number in sequences that end with a tilde.
var numbers = map[int]rune{
	1: input.Home, 2: input.Insert, 3: input.Delete, 4: input.End, 5: input.PageUp, 6: input.PageDown, 7: input.Home, 8: input.End,
	11: input.F1, 12: input.F2, 13: input.F3, 14: input.F4, 15: input.F5, 17: input.F6, 18: input.F7, 19: input.F8,
	20: input.F9, 21: input.F10, 23: input.F11, 24: input.F12,
}

// keypad are keys by their codes in the kitty keyboard protocol. Those up to the equals sign
// type a character.
var keypad = map[int]rune{
	57409: '.', 57410: '/', 57411: '*', 57412: '-', 57413: '+', 57414: input.Enter, 57415: '=', 57416: ',',
	57417: input.Left, 57418: input.Right, 57419: input.Up, 57420: input.Down, 57421: input.PageUp, 57422: input.PageDown,
	57423: input.Home, 57424: input.End, 57425: input.Insert, 57426: input.Delete,
}

// csi decodes ESC [, parameters and a final character.
func csi(s []byte) (n int, e any) {
	if len(s) > 2 && s[2] == '[' { // function keys of the Linux console
		if len(s) == 3 {
			return 0, nil
		}
		if 'A' <= s[3] && s[3] <= 'E' {
			return 4, input.Key{Code: input.F1 + rune(s[3]-'A')}
		}
		return 3, nil
	}
	end := 2
	for end < len(s) && 0x20 <= s[end] && s[end] < 0x40 {
		end++
	}
	if end == len(s) {
		return 0, nil
	}
	if s[end] < 0x40 || s[end] > 0x7e { // not a sequence
		return end, nil
	}
	return end + 1, meaning(string(s[2:end]), s[end])
}

// meaning returns what a sequence with parameters and a final character means.
func meaning(params string, final byte) any {
	if strings.HasPrefix(params, "?") {
		return answer(params[1:], final)
	}
	if params != "" && params[0] > ';' || strings.Trim(params, "0123456789;:") != "" {
		return nil
	}
	p := parameters(params)
	switch {
	case final == 'I' || final == 'O':
		if params == "" {
			return input.Focus{In: final == 'I'}
		}
	case final == '~' && p.number(0, 0) == 200:
		return pasteBegin{}
	case final == '~' && p.number(0, 0) == 27:
		return p.key(p.number(2, 0))
	case final == '~' && p.number(0, 0) == 201: // the end of a paste that has not begun
		return nil
	case final == '~':
		return p.modified(numbers[p.number(0, 0)])
	case final == 'u':
		return p.key(p.number(0, 0))
	case final == 'Z':
		return input.Key{Code: input.Tab, Shift: true}
	case letters[final] != 0:
		return p.modified(letters[final])
	}
	return input.Key{Code: input.Unknown}
}

// answer returns the reply in a sequence that answers a question.
func answer(params string, final byte) any {
	switch {
	case final == 'c':
		return reply{kind: attributesReply}
	case final == 'y' && strings.HasSuffix(params, "$"):
		p := parameters(strings.TrimSuffix(params, "$"))
		return reply{kind: modeReply, mode: p.number(0, 0), value: p.number(1, 0)}
	}
	return nil
}

// parameters are the numbers of a sequence: separated by semicolons, each with further ones
// after colons.
type fields [][]int

func parameters(s string) fields {
	var f fields
	for _, field := range strings.Split(s, ";") {
		var sub []int
		for _, number := range strings.Split(field, ":") {
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 || n > unicode.MaxRune {
				n = 0
			}
			sub = append(sub, n)
		}
		f = append(f, sub)
	}
	return f
}

// number returns part j of field i, 0 if it is absent.
func (f fields) number(i, j int) int {
	if i < len(f) && j < len(f[i]) {
		return f[i][j]
	}
	return 0
}

// The modifiers as terminals send them, one more than the sum.
const (
	shiftBit = 1
	altBits  = 2 | 32 // Alt and Meta
	ctrlBit  = 4
	superBit = 8 | 16 // Super and Hyper: keys of the window system
)

// modified returns a key with the modifiers in field 1, nil for the release of a key.
func (f fields) modified(code rune) any {
	mods := max(f.number(1, 0)-1, 0)
	switch {
	case f.number(1, 1) == 3:
		return nil
	case code == 0 || mods&superBit != 0:
		return input.Key{Code: input.Unknown}
	}
	return input.Key{Code: code, Alt: mods&altBits != 0, Ctrl: mods&ctrlBit != 0, Shift: mods&shiftBit != 0}
}

// key returns the key with a code of Unicode or of the kitty keyboard protocol. Field 0 may
// hold what the key is with Shift, and what it is on a keyboard for English.
func (f fields) key(code int) any {
	r := rune(code)
	if special, ok := keypad[code]; ok {
		r = special
	} else if 57399 <= code && code <= 57408 {
		r = '0' + rune(code-57399)
	} else if 57344 <= code && code <= 63743 { // lone modifiers, media keys and others
		r = 0
	}
	k, ok := f.modified(r).(input.Key)
	if !ok {
		return nil
	}
	if k.Code == input.Unknown || r > unicode.MaxRune {
		return k
	}
	if r < 0x20 || r == 0x7f {
		if r == input.Enter || r == input.Tab || r == input.Esc || r == input.Backspace {
			return k
		}
		return input.Key{Code: input.Unknown}
	}
	if 0x80 <= r && r < 0xa0 || !utf8.ValidRune(r) {
		return input.Key{Code: input.Unknown}
	}
	lower := unicode.ToLower(r)
	k.Code, k.Shift = lower, k.Shift || lower != r
	if k.Ctrl || k.Alt {
		shifted, english := rune(f.number(0, 1)), rune(f.number(0, 2))
		switch {
		case lower >= utf8.RuneSelf && 0x20 < english && english < 0x7f:
			k.Code = english // Ctrl+С on a Cyrillic keyboard is Ctrl+C
		case k.Shift && 0x20 < shifted && shifted < 0x7f && !unicode.IsLetter(shifted):
			k.Code, k.Shift = shifted, false // Ctrl+_ is Ctrl+Shift+- on the keyboard
		}
		return k
	}
	if k.Text = string(r); k.Shift {
		if shifted := rune(f.number(0, 1)); shifted > 0xa0 || 0x20 < shifted && shifted < 0x7f {
			k.Text = string(shifted)
		} else {
			k.Text = string(unicode.ToUpper(r))
		}
	}
	return k
}

// Package input holds the values in which a terminal reports what the person does: keys,
// pastes, sizes and the focus of the window. The values are plain: they know nothing of the
// terminal that sent them, nor of the time.
//
//	switch in := in.(type) {
//	case input.Key:
//		if in.Is('c', input.Ctrl) {
//			…
//		}
//	case input.Paste:
//		editor.Insert(in.Text)
//	}
package input

import (
	"strings"
	"unicode"
)

// An Input is a Key, Paste, Resize or Focus.
type Input interface{ input() }

func (Key) input()    {}
func (Paste) input()  {}
func (Resize) input() {}
func (Focus) input()  {}

// A Key is one press of a key.
type Key struct {
	// Code is the key: one of the special keys below, or the letter on it without Shift: 'a'
	// for both a and A. Ctrl+A is Key{Code: 'a', Ctrl: true}.
	Code rune

	// Text is what the key types. It is "" for special keys and for presses with Alt or Ctrl.
	// It holds no control characters. A person who types with an input method sends several
	// letters at once.
	Text string

	Alt, Ctrl, Shift bool

	// AfterEsc says that the terminal sent Alt as an Esc before the key. The person may have
	// pressed Esc and the key one after the other.
	AfterEsc bool
}

// Apart returns the key of an Alt that may have been Esc, without it.
func (k Key) Apart() Key {
	k.Alt, k.AfterEsc = false, false
	if !k.Ctrl && k.Code >= Space && k.Code < Backspace || k.Code >= 0xa0 && k.Code <= unicode.MaxRune {
		r := k.Code
		if k.Shift {
			r = unicode.ToUpper(r)
		}
		k.Text = string(r)
	}
	return k
}

// A Paste is text that the terminal marked as pasted. Line ends are "\n". The text is not
// sanitised otherwise.
type Paste struct {
	Text string

	// Cut says that the paste was longer than the reader's bound. Text holds its beginning.
	Cut bool
}

// A Resize tells the size of the terminal, in cells.
type Resize struct{ W, H int }

// A Focus tells whether the window of the terminal has the keyboard.
type Focus struct{ In bool }

// The special keys. Their codes lie above those of all letters.
const (
	Up rune = 0x110000 + iota
	Down
	Right
	Left
	Home
	End
	PageUp
	PageDown
	Insert
	Delete
	F1
	F2
	F3
	F4
	F5
	F6
	F7
	F8
	F9
	F10
	F11
	F12

	// Unknown is a key that has no name here. Text and modifiers are those that were sent.
	Unknown
)

// The special keys that ASCII has codes for.
const (
	Tab       rune = '\t'
	Enter     rune = '\r'
	Esc       rune = 0x1b
	Space     rune = ' '
	Backspace rune = 0x7f
)

// A Mod is a set of modifiers.
type Mod uint8

// The modifiers.
const (
	Alt Mod = 1 << iota
	Ctrl
	Shift
)

// Is reports whether k is the key code, pressed with just these modifiers. Is ignores
// whether Shift is held if the key types text.
func (k Key) Is(code rune, mods Mod) bool {
	shift := mods&Shift != 0
	if k.Text != "" {
		shift = k.Shift
	}
	return k.Code == code && k.Alt == (mods&Alt != 0) && k.Ctrl == (mods&Ctrl != 0) && k.Shift == shift
}

var names = map[rune]string{
	Up: "up", Down: "down", Right: "right", Left: "left", Home: "home", End: "end",
	PageUp: "pageup", PageDown: "pagedown", Insert: "insert", Delete: "delete",
	F1: "f1", F2: "f2", F3: "f3", F4: "f4", F5: "f5", F6: "f6",
	F7: "f7", F8: "f8", F9: "f9", F10: "f10", F11: "f11", F12: "f12",
	Unknown: "unknown",
	Tab:     "tab", Enter: "enter", Esc: "esc", Space: "space", Backspace: "backspace",
}

// String returns the name of the key, such as "ctrl+c", "alt+enter", "shift+tab" or "a".
// Parse reads it.
func (k Key) String() string {
	var b strings.Builder
	for _, m := range []struct {
		on   bool
		name string
	}{{k.Ctrl, "ctrl+"}, {k.Alt, "alt+"}, {k.Shift && k.Text == "", "shift+"}} {
		if m.on {
			b.WriteString(m.name)
		}
	}
	switch name := names[k.Code]; {
	case name != "":
		b.WriteString(name)
	case k.Text != "":
		b.WriteString(k.Text)
	default:
		b.WriteRune(k.Code)
	}
	return b.String()
}

// Parse returns the key with a name as String writes it.
func Parse(name string) (Key, bool) {
	var k Key
	for {
		mod, rest, ok := strings.Cut(name, "+")
		if !ok || rest == "" {
			break
		}
		switch mod {
		case "ctrl":
			k.Ctrl = true
		case "alt":
			k.Alt = true
		case "shift":
			k.Shift = true
		default:
			return Key{}, false
		}
		name = rest
	}
	for code, special := range names {
		if name == special {
			k.Code = code
			if code == Space && !k.Ctrl && !k.Alt {
				k.Text = " "
			}
			return k, true
		}
	}
	return k.typed(name)
}

// typed fills in the key that types a text.
func (k Key) typed(text string) (Key, bool) {
	r := []rune(text)
	if len(r) == 0 {
		return Key{}, false
	}
	k.Code = r[0]
	if 'A' <= k.Code && k.Code <= 'Z' {
		k.Code += 'a' - 'A'
		k.Shift = true
	}
	if !k.Ctrl && !k.Alt {
		k.Text = text
		return k, true
	}
	return k, len(r) == 1
}

// Type returns the keys that type a text, letter by letter: for tests and macros. A line end
// in it is Enter.
func Type(text string) []Key {
	var keys []Key
	for _, r := range text {
		if r == '\n' {
			keys = append(keys, Key{Code: Enter})
			continue
		}
		k, _ := Key{}.typed(string(r))
		keys = append(keys, k)
	}
	return keys
}

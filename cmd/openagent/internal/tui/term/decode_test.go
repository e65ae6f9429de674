package term

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// names returns inputs as text: keys by their names, and what else was sent.
func names(in []input.Input) string {
	var out []string
	for _, i := range in {
		switch i := i.(type) {
		case input.Key:
			out = append(out, i.String())
		case input.Paste:
			out = append(out, fmt.Sprintf("paste(%q)", i.Text))
		default:
			out = append(out, fmt.Sprintf("%+v", i))
		}
	}
	return strings.Join(out, " ")
}

func TestKeys(t *testing.T) {
	for bytes, want := range map[string]string{
		"a":        "a",
		"Hi":       "H i",
		"语":        "语",
		"ö Ö":      "ö space Ö",
		"\r":       "enter",
		"\n":       "ctrl+j",
		"\t":       "tab",
		"\x7f":     "backspace",
		"\x08":     "backspace",
		"\x00":     "ctrl+space",
		"\x01\x1a": "ctrl+a ctrl+z",
		"\x1f":     "ctrl+_",
		"\x1d":     "ctrl+]",

		"\x1ba":           "alt+a",
		"\x1bA":           "alt+shift+a",
		"\x1b\r":          "alt+enter",
		"\x1b\x7f":        "alt+backspace",
		"\x1b\x1ba":       "esc alt+a",
		"\x1b\x1b[A":      "alt+up",
		"\x1b[A\x1bOB":    "up down",
		"\x1b[1;5C":       "ctrl+right",
		"\x1b[1;3D":       "alt+left",
		"\x1b[1;4H":       "alt+shift+home",
		"\x1b[3~\x1b[5~":  "delete pageup",
		"\x1b[3;5~":       "ctrl+delete",
		"\x1b[Z":          "shift+tab",
		"\x1bOP\x1b[15~":  "f1 f5",
		"\x1b[[B":         "f2",
		"\x1bOM\x1bOp":    "enter 0",
		"\x1b[27;2;13~":   "shift+enter",
		"\x1b[27;5;105~":  "ctrl+i",
		"\x1b[27u":        "esc",
		"\x1b[13;2u":      "shift+enter",
		"\x1b[99;5u":      "ctrl+c",
		"\x1b[1089;5u":    "ctrl+с",
		"\x1b[97;2u":      "A",
		"\x1b[97:65;2u":   "A",
		"\x1b[57417u":     "left",
		"\x1b[57400u":     "1",
		"\x1b[57441;2u":   "unknown",
		"\x1b[97;9u":      "unknown",
		"\x1b[97;1:3u":    "",
		"\x1b[1;1:3A":     "",
		"\x1b[49;7u":      "ctrl+alt+1",
		"\x1b[9999999999": "",

		"\x1b[1089::99;5u":    "ctrl+c", // on a Cyrillic keyboard
		"\x1b[45:95;6u":       "ctrl+_",
		"\x1b[I\x1b[O":        "{In:true} {In:false}",
		"\x1b[?1;2c":          "",
		"\x1b[?2026;2$y":      "",
		"\x1b]11;rgb:0/0/0\a": "",
		"\x1b[M":              "unknown",
		"\x1b[12~":            "f2",
		"\x1b[99~":            "unknown",
		"\x1b[201~":           "",
		"\x1b[\x01":           "ctrl+a",
		"\xc2\x9b\x85":        "�",
	} {
		d := &Decoder{}
		if got := names(d.Decode([]byte(bytes))); got != want {
			t.Errorf("%q: %s, want %s", bytes, got, want)
		}
	}
}

func TestReplies(t *testing.T) {
	for bytes, want := range map[string]reply{
		"\x1b[?2026;2$y":                   {kind: modeReply, mode: 2026, value: 2},
		"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\": {kind: backgroundReply, text: "rgb:1e1e/1e1e/2e2e"},
		"\x1b]11;rgb:ffff/ffff/ffff\a":     {kind: backgroundReply, text: "rgb:ffff/ffff/ffff"},
		"\x1bP>|WezTerm 20240203\x1b\\":    {kind: versionReply, text: "WezTerm 20240203"},
		"\x1b[?62;4c":                      {kind: attributesReply},
	} {
		d := &Decoder{}
		if in, got := d.decode([]byte(bytes)); len(in) > 0 || !reflect.DeepEqual(got, []reply{want}) {
			t.Errorf("%q: %v %+v, want %+v", bytes, in, got, want)
		}
	}
}

// A sequence that comes in parts is one. What it was, if the rest does not come, is clear
// after a while.
func TestParts(t *testing.T) {
	for _, whole := range []string{"\x1b[A", "\x1b[1;5C", "\x1bOP", "\x1b[200~a\rb\x1b[201~", "语", "\x1b]11;rgb:0/0/0\x1b\\", "\x1b[1089::99;5u"} {
		want := names((&Decoder{}).Decode([]byte(whole)))
		for i := 1; i < len(whole); i++ {
			d := &Decoder{}
			in := append(d.Decode([]byte(whole[:i])), d.Decode([]byte(whole[i:]))...)
			if got := names(in); got != want {
				t.Errorf("%q and %q: %s, want %s", whole[:i], whole[i:], got, want)
			}
			if d.Wait() != 0 {
				t.Errorf("%q: something is left", whole)
			}
		}
	}
	for _, keys := range []string{"a", "语", "\r", "\x03", "\x1b[A", "\x1b"} { // Esc, then another key
		d, after := &Decoder{}, &Decoder{}
		in := append(append(d.Decode([]byte{0x1b}), d.Decode([]byte(keys))...), d.Flush()...)
		want := "esc " + names(append(after.Decode([]byte(keys)), after.Flush()...))
		if got := names(in); got != want {
			t.Errorf("Esc and %q: %s, want %s", keys, got, want)
		}
	}
	for bytes, want := range map[string]string{
		"\x1b": "esc", "\x1b\x1b": "esc esc", "\x1b[": "alt+[", "\x1bO": "alt+shift+o", "\x1b]": "alt+]", "\x1b[1;": "", "\xe8": "",
	} {
		d := &Decoder{}
		if in := d.Decode([]byte(bytes)); len(in) > 0 || d.Wait() == 0 {
			t.Errorf("%q: %s at once", bytes, names(in))
		}
		if got := names(d.Flush()); got != want || d.Wait() != 0 {
			t.Errorf("%q: %s, want %s", bytes, got, want)
		}
	}
}

func TestPastes(t *testing.T) {
	long := strings.Repeat("0123456789", 12_000)
	for bytes, want := range map[string]string{
		"\x1b[200~one\rtwo\r\nthree\nfour\x1b[201~x": `paste("one\ntwo\nthree\nfour") x`,
		"\x1b[200~\x1b[A\x03\x1b[201~":               `paste("\x1b[A\x03")`,
		"\x1b[200~" + long + "\x1b[201~":             fmt.Sprintf("paste(%q)", long),
		"\x1b[200~\x1b[201~":                         `paste("")`,

		// Without marks: text behind a line end was not typed.
		"one\rtwo":     `paste("one\ntwo")`,
		"one\rtwo\r":   `paste("one\ntwo") enter`,
		"one\r\n":      `paste("one\n")`,
		"one\r":        "o n e enter",
		"one\ntwo\x03": `paste("one\ntwo") ctrl+c`,
		"\r\x1b[I":     "enter {In:true}",
		long[:300]:     fmt.Sprintf("paste(%q)", long[:300]),
	} {
		d := &Decoder{}
		if got := names(d.Decode([]byte(bytes))); got != want {
			t.Errorf("%.60q: %.200s, want %.200s", bytes, got, want)
		}
	}
}

// Programs end lines with a line feed.
func TestLineFeeds(t *testing.T) {
	for bytes, want := range map[string]string{
		"\n": "enter", "\r": "enter", "one\n": "o n e enter", "one\r\n": "o n e enter",
		"one\ntwo\n": `paste("one\ntwo") enter`, "one\ntwo": `paste("one\ntwo")`, "\x1b[200~a\n\x1b[201~": `paste("a\n")`,
	} {
		d := &Decoder{LineFeed: true}
		if got := names(d.Decode([]byte(bytes))); got != want {
			t.Errorf("%q: %s, want %s", bytes, got, want)
		}
	}
}

// A terminal that does not end a paste keeps nobody from leaving.
func TestPasteWithoutEnd(t *testing.T) {
	d := &Decoder{}
	d.Decode([]byte("\x1b[200~never ended"))
	if got := names(d.Decode([]byte{3})); got != `paste("never ended") ctrl+c` {
		t.Error(got)
	}
}

func TestPasteIsBounded(t *testing.T) {
	d := &Decoder{}
	d.Decode([]byte("\x1b[200~"))
	for range MaxPaste/1000 + 10 {
		d.Decode([]byte(strings.Repeat("x", 1000)))
	}
	in := d.Decode([]byte("\x1b[201~a"))
	p, ok := in[0].(input.Paste)
	if !ok || len(p.Text) != MaxPaste || !p.Cut || len(in) != 2 {
		t.Errorf("%d inputs, %d bytes, cut: %v", len(in), len(p.Text), p.Cut)
	}
}

// Whatever a terminal sends, in whatever parts: the decoder does not panic, keeps little,
// types no control character and loses no text.
func FuzzDecoder(f *testing.F) {
	for _, s := range []string{"hello\r", "\x1b[200~a\rb\x1b[201~", "\x1b[1;5C\x1bOP", "\x1b]11;rgb:0/0/0\x1b\\", "\x1bP>|x\x1b\\", "\x1b[1089::99;5u", "日本\x1b", "\x1b[27;2;13~"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		d := &Decoder{}
		size = max(size, 1)
		var in []input.Input
		for rest := b; len(rest) > 0; {
			n := min(size, len(rest))
			in = append(in, d.Decode(rest[:n])...)
			rest = rest[n:]
			if len(d.rest) > maxSequence+size {
				t.Fatalf("%d bytes are kept", len(d.rest))
			}
		}
		in = append(in, d.Flush()...)
		if d.Flush() != nil {
			t.Fatal("Flush leaves something")
		}
		var text strings.Builder
		for _, i := range in {
			switch i := i.(type) {
			case input.Key:
				if strings.ContainsFunc(i.Text, func(r rune) bool { return r < 0x20 || 0x7f <= r && r < 0xa0 }) || !utf8.ValidString(i.Text) {
					t.Fatalf("%+v types a control character", i)
				}
				if i.Text != "" && (i.Ctrl || i.Alt) {
					t.Fatalf("%+v types a text", i)
				}
				text.WriteString(i.Text)
			case input.Paste:
				if !utf8.ValidString(i.Text) || strings.Contains(i.Text, "\r") {
					t.Fatalf("%q is pasted", i.Text)
				}
				text.WriteString(i.Text)
			}
		}
		for _, c := range b {
			if c < 0x20 || c >= 0x7f {
				return
			}
		}
		if text.String() != string(b) {
			t.Fatalf("%q was typed, not %q", text.String(), b)
		}
	})
}

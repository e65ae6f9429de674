package ui

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// at is an editor with a text in which ▏ marks the caret.
func at(text string) Editor {
	before, after, _ := strings.Cut(text, "▏")
	e := Editor{}.Insert(before + after)
	e.Caret = len(before)
	e.last = opOther
	return e
}

func (e Editor) marked() string { return e.Text[:e.Caret] + "▏" + e.Text[e.Caret:] }

func TestEditorKeys(t *testing.T) {
	for _, c := range []struct{ text, keys, want string }{
		{"▏", "a b", "ab▏"},
		{"abc▏", "left left x", "ax▏bc"},
		{"one two▏", "alt+b", "one ▏two"},
		{"▏one two", "alt+f", "one▏ two"},
		{"one two▏", "ctrl+w", "one ▏"},
		{"one two▏", "ctrl+w ctrl+w", "▏"},
		{"one two▏", "ctrl+w ctrl+w ctrl+y", "one two▏"},
		{"one two▏", "ctrl+a ctrl+k ctrl+y ctrl+y", "one twoone two▏"},
		{"▏a b", "alt+d alt+d ctrl+y", "a b▏"},
		{"a▏b", "ctrl+k left ctrl+y", "b▏a"},
		{"one▏", "ctrl+u x ctrl+k ctrl+y", "xone▏"},
		{"one▏", "ctrl+w a ctrl+w ctrl+y alt+y", "one▏"},
		{"x\ny▏", "ctrl+a ctrl+u", "x\n▏y"},
		{"x▏\ny", "ctrl+k", "x▏y"},
		{"x▏", "alt+enter y", "x\ny▏"},
		{"x▏", "shift+enter y ctrl+j", "x\ny\n▏"},
		{"x▏", "y ctrl+_", "x▏"},
		{"x▏", "y ctrl+_ ctrl+_ ctrl+_", "▏"},
		// Letters of several characters are one letter.
		{"👨‍👩‍👧▏", "backspace", "▏"},
		{"日本▏", "backspace", "日▏"},
		{"e\u0301▏", "left", "▏e\u0301"},
		{"▏🇩🇪🇫🇷", "delete", "▏🇫🇷"},
		{"a\nb▏", "ctrl+home", "▏a\nb"},
		{"▏", "backspace delete left right ctrl+k ctrl+u ctrl+w ctrl+y alt+y ctrl+_", "▏"},
	} {
		e := at(c.text)
		for name := range strings.FieldsSeq(c.keys) {
			k, ok := input.Parse(name)
			if !ok {
				t.Fatalf("no key %q", name)
			}
			if e, ok = e.Key(k); !ok {
				t.Errorf("%s is no key of an editor", name)
			}
		}
		if got := e.marked(); got != c.want {
			t.Errorf("%q and %s: %q, want %q", c.text, c.keys, got, c.want)
		}
	}
}

func TestVertical(t *testing.T) {
	for _, c := range []struct {
		text  string
		by    int
		width int
		want  string // "": there is no such row
	}{
		{"ab\ncd▏", -1, 10, "ab▏\ncd"},
		{"ab\nc▏", -1, 10, "a▏b\nc"},
		{"ab▏\nc", 1, 10, "ab\nc▏"},
		{"ab▏", -1, 10, ""},
		{"ab▏", 1, 10, ""},
		{"abcdef▏gh", -1, 4, "ab▏cdefgh"},
		{"a▏bcdefgh", 1, 4, "abcde▏fgh"},
		{"日本語▏", -1, 4, "日▏本語"},
	} {
		e, ok := at(c.text).vertical(c.by, c.width)
		if ok != (c.want != "") || ok && e.marked() != c.want {
			t.Errorf("%q by %d: %q, want %q", c.text, c.by, e.marked(), c.want)
		}
	}
}

func TestChips(t *testing.T) {
	lines := strings.Repeat("line\n", 60)
	e := at("see ▏ end").Paste(lines)
	if got := e.Label([]rune(e.Text)[4]); got != "[paste 1 · 60 lines]" {
		t.Errorf("label %q", got)
	}
	if text, _ := e.Content(); text != "see "+lines+" end" {
		t.Errorf("content %q", text)
	}
	if got := e.expand(); got.Text != "see "+lines+" end" {
		t.Errorf("expanded %q", got.Text)
	}
	if got := e.moveTo(len(e.Text)).expand(); got.Text != "see "+lines+" end" {
		t.Errorf("expanded from behind it: %q", got.Text)
	}
	if got := e.moveTo(0).expand(); got.Text != "see "+lines+" end" {
		t.Errorf("expanded from before it: %q", got.Text)
	}
	if got, _ := e.Key(input.Key{Code: input.Backspace}); got.Text != "see  end" {
		t.Errorf("a chip is deleted whole, not %q", got.Text)
	}
	e = at("▏").Paste(strings.Repeat("x", 1001))
	if got := e.Label(firstChip); got != "[paste 1 · 1001 characters]" {
		t.Errorf("label %q", got)
	}
	e = at("▏").AddImage("/tmp/a.png", "1200×800")
	if text, images := e.Content(); text != "[image 1 · 1200×800]" || len(images) != 1 || images[0] != "/tmp/a.png" {
		t.Errorf("%q %q", text, images)
	}
	// A letter that stands for a chip cannot be typed, pasted or recalled.
	fake := string(rune(firstChip))
	for _, e := range []Editor{at("▏").Paste(strings.Repeat("y", 2000)).Insert(fake), at("▏").Paste("a" + fake), at("▏").recall(fake)} {
		if text, _ := e.Content(); !strings.HasSuffix(text, fake) {
			t.Errorf("%q", text)
		}
	}
}

func TestHistory(t *testing.T) {
	h := NewHistory([]string{"one", "two"})
	e := at("draft▏")
	up := func() { h, e, _ = h.move(e, -1) }
	down := func() { h, e, _ = h.move(e, 1) }
	up()
	if e.Text != "two" {
		t.Error(e.Text)
	}
	e = e.Insert("!")
	up()
	up()
	if e.Text != "one" {
		t.Error(e.Text)
	}
	down()
	if e.Text != "two!" {
		t.Errorf("a changed entry keeps its change, not %q", e.Text)
	}
	down()
	down()
	if e.Text != "draft" {
		t.Error(e.Text)
	}
	for range 1100 {
		h, _ = h.add("x" + e.Text)
		e = e.Insert("y")
	}
	if len(h.entries) != maxHistory {
		t.Errorf("%d entries", len(h.entries))
	}
}

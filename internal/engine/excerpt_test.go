package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/event"
)

// The excerpt of a change has whole words, so that the masking of secrets finds them.
func TestExcerpt(t *testing.T) {
	const key = "key=abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnop"
	long := strings.Repeat("x", 1000)
	for _, tt := range []struct{ was, is, wantWas, wantIs string }{
		{"", "new", "", "new"},
		{"the old words", "the new words", "the old words", "the new words"},
		{"a " + key + " one two", "a " + key + " one 2", key + " one two", key + " one 2"},
		{"one " + key, "two " + key, "one " + key, "two " + key},
		{"a " + strings.Repeat("b ", 27) + key, "c " + strings.Repeat("b ", 27) + key, "a " + strings.Repeat("b ", 27) + key, "c " + strings.Repeat("b ", 27) + key},
		{`{"token":"` + key + `","a":1}`, `{"token":"` + key + `","a":2}`, key + `","a":1}`, key + `","a":2}`},
		{long + "a", long + "b", "…", "…"},
		{"a " + long, "b " + long, "a ", "b "},
		{long + " after", long + " behind", " after", " behind"},
		{"ä" + long, "ö" + long, "…", "…"},
	} {
		var b event.CacheBroken
		setChange(&b, tt.was, tt.is)
		if b.Was != tt.wantWas || b.Is != tt.wantIs {
			t.Errorf("%.80q and %.80q: %q, %q", tt.was, tt.is, b.Was, b.Is)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add("one two", "one three")
	f.Add(strings.Repeat("x", 300), strings.Repeat("x", 299)+"y")
	f.Fuzz(func(t *testing.T, was, is string) {
		var b event.CacheBroken
		setChange(&b, was, is)
		for _, s := range []string{b.Was, b.Is} {
			if len(s) > 2*longWord+80+8 || utf8.ValidString(was) && utf8.ValidString(is) && !utf8.ValidString(s) {
				t.Errorf("%q", s)
			}
		}
	})
}

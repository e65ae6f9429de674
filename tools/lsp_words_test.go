package tools

import (
	"slices"
	"testing"
)

func TestWordAt(t *testing.T) {
	for _, c := range []struct {
		line      string
		character int
		want      string
	}{
		{"func name(x)", 6, "name"},
		{"func name(x)", 9, "name"},
		{"func name(x)", 10, "name"}, // right after it
		{"func name(x)", 12, "x"},
		{"func name(x)", 13, ""},
		{"func name(x)", 1, "func"},
		{"größe = $a_1", 3, "größe"},
		{"größe = $a_1", 9, "$a_1"},
		{"größe = $a_1", 99, "$a_1"},
		{"= +", 3, ""},
		{"", 1, ""},
		{"+", 1, ""},
	} {
		if got := wordAt(c.line, c.character); got != c.want {
			t.Errorf("at %d of %q: %q", c.character, c.line, got)
		}
	}
}

func TestFindWord(t *testing.T) {
	for _, c := range []struct {
		line, name string
		want       int
	}{
		{"x := xs + x", "x", 0},
		{"xs + x", "x", 5},
		{"äx x", "x", 4},
		{"xs", "x", 0}, // else any
		{"aaa a", "aa", 0},
		{"s.Area()", "Area", 2},
		{"a", "b", -1},
		{"", "b", -1},
	} {
		if got := findWord(c.line, c.name); got != c.want {
			t.Errorf("%q in %q: %d", c.name, c.line, got)
		}
	}
}

func TestSplitLines(t *testing.T) {
	for text, want := range map[string][]string{"": {""}, "a": {"a"}, "a\n": {"a"}, "a\r\n\r\nb": {"a", "", "b"}, "\n\n": {"", ""}} {
		if got := splitLines(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

package cli

import "testing"

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, page, want string
		width            int
	}{
		{"short lines stay", "a b\n\n  c\n", "a b\n\n  c\n", 10},
		{"prose", "one two three four\n", "one two\nthree four\n", 10},
		{"an indent stays", "  one two three\n", "  one two\n  three\n", 10},
		{"a column stays a column", "  --all    every session of this folder\n", "  --all    every session\n           of this folder\n", 25},
		{"a column in the right half is given up", "  --permission-mode MODE    how to decide\n", "  --permission-mode MODE\n    how to decide\n", 26},
		{"a line of a column in the right half moves to the left", "            see there\n", "    see there\n", 16},
		{"choices break after a bar", "  --mode one|two|three\n", "  --mode\n  one|two|three\n", 16},
		{"a word that is too long stays whole", "  abcdefghijkl\n", "  abcdefghijkl\n", 8},
		{"bars break where nothing else does", "  aaa|bbb|ccc|ddd\n", "  aaa|bbb|\n  ccc|ddd\n", 10},
		{"long choices break in their line", "  --m aaa|bbb|ccc|ddd|eee\n", "  --m aaa|\n  bbb|ccc|\n  ddd|eee\n", 12},
		{"characters count, not bytes", "äöü äöü äöü\n", "äöü äöü\näöü\n", 8},
		{"exactly the width", "12345 7890\n", "12345 7890\n", 10},
	} {
		if got := wrap(c.page, c.width); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
		if again := wrap(c.want, c.width); again != c.want {
			t.Errorf("%s: wrapped again it is %q", c.name, again)
		}
	}
}

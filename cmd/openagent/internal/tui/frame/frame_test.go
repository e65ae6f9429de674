package frame

import "testing"

func TestWidth(t *testing.T) {
	for line, want := range map[string]int{
		"":                    0,
		"plain":               5,
		"\x1b[1;31mred\x1b[m": 3,
		"日本語":                 6,
		"e\u0301":             1,
		"\U0001f468\u200d\U0001f469\u200d\U0001f467": 2,
		"\U0001f1e9\U0001f1ea":                       2,
		"❤\ufe0f":                                    2,
		"─❯◐":                                        3,
	} {
		if got := Width(line); got != want {
			t.Errorf("Width(%q) = %d, want %d", line, got, want)
		}
	}
}

func TestWidthEastAsian(t *testing.T) {
	for line, want := range map[string]int{"a b": 3, "◐": 2, "日": 2, "\x1b[1m·\x1b[m": 2} {
		if got := WidthEastAsian(line); got != want {
			t.Errorf("WidthEastAsian(%q) = %d, want %d", line, got, want)
		}
	}
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		line        string
		width, want int
	}{
		{"", 10, 1},
		{"0123456789", 10, 1},
		{"0123456789a", 10, 2},
		{"\x1b[1m0123456789\x1b[m", 10, 1},
		{"日本語", 5, 2}, // the third does not fit behind the second
		{"日本語", 3, 3},
		{"日本", 1, 2},
	} {
		if got := Rows(c.line, c.width); got != c.want {
			t.Errorf("Rows(%q, %d) = %d, want %d", c.line, c.width, got, c.want)
		}
	}
}

func TestRow(t *testing.T) {
	for _, c := range []struct {
		line               string
		caret, width, want int
	}{
		{"", 0, 10, 0},
		{"0123456789", 10, 10, 0},
		{"0123456789a", 10, 10, 1},
		{"0123456789a", 11, 10, 1},
		{"0123456789\x1b[m", 10, 10, 0},
		{"日本語", 6, 5, 1},
		{"日本語", 3, 5, 0},
		{"日本語", 99, 5, 1},
	} {
		if got := Row(c.line, c.caret, c.width); got != c.want {
			t.Errorf("Row(%q, %d, %d) = %d, want %d", c.line, c.caret, c.width, got, c.want)
		}
	}
}

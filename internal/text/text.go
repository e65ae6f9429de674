// Package text shortens and quotes text for people and for models. It counts bytes or
// runes, and its results are valid UTF-8: a byte that is not becomes U+FFFD.
package text

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Ellipsis stands for the part of a text that is left out.
const Ellipsis = "…"

// Bytes returns s if it has at most limit bytes. Otherwise it returns the beginning of s
// and an ellipsis, together at most limit bytes. Its cost does not grow with len(s).
func Bytes(s string, limit int) string {
	s, long := start(s, limit)
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !long && len(s) <= limit {
		return s
	}
	if limit < len(Ellipsis) {
		return ""
	}
	s, _ = start(s, limit-len(Ellipsis))
	return s + Ellipsis
}

// start returns the whole runes in the first n bytes of s, and whether that is less than s.
func start(s string, n int) (string, bool) {
	n = max(n, 0)
	if len(s) <= n {
		return s, false
	}
	for back := n; back > n-utf8.UTFMax && back >= 0; back-- {
		if utf8.RuneStart(s[back]) {
			return s[:back], true
		}
	}
	return s[:n], true // not UTF-8
}

// Runes returns s if it has at most limit runes. Otherwise it returns the beginning of s
// and an ellipsis, together at most limit runes.
func Runes(s string, limit int) string {
	if limit <= 0 {
		return ""
	}
	keep, n := 0, 0
	for i := range s {
		if n++; n == limit {
			keep = i
		}
		if n > limit {
			return strings.ToValidUTF8(s[:keep], "\uFFFD") + Ellipsis
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// FirstLine returns the first line of s that is not blank, without its line end.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.ToValidUTF8(strings.TrimRight(s, "\r"), "\uFFFD")
}

// OneLine returns the words of s with one space between them.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// Count returns n and a noun whose plural ends in s: "1 file", "2 files".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// QuoteShell makes s a single word of a POSIX shell command.
func QuoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// QuoteJSON returns s as a JSON string, without escapes for HTML.
func QuoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // every string can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

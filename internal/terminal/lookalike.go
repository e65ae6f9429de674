package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// scripts are those whose letters look like letters of the Latin script.
var scripts = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Lisu, unicode.Coptic}

// signs look like characters that mean something to a shell, or in a path or a URL.
const signs = "\u2044\u2215\u29f8\uff0f\u2216\uff3c\u2024\uff0e\u3002\uff61\u037e\uff1b\u02d0\ua789\uff1a\u2223\u01c0\uff5c\uff06\uff04\uff1e\uff1c\u203a\u2039\uff0a\u2217\uff5e\u223c\u2010\u2011\u2012\u2013\u2212\uff0d\ufe63\uff40\uff02\uff07\uff08\uff09\uff03\uff01"

// Lookalikes lists the characters of a text that look like others: letters of another
// script within Latin words, wide and mathematical letters, and signs that look like those
// of a shell, such as `"раypal": р is U+0440`.
func Lookalikes(s string) []string {
	var out []string
	say := func(word string, r rune) {
		text := fmt.Sprintf("%q: %c is U+%04X", word, r, r)
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !inWord(r) }) {
		latin := strings.ContainsFunc(word, isLatin)
		for _, r := range word {
			if looksLike(r, latin) {
				say(word, r)
				break
			}
		}
	}
	for _, r := range s {
		if strings.ContainsRune(signs, r) {
			say(string(r), r)
		}
	}
	return out
}

// styled reports whether a character is a letter or digit in another style: full
// width, or mathematical.
func styled(r rune) bool { return 0xff10 <= r && r <= 0xff5a || 0x1d400 <= r && r <= 0x1d7ff }

// Name returns a name or title of any origin: as [Visible] does, and letters of another script
// within a Latin word, and those in another style, are escapes too. So nothing looks like another
// name.
func Name(s string) string {
	if plainName(s) {
		return s
	}
	s = Visible(s)
	var b strings.Builder
	for s != "" {
		n := strings.IndexFunc(s, func(r rune) bool { return !inWord(r) })
		if n < 0 {
			n = len(s)
		}
		if n == 0 {
			n = strings.IndexFunc(s, inWord)
			if n < 0 {
				n = len(s)
			}
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		latin := strings.ContainsFunc(s[:n], isLatin)
		for _, r := range s[:n] {
			if looksLike(r, latin) {
				fmt.Fprintf(&b, "\\u{%x}", r)
			} else {
				b.WriteRune(r)
			}
		}
		s = s[n:]
	}
	return b.String()
}

// Mixed reports whether a text has letters that look like others, as [Name] shows them.
func Mixed(s string) bool {
	if plainName(s) {
		return false
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !inWord(r) }) {
		latin := strings.ContainsFunc(word, isLatin)
		if strings.ContainsFunc(word, func(r rune) bool { return looksLike(r, latin) }) {
			return true
		}
	}
	return false
}

// plainName reports whether a text has letters, digits and signs of ASCII only, and single blanks.
func plainName(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && i > 0 && s[i-1] == ' ' {
			return false
		}
	}
	return true
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }

func isLatin(r rune) bool { return unicode.Is(unicode.Latin, r) }

// looksLike reports whether a letter looks like another one, in a word with Latin letters or
// without.
func looksLike(r rune, latin bool) bool { return styled(r) || latin && unicode.In(r, scripts...) }

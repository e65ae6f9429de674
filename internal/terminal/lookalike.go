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
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) }) {
		latin := strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
		for _, r := range word {
			if styled(r) || latin && unicode.In(r, scripts...) {
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
